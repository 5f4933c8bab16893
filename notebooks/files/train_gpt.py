"""Trains a small GPT on mytorch, with checkpoints: `train_gpt.py FOLDER STEPS`. Chapter 24 starts and kills it."""

import inspect
import sys
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    from course import lesson

    lesson.mytorch(24)

import mytorch

from minitorch.models import gpt

VERSE = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date.
"""
LETTERS = sorted(set(VERSE))
LENGTH = 32
mine = sys.modules["my_gpt"] = ModuleType("my_gpt")
exec(inspect.getsource(gpt).replace("minitorch", "mytorch"), mine.__dict__)


class Windows(mytorch.utils.data.Dataset):
    """Pieces of the text as numbers, and the same pieces one letter later."""

    numbers = mytorch.tensor([LETTERS.index(each) for each in VERSE])

    def __len__(self) -> int:
        return len(self.numbers) - LENGTH

    def __getitem__(self, index: int) -> tuple:
        return self.numbers[index : index + LENGTH], self.numbers[index + 1 : index + LENGTH + 1]


def summed(model, batch):
    """The sum of the losses of all letters in a batch, and how many they are."""
    inputs, targets = batch
    return model(inputs, targets)[1] * targets.numel(), targets.numel()


def make_gpt(dropout=0.05):
    """A GPT of two blocks for these letters."""
    sizes = {"block_size": LENGTH, "vocab_size": len(LETTERS), "n_layer": 2, "n_head": 4, "n_embd": 48}
    return mine.GPT(mine.GPTConfig(dropout=dropout, **sizes))


def make_trainer(steps):
    """A trainer that has to make this number of steps."""
    mytorch.manual_seed(0)
    model = make_gpt()
    optimizer = mytorch.optim.AdamW(model.parameters(), lr=6e-3)
    schedule = mytorch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps + 1)
    loader = mytorch.utils.data.DataLoader(Windows(), batch_size=8, shuffle=True, drop_last=True)
    return mytorch.Trainer(model, optimizer, schedule, loader, summed, max_norm=1.0)


def main(folder: Path, steps: int) -> None:
    """Go on from the checkpoint in the folder, if there is one; write one after every tenth step."""
    trainer, checkpoint = make_trainer(steps), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    print("from step", len(trainer.losses), flush=True)
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % 10 == 0:
            mytorch.save(trainer.state_dict(), checkpoint)
        print(len(trainer.losses), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
