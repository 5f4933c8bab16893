"""Makes minitorch/models/resnet18_digits_v1.pt: `python -m tests.models.train_resnet18`. It takes about two minutes.

A ResNet-18 of width 8 learns to read scikit-learn's digits 0 to 4, each drawn at a random place of a black image. The
first 700 of them, in the order of a seed, are for training; the other 201 give the accuracy that `meta` states. The
digits 5 to 9 are left out, so that they are new to whoever fine-tunes the network on them.

30 epochs of batches of 35, AdamW with weight decay 0.05, one cycle with the peak 0.004. A batch's images have 32, 40 or
48 pixels in height and width. Everything is drawn from seeds; another processor still gives slightly other weights,
since it rounds otherwise. The file is therefore not made anew when the tests run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import minitorch as torch
from minitorch.models import resnet
from minitorch.nn.functional import cross_entropy

FILE = Path(resnet.__file__).with_name(resnet.ResNet18_Weights.DIGITS_V1.value)
TRAINING, EPOCHS, BATCH = 700, 30, 35
SIZES = (32, 40, 48)


def known_digits() -> tuple[Any, Any]:
    """The 901 digits 0 to 4 and what they are, those for training first."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    order = order[digits.target[order] < 5]
    return digits.images[order].astype("float32"), digits.target[order]


def somewhere(digits: Any, size: int, generator: np.random.Generator) -> torch.Tensor:
    """Images with each digit at a random place."""
    return resnet.digit_images(digits, size, generator.integers(0, size - 24 + 1, (len(digits), 2)))


def train() -> torch.nn.Module:
    """The trained network."""
    digits, classes = known_digits()
    generator = np.random.default_rng(0)
    torch.manual_seed(0)
    model = resnet.resnet18(num_classes=5, width=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.004, weight_decay=0.05)
    steps = EPOCHS * TRAINING // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.004, total_steps=steps)
    for epoch in range(EPOCHS):
        losses = []
        for rows in generator.permutation(TRAINING).reshape(-1, BATCH):
            images = somewhere(digits[rows], generator.choice(SIZES), generator)
            loss = cross_entropy(model(images), torch.tensor(classes[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: mean loss {np.mean(losses):.3f}", flush=True)
    return model


@torch.no_grad()
def accuracy(model: torch.nn.Module, size: int) -> float:
    """The share of the 201 digits that the network wasn't trained on and reads, each at a random place."""
    digits, classes = (each[TRAINING:] for each in known_digits())
    found = model.eval()(somewhere(digits, size, np.random.default_rng(1))).argmax(1)
    return float(np.mean(found.numpy() == classes))


if __name__ == "__main__":
    trained = train()
    halves = {name: each.half() if each.is_floating_point() else each for name, each in trained.state_dict().items()}
    torch.save(halves, FILE)
    trained.load_state_dict(torch.load(FILE))
    print(f"{FILE.stat().st_size:,} bytes,", {size: f"{accuracy(trained, size):.1%}" for size in SIZES})
