"""Makes notebooks/files/from_pytorch.pt, a file that PyTorch 2.13 wrote: `python -m tests.mytorch.make_from_pytorch`.

Chapter 20 opens it with mytorch, and so do its tests. It is not made anew when they run.
"""

import torch
from torch import nn

from course.files import CODE

FILE = CODE / "notebooks" / "files" / "from_pytorch.pt"


def checkpoint() -> dict[str, object]:
    """What is in the file."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.25)
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    table = torch.arange(12.0).reshape(3, 4)
    return {
        "model": torch.compile(model).state_dict(),  # named _orig_mod.0.weight and so on
        "optimizer": optimizer.state_dict(),
        "views": [table, table[1], table.t()],
        "types": (torch.tensor([1.5, -2.0], dtype=torch.bfloat16), torch.tensor([True, False]), torch.float16),
        "parameter": nn.Parameter(torch.tensor([3.0])),
        "epoch": 7,
        "done": False,
        "note": "naïve",
        "best": None,
        "large": 2**40,
        "rate": 0.125,
    }


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    torch.save(checkpoint(), FILE)
