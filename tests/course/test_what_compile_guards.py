"""Chapter 08 says when torch.compile captures another graph. minitorch has no compiler, so no cell shows it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from course.files import CODE

K = 2


@pytest.mark.needs("torch")
@pytest.mark.filterwarnings("ignore")
def test_the_table_of_chapter_08_is_what_pytorch_does() -> None:
    import torch

    global K
    seen = SimpleNamespace(graphs=0)

    def count(graph: Any, examples: Any) -> Any:
        seen.graphs += 1
        return graph.forward

    fast = torch.compile(lambda x: x * K, backend=count)
    found = []
    for calls in (
        [torch.ones(2), torch.ones(2) * 5],
        [torch.ones(3)],
        [torch.ones(4)],
        [torch.ones(2, dtype=torch.float64)],
        [torch.ones(2, requires_grad=True)],
    ):
        for x in calls:
            fast(x)
        found.append(seen.graphs)
    K = 3
    fast(torch.ones(2))
    found.append(seen.graphs)

    def brake(speed: Any) -> Any:
        if speed.sum() > 100:
            return speed * 0.5
        return speed

    seen.graphs = 0
    torch.compile(brake, backend=count)(torch.tensor([130.0]))
    found.append(seen.graphs)

    (lesson,) = (CODE / "chapters").glob("08_*/lesson.py")
    table = lesson.read_text().partition("| graphs so far |")[2].partition("# In the last line")[0]
    assert [int(number) for number in re.findall(r"\| (\d+) \|$", table, re.MULTILINE)] == found
