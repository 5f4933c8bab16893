"""Programs written by hand, run as the random ones are: what these would hit too seldom.

Each is a few lines about tensors t0, t1, …; after every line PyTorch and minitorch must agree, also on errors.
"""

from __future__ import annotations

import warnings

import pytest

import minitorch
from tests.random_programs import autograd, views
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

EMPTY = {
    "where an empty view begins": """t0 = torch.arange(12.).view(3, 4)
t1 = t0[2:2]; t2 = t0[3:]; t3 = t0[:, 4:]; t4 = t0[2:1:2]; t5 = t0.narrow(1, 3, 0); t6 = t0.split([3, 0])[1]
t7 = t1[:, 2]; t8 = t2.t(); t9 = t3.unsqueeze(1); t10 = t1.diagonal(); t11 = t0.unfold(1, 0, 2); t12 = t3.unbind(0)[1]
t13 = t1.as_strided((2, 0), (5, 3), 70); t14 = t0.tensor_split(4)[3]; t15 = t1.view(torch.float64); t16 = t2.detach()
t17 = t0.to(torch.complex64)[1:1].imag; t18 = t2.view(4, 0); t19 = t2.view(0, 4); t20 = t3.squeeze(1)""",
    "views of what never had elements": """t0 = torch.zeros(2, 0, 3)
t1 = t0[:, :, 1]; t2 = t0.transpose(0, 2); t3 = t0.view(3, 0); t4 = t0.expand(2, 0, 3); t5 = t0[1:]; t6 = t0.detach()
t7 = torch.zeros(0, 1).expand(0, 3); t8 = torch.zeros(0, 1).expand(2, 0, 4); t9 = t7.reshape(3, 0)
t10 = torch.view_as_real(torch.zeros(0, 2, dtype=torch.complex64)); t11 = torch.zeros(4, 0, 2).permute(2, 0, 1)""",
    "results without elements": """t0 = torch.zeros(3, 0).t(); t1 = torch.zeros(2, 0, 3).transpose(0, 2)
t2 = t0 + 1; t3 = t0 + t0; t4 = t1 * torch.zeros(2); t5 = t1.clone(); t6 = t0.double(); t7 = t1 == 0; t8 = t0.neg()
t9 = torch.zeros_like(t1); t10 = torch.stack([t0, t0]); t11 = torch.cat([t0, t0]); t12 = t1.contiguous()
t13 = torch.zeros(0, 3, 2, 2).to(memory_format=torch.channels_last); t14 = t13 * 2; t15 = t13.clone()
t16 = torch.empty(2, 0, 3, 2, memory_format=torch.channels_last); t17 = t1.reshape(0, 6); t18 = t0.float()
t19 = t9 + 1.0; t20 = t9 * t9""",
    "nothing to write, and no place for it": """t0 = torch.zeros(0, 3); t1 = torch.zeros(3, 0)
t1.index_fill_(0, torch.tensor([7]), 1); t0.index_fill_(1, torch.tensor([7]), 1)
t1.index_copy_(0, torch.tensor([7]), torch.zeros(1, 0))
t1.as_strided_scatter(torch.ones(2), (2,), (9,))
t2 = torch.inner(t1, torch.zeros(2, 0)); t3 = torch.addbmm(torch.ones(3, 4), torch.zeros(0, 3, 2), torch.zeros(0, 2, 4))
t4 = torch.nn.functional.linear(torch.zeros(2, 3, 0), torch.zeros(4, 0), torch.ones(4)); t5 = t0.nonzero()
t6 = torch.zeros(0, 0).take_along_dim(torch.zeros(1, 2, dtype=torch.int64), 1)
t7 = torch.zeros(0, 3, dtype=torch.int16)
t7[..., torch.tensor(9)] = 1e10""",
    "indices into nothing": """t0 = torch.zeros(3, 1, 2); t1 = torch.zeros(2, 0, 3)
t2 = t0[[]]; t3 = t0[False]; t4 = t0[torch.tensor([False] * 3)]; t5 = t1[[5]]; t6 = t1[:, []]; t7 = t0[None, False]
t8 = torch.zeros(4, 1)[[]]; t9 = t1[:, :, [7]]
t1[[9]] = 1
t1[:, [0]] = 1
t10 = t1[:, [0]]
t1.index_put_((torch.tensor([1]), torch.tensor([0])), torch.tensor(1.))
t1.index_add_(1, torch.tensor([5]), torch.zeros(2, 1, 3))
t1[0, :, 0].index_add_(0, torch.tensor([5]), torch.zeros(1))
t12 = t0.index_select(0, torch.tensor([4]))
t1.put_(torch.tensor([0]), torch.zeros(1))""",
    "memory for what had none": """t0 = torch.zeros(4)[4:]
t0.resize_(2); t0.zero_()
t1 = torch.zeros(0, 2)
t2 = t1.view(-1); t1.resize_(2, 2); t1.zero_()
t3 = t1[2:]; t1.resize_(8, 2); t1.zero_()""",
}

