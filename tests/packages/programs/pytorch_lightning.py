"""pytorch-lightning: a Trainer with validation and a scheduler, a checkpoint saved and loaded."""

import logging
import tempfile
import warnings

import pytorch_lightning as pl
import torch

warnings.simplefilter("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Net(pl.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self.body(batch[0]), batch[1])
        self.log("train", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("valid", torch.nn.functional.cross_entropy(self.body(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.05)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


pl.seed_everything(0, verbose=False)
x = torch.randn(64, 4)
data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
loader = torch.utils.data.DataLoader(data, 16)
with tempfile.TemporaryDirectory() as folder:
    trainer = pl.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder, num_sanity_val_steps=0, gradient_clip_val=1.0,
    )  # fmt: skip
    net = Net()
    trainer.fit(net, loader, loader)
    print({name: f"{value:.4f}" for name, value in trainer.callback_metrics.items()}, trainer.global_step)
    trainer.save_checkpoint(f"{folder}/net.ckpt")
    again = Net.load_from_checkpoint(f"{folder}/net.ckpt")
    print(again.hparams, torch.equal(again.body[0].weight, net.body[0].weight))
    print({name: f"{value:.4f}" for name, value in trainer.validate(net, loader, verbose=False)[0].items()})
