"""Programs written by hand, run as the random ones are: what these would hit too seldom.

Each is a few lines about tensors t0, t1, …; after every line PyTorch and minitorch must agree, also on errors.
"""

from __future__ import annotations

import warnings

import pytest

import minitorch
from tests.random_programs import views
from tests.random_programs.interpreter import Twins

torch = pytest.importorskip("torch", reason="the expected values are torch's")

EXPANDED = "t0 = torch.arange(3.); t1 = t0.expand(2, 3)"
"""A tensor each element of which shares its place with another."""

VECTOR = "t0 = torch.arange(4); t1 = t0[1:]; t2 = t0[:3]; t3 = t0[...]"
"""An index tensor, two parts that overlap, and the whole once more."""

MEMORY = {
    "a tensor is copied into itself": f"""{EXPANDED}
t1[...] = t1
t1.copy_(t1[...])
t1.copy_(t0)
t1.copy_(t1.double())""",
    "what changes nothing is allowed": """t0 = torch.arange(3).expand(2, 3)
t0.nan_to_num_()
t0.fill_(1)
t0.zero_()
t0.add_(0)
t0.fill_(torch.tensor(2))""",
    "sums in one place": """t0 = torch.arange(3).expand(2, 3)
t0.index_put_((torch.tensor([1, 1, 0]),), torch.ones(3, 3, dtype=torch.int64), accumulate=True)
t1 = torch.zeros(1, dtype=torch.float16).expand(4)
t1.index_put_((torch.tensor([1, 3]),), torch.ones(2, dtype=torch.float16), accumulate=True)
t2 = torch.zeros(1, dtype=torch.bool).expand(4)
t2.index_put_((torch.tensor([1, 3]),), torch.tensor([True, False]), accumulate=True)
t3 = torch.arange(6).as_strided((3, 2), (1, 1))
t3.index_put_((torch.tensor([2, 0, 2]),), torch.ones(3, 2, dtype=torch.int64), accumulate=True)""",
    "what is written at indices may not be read": "\n".join(
        [VECTOR]
        + [
            line.format(other=other)
            for other in ("t0", "t1", "t2", "t3", "t0.detach()", "t0[::2]")
            for line in (
                "t0.index_add_(0, torch.arange({other}.numel()), {other})",
                "t0.index_copy_(0, {other}, torch.zeros({other}.shape, dtype=torch.int64))",
                "t0.index_reduce_(0, torch.arange({other}.numel()), {other}, 'amax')",
                "t0.scatter_(0, {other}, 1)",
                "t0.scatter_(0, torch.arange({other}.numel()), {other})",
                "t0.scatter_add_(0, torch.arange({other}.numel()), {other})",
                "t0.scatter_reduce_(0, torch.arange({other}.numel()), {other}, 'prod')",
                "t0.index_put_(({other},), torch.tensor(2))",
                "t0.index_put_((torch.arange({other}.numel()),), {other})",
                "t0.put_(torch.arange({other}.numel()), {other})",
                "t0.index_fill_(0, {other}, 0)",
            )
        ]
    ),
    "numbers and sources that are read first": """t0 = torch.arange(4)
t0.index_fill_(0, torch.tensor([1]), t0[3])
t0.masked_fill_(t0 > 1, t0[0])
t0[t0 == 0] = t0[:1]
t0.index_put_((t0 > 1,), t0[2:3])
t0.view(2, 2)[t0[:2] >= 0] = torch.tensor([[5]])
t0.view(2, 2)[:, t0[:2] < 7] = torch.tensor(6.5)
t0.fill_(t0[1])
t1 = torch.tensor([True, False, True])
t1[1:].masked_scatter_(t1[:2], t1)
t1[1:].masked_fill_(t1[:2], True)
t0[1:].add_(t0[:3])
t0[1:].copy_(t0[:3])""",
    "products look at nothing": """t0 = torch.zeros(3, 3)
t0[:1].addmm_(torch.ones(1, 3), t0)
t0[0].addmv_(t0, torch.ones(3))
t0[0].addmm_(torch.ones(2, 3), torch.ones(3, 3))
t0[0, 0].addmv_(torch.ones(2, 3), torch.ones(3))
t0.unsqueeze(0).baddbmm_(torch.ones(2, 3, 4), torch.ones(2, 4, 3))""",
}


@pytest.mark.parametrize("program", MEMORY.values(), ids=MEMORY.keys())
def test_shared_memory(program: str) -> None:
    twins = Twins(torch, views.FACTS)
    for line in program.splitlines():
        twins.run(line)


def test_warnings_of_expanded_targets() -> None:
    lines = [
        "x.index_put_((torch.tensor([0]),), torch.ones(3))",
        "x.index_put_((torch.tensor([True, False]),), torch.tensor(1.))",
        "x[x == 0] = 1",
        "x.masked_fill_(x == 0, 1)",
        "x.index_fill_(0, torch.tensor([0]), 1)",
        "x[0] = 1",
    ]

    def heard(library: object) -> list[list[str]]:
        result = []
        for line in lines:
            x = library.zeros(3).expand(2, 3)  # type: ignore[attr-defined]
            with pytest.warns() as caught:
                warnings.warn("one at least", stacklevel=1)
                exec(line, {"torch": library, "x": x})
            result.append([str(each.message).split(" (Triggered")[0] for each in caught])
        return result

    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        expected = heard(torch)
    finally:
        torch.set_warn_always(always)
    assert heard(minitorch) == expected
