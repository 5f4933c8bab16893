"""pytorch-ignite: a trainer and an evaluator with events and metrics."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping
from ignite.metrics import Accuracy, Loss

torch.manual_seed(0)
x = torch.randn(64, 4)
y = (x.sum(1) > 0).long()
net, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 16, shuffle=True)
trainer = create_supervised_trainer(net, torch.optim.SGD(net.parameters(), lr=0.5), loss)
evaluator = create_supervised_evaluator(net, metrics={"accuracy": Accuracy(), "loss": Loss(loss)})
evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(5, lambda engine: -engine.state.metrics["loss"], trainer))


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    metrics = evaluator.run(loader).metrics
    print(engine.state.epoch, f"{metrics['accuracy']:.4f} {metrics['loss']:.4f}")


trainer.run(loader, max_epochs=3)