OTHER_MEMORY = {
    "storages": """t0 = torch.zeros(3)
t0.set_(torch.arange(4.).untyped_storage())
t0.set_(torch.arange(4.).untyped_storage(), 1, (2,))
t0.set_(torch.arange(4.)[1:], 1, (2,), (1,))
t0.set_(torch.arange(4.).untyped_storage(), 9, (0,), (3,))
t0.set_(torch.arange(4.), 3, (2, 2), (1, 2)); t0.zero_()
t1 = torch.zeros(2, dtype=torch.int64); t0.set_(t1, 0, (4,))
t0.set_()""",
    "refusals": """torch.zeros(3).set_(torch.zeros(3, dtype=torch.int64))
torch.zeros(3).set_(torch.zeros(4, 4).t(), 1, (2,), (1,))
torch.zeros(3).set_(torch.zeros(4).untyped_storage(), -1, (2,), (1,))
torch.zeros(3).set_(torch.zeros(4).untyped_storage(), 1, (2, 2), (1,))
torch.zeros(3).set_(torch.zeros(4).untyped_storage(), 1, (2,), (-1,))
torch.zeros(3).set_(torch.zeros(4).untyped_storage(), 1, (-2,), (1,))""",
}

LAYOUTS = {
    "what is cast first has no gaps": """t0 = torch.arange(3).expand(2, 3); t1 = torch.zeros(3, 2).t()
t2 = t0 + t1; t3 = t0 == t1; t4 = t0.sqrt(); t5 = torch.where(t1 == 0, t0, t1); t6 = t0 * 2.5; t7 = t1 - t0
t8 = torch.where((t0 == 0)[:1].expand(2, 3), t1, 2); t9 = torch.rsub(t0, t1)
t10 = torch.arange(6).view(2, 3)[:, ::2] / 2""",
    "joined images": """t0 = torch.arange(12.).reshape(1, 3, 2, 2).to(memory_format=torch.channels_last); t1 = t0[:, :1]
t2 = torch.cat([t0, t0.double()], 1); t3 = torch.cat([t0, torch.zeros(0)]); t4 = torch.cat([t1, t1], 2)
t5 = t1.double()
t6 = torch.stack([t1, t1], 1); t7 = torch.stack([t0, t0], -1); t8 = torch.stack([t1], 3); t9 = torch.hstack([t1, t0])
t10 = torch.cat([t0, t0.contiguous()]); t11 = torch.dstack([t5, t1]); t12 = torch.stack([t1[:0], t1[:0]], 2)
t13 = torch.cat([t1, t1], out=torch.zeros(0)); t14 = torch.stack([t1, t1], 2, out=torch.zeros(0))
t15 = torch.add(t0, t0, out=torch.zeros(2)); t16 = torch.sum(t0, 1, out=torch.zeros(0))
t17 = torch.zeros(4, 3)[torch.zeros(3, 2, dtype=torch.int64).t()]""",
    "windows that overlap decide the order": """t0 = torch.arange(9.).reshape(3, 1, 3)
t1 = torch.arange(4.).unfold(0, 3, 1)
t2 = t0 + t1; t3 = torch.where(t0 > 1, t0, t1); t4 = torch.atan2(t0, t1.double())""",
    "which fault is found first": """t0 = torch.zeros(2, 3); t1 = torch.zeros(2, dtype=torch.complex64)
torch.add(t1, t0[0, :2], out=t0[0, :2])
t3 = torch._neg_view(torch.tensor(2).expand(3))
t3 += 1
torch.masked_select(t0, t0 == 0, out=t0); torch.index_select(t0, 0, torch.tensor([0]), out=t0.view(6)[:3])""",
    "as complex": """t0 = torch.empty_strided((1, 2), (3, 1)).zero_(); t1 = torch.view_as_complex(t0)
t2 = torch.view_as_complex(torch.empty_strided((0, 2), (1, 1)))
t3 = torch.view_as_complex(torch.zeros(4, 2)[4:])
t4 = torch.view_as_complex(torch.empty_strided((3, 2), (3, 1)))""",
}

PROGRAMS = MEMORY | LAYOUTS | EMPTY | OTHER_MEMORY

RECORDED = {
    "leaves and hooks": """t0 = torch.arange(3., requires_grad=True); t1 = t0 * 2
t1.requires_grad = True
t1.requires_grad_()
t2 = torch.arange(3); t2.requires_grad = True
t2.requires_grad_()
t3 = torch.lerp(t0, t0, torch.tensor(0.5, dtype=torch.float64))
t4 = torch.complex(t0, t0); t4.lerp(t0, 0.5)
t0.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
t1.sum().backward()""",
    "out": """t0 = torch.arange(6.).view(2, 3); t1 = torch.ones(2, 2, requires_grad=True); t2 = torch.ones(3)
torch.add(t0, t1, out=t0)
torch.add(t0, t0, out=t2)
t3 = torch.ones(()); torch.add(t0, t3, out=t3)
torch.cat([t1, t1], out=t0)""",
    "views of views": """t0 = torch.zeros(3, 3, requires_grad=True) * 1
with torch.inference_mode(): t1 = t0[1:]
with torch.no_grad(): t2 = t1[0]; t3 = t0[1:]; t4 = t0.split(1)[0][0]
t2.mul_(2)
t5 = t3.split(1)[0]; t6 = t1.split(1)[0]
t5.mul_(2)
t6.mul_(2)
t4.mul_(2)""",
    "a gradient that is somebody's": """t0 = torch.arange(3., requires_grad=True); t1 = t0.squeeze()
t1.backward(t1.detach())
t0.sum().backward()""",
    "losses of other shapes": """t0 = torch.arange(3., requires_grad=True); t1 = torch.ones((), requires_grad=True)
t2 = torch.nn.functional.mse_loss(t1, t0); t3 = torch.nn.functional.smooth_l1_loss(t0, t1)
t4 = torch.nn.functional.huber_loss(t0, t1); t5 = torch.nn.functional.mse_loss(t0, t0)""",
    "different elements": """t0 = torch.arange(3., requires_grad=True); t1 = t0.unique(); t2 = t0.unique(dim=0)
t3 = t0.unique_consecutive(); t4 = t0.unique_consecutive(dim=0); t5 = torch.arange(3).unique()
t3.sum().backward()
t4.sum().backward()
t5 = torch.complex(t0, t0).detach().unique()""",
}

REFUSED = """t0 = torch.zeros(()); t1 = torch.zeros(3); t2 = torch.zeros(2, 3)
t3 = torch.tensor([0]); t4 = torch.zeros(0)
t0.mv(t0)
t1.mv(t0)
torch.nn.functional.linear(t0, t1)
t0.take_along_dim(t0.argsort(0), 0)
t0.index_select(0, torch.tensor([0, 0]))
t0.repeat_interleave(2, 0)
torch.nn.functional.pad(t4, (-1, 1))
torch.nn.functional.pad(t1, (2, -4))
torch.kron(t2.t(), t1)
t5 = t1.scatter(0, t3, torch.ones(()))
t2[:1].expand(2, 3).scatter_(0, torch.full((1, 3), 5), t2)
t2[:1].expand(2, 3).index_copy_(0, t3, t1)
t2.index_copy(0, t3, t2[:1].bool())
t2.index_copy(0, t3, t2[:1, :1])
t2.index_copy(0, t3, t1)
t2.index_copy(0, t3, t0)
t2.index_copy(0, t3[None], t1)
t2.index_copy(0, t3.int(), t1[None])
t1.index_copy(0, torch.tensor([0, 1]), t0)
t1.index_copy(0, torch.tensor([0, 1]), t1)
t0.index_copy(0, t3, t1[:1])
torch.zeros(3, 4, 2).index_add_(-1, torch.tensor([2]), torch.zeros(1))
t1.put_(t3, torch.zeros(1, dtype=torch.float64))
t5 = torch.zeros(3, dtype=torch.complex64); t6 = torch.zeros(2)
t5.kthvalue(1)
t5.scatter_reduce_(0, t3, t5[1:].clone(), "amin")
torch.sin(t5, out=t6)
t5.max(0)
t5.argmax()
t2.bool()[:, :2].trace()
torch.view_as_complex(t1[1:])
t7 = torch.tensor([[-0.0, -0.0], [-0.0, 1.0]]).cumsum(0); t8 = torch.tensor(-0.0).cumsum(0)
t9 = torch.zeros(3, 2); t9.data = torch.zeros(0, 2); t10 = t9[:, 1]"""
"""What is wrong with the arguments is said in PyTorch's words; of several faults, the same one."""


def test_refusals() -> None:
    twins = Twins(torch, views.FACTS)
    for line in REFUSED.splitlines():
        twins.run(line)


SET = {
    "a result": """t0 = torch.arange(6., requires_grad=True); t1 = t0 * 2
t1.set_(torch.zeros(3))
t2 = t1 * 2
t1.sum().backward()""",
    "to what is recorded": """t0 = torch.arange(6., requires_grad=True); t1 = t0 * 2; t2 = torch.zeros(3)
t2.set_(t1)
t2.sum().backward()
t3 = torch.zeros(3); t3.set_(t0, 0, (2,)); t4 = torch.zeros(1); t4.set_(t1.untyped_storage())""",
    "a part": """t0 = torch.arange(6., requires_grad=True); t1 = t0 * 2; t2 = t1[1:]
t2.set_(torch.zeros(3))
t2.sum().backward()
t1.sum().backward()""",
    "unrecorded": """t0 = torch.arange(6., requires_grad=True); t1 = t0 * 2
t0.set_(torch.zeros(6))
t0.set_(torch.zeros(3, dtype=torch.int64))
with torch.no_grad(): t1.set_(torch.zeros(6)); t0.set_(torch.zeros(6))
t1.sum().backward()
t0.detach().set_(torch.zeros(2))""",
}


@pytest.mark.parametrize("program", (SET | RECORDED).values(), ids=(SET | RECORDED).keys())
def test_what_is_recorded(program: str) -> None:
    twins = Twins(torch, autograd.FACTS)
    for line in program.splitlines():
        twins.run(line)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
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
