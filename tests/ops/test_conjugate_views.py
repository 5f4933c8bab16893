"""Conjugate and negative views, against torch: every op on them, writes through them, and what other code sees of them.

Source: https://pytorch.org/docs/stable/generated/torch.conj.html
"""

from __future__ import annotations

import copy
import io
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.ops.case import CASES, Case, Make, Sample, with_bit
from tests.ops.compare import (
    Outcome,
    bit_differences,
    call,
    differences,
    gradient_differences,
    gradients,
    resolve,
    tensor_differences,
    value_differences,
)
from tests.ops.test_op_table import pairs, report

torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")

SAMPLES = 3
"""So many samples of each case are tried: an op forgets a bit whatever its other arguments are."""

TORCH_CANNOT = {
    "Tensor.new": "torch raises an internal error",
    "Tensor.new_tensor": "torch raises an internal error",
    "Tensor.apply_": "torch calls the function with what lies in memory",
    "Tensor.map_": "torch calls the function with what lies in memory",
    "Tensor.map2_": "torch calls the function with what lies in memory",
    "repeat_interleave": "with a tensor of repeats, torch makes a conjugate view of the repeated memory",
}
GRADIENT_BITS_DIFFER = {
    "linalg.solve": "of a system from the right, torch's result and gradient are conjugate views of a kernel's memory",
    "linalg.solve_ex": "the same",
}

some = [case for case in CASES if case.name not in TORCH_CANNOT]
each_case = pytest.mark.parametrize("case", some, ids=[case.name for case in some])


def samples(case: Case) -> Iterator[tuple[str, str, Make, Sample, Make, Sample]]:
    """Label and layout of the first samples, with both libraries' arguments: conjugate ones, then negative ones."""
    for layout, dtype in (("conjugate", "complex64"), ("negative", "float32"), ("negative", "complex64")):
        if dtype in case.dtypes:
            for label, *both in list(pairs(torch, case, dtype, case.samples, layout))[:SAMPLES]:
                yield label, layout, *both


FIXED_MEMORY = {
    "linalg.solve_triangular": "torch's kernel solves in memory whose sign it forgets",
    "linalg.svdvals": "torch raises an internal error",
}


@pytest.mark.turns(2)
@each_case
def test_like_torch(case: Case) -> None:
    """Elements, bits, strides, views, history and gradients of an op, and of its in-place form."""
    report(unlike_torch(case, case.name))
    in_place = f"Tensor.{case.name}_"
    if "." not in case.name and hasattr(torch.Tensor, case.name + "_"):
        report(unlike_torch(case, in_place))


def unlike_torch(case: Case, name: str) -> Iterator[str]:
    writes = case.in_place or name != case.name
    for label, _, theirs_make, theirs, ours_make, ours in samples(case):
        if name != case.name and not (theirs.args and isinstance(theirs.args[0], torch.Tensor)):
            continue
        one = call(resolve(torch, name), theirs_make, theirs, grad=not writes)
        other = call(resolve(minitorch, name), ours_make, ours, grad=not writes)
        found = list(differences(case, one, other, lenient_errors=True))
        found = found or list(gradient_differences(one, other, case.tolerance))
        found = found or list(gradient_bit_differences(case, one, other))
        yield from (f"{name}, {label}: {each}" for each in found)


def gradient_bit_differences(case: Case, one: Outcome, other: Outcome) -> Iterator[str]:
    theirs, ours = ([] if each.error else gradients(each) for each in (one, other))
    if isinstance(theirs, list) and isinstance(ours, list) and case.name not in GRADIENT_BITS_DIFFER:
        for number, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            if a is not None and b is not None:
                yield from bit_differences(a, b, f"gradient {number}")


functions = [
    case for case in some if re.match(r"(linalg\.|special\.)?\w+$", case.name) and case.name not in FIXED_MEMORY
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("case", functions, ids=[case.name for case in functions])
def test_out(case: Case) -> None:
    """`out=` writes through the bit of its tensor."""
    report(unlike_out(case))


def unlike_out(case: Case) -> Iterator[str]:
    for label, layout, theirs_make, theirs, ours_make, ours in samples(case):
        plain = call(resolve(torch, case.name), theirs_make, theirs)
        if plain.error is not None or len(plain.outputs) != 1 or not isinstance(plain.value, torch.Tensor):
            continue
        one, other = (
            call(resolve(each.lib, case.name), each, with_out(each.lib, sample, plain, layout))
            for each, sample in ((theirs_make, theirs), (ours_make, ours))
        )
        if isinstance(one.error, TypeError):
            return  # torch has no such form
        found = list(differences(case, one, other, lenient_errors=True))
        if not found and one.error is None:
            found = list(value_differences(case, one.kwargs["out"], other.kwargs["out"], "out", one, other))
        yield from (f"{label}: {each}" for each in found)


def with_out(lib: Any, sample: Sample, plain: Outcome, layout: str) -> Sample:
    dtype = getattr(lib, str(plain.value.dtype).removeprefix("torch."))
    out = with_bit(lib, lib.ones(tuple(plain.value.shape), dtype=dtype), layout)
    return Sample(sample.args, {**sample.kwargs, "out": out})


# Programs: each is a line of Python that ends in an expression, run with x = [[1+2i, 3−i], [2i, −1+i]] and views of it.

START = """
x = torch.tensor([[1 + 2j, 3 - 1j], [2j, -1 + 1j]], dtype=torch.complex128)
r = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
w, v = x.clone().requires_grad_(), r.clone().requires_grad_()
z, y = w * 1, v * 1
c, n, m = x.conj(), x.conj().imag, torch._neg_view(x)
"""

VIEWS = """
c[0, 0].H; x[0, 0].mH; x[0, 0].H; x[0, 0].adjoint(); r[0, 0].H
c; n; m; c.conj(); m.conj(); c.real; m.real; m.conj().imag; m.conj().real; n.conj(); r.conj(); x.mH; x.H
x.adjoint(); r.mH; c.mH; c.T; c.t(); n.T; c[0]; c[:, 1]; c[..., None]; n[0]; c.view(4); c.reshape(4); c.T.reshape(4)
c.flatten(); c.expand(3, 2, 2); c.unsqueeze(0); c.squeeze(); c.unbind()[1]; c.split(1)[1]; c.chunk(2)[1]
c.diagonal(); n.diagonal(); c.unfold(0, 2, 1); c.permute(1, 0); c.movedim(0, 1); c.narrow(0, 1, 1); c.select(0, 1)
c.view_as(x); c.detach(); n.detach(); c.data; c.as_strided((2,), (1,)); n.as_strided((2,), (1,)); c.positive()
torch.view_as_real(m); torch.atleast_3d(c); torch.view_as_complex(torch._neg_view(r))
torch.broadcast_to(n, (3, 2, 2)); torch._neg_view(n); torch.real(c); c.H[0].imag
"""

READS = """
c.clone(); c.T.clone(); n.clone(); c.contiguous(); c.T.contiguous(); n.contiguous(); c.resolve_conj()
n.resolve_neg(); c.resolve_neg() is c; n.resolve_conj() is n; x.resolve_conj() is x; m.conj().resolve_conj()
m.conj().resolve_neg(); c.conj_physical(); r.conj_physical() is r; c.to(torch.complex64)
c.to(torch.complex128) is c; n.float(); n.double() is n; c.is_contiguous(); c.is_set_to(x); c._base is x
c.conj()._base is x; c.data_ptr() == x.data_ptr(); c._version; c is c.conj()
c.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(); torch.equal(c, x.conj()); repr(c); repr(n)
str(m[0, 0]); f"{n[0, 0]:.2f}"; c.tolist(); n.tolist(); c[0, 0].item(); n[0, 0].item(); complex(c[0, 1])
float(n[0, 1]); bool(n[1, 1]); c.numpy(force=True).tolist(); n.numpy(force=True).tolist(); copy.deepcopy(c)
copy.deepcopy(c.T); copy.deepcopy(n); torch.nn.Parameter(c); torch.nn.Parameter(n); torch.tensor(c)
torch.asarray(c) is c; torch.asarray(n, copy=True); torch.as_tensor(c) is c; torch.empty_like(c).is_conj()
torch.zeros_like(c); torch.ones_like(n); c.new_zeros(2); c + c; n * 2.0; c @ c.mH; x @ c; c @ x; c.mH @ x[0]
torch.einsum("ij,kj->ik", x, c); torch.stack([x, c]); torch.cat([c, c]); x.sum() + c; torch.where(c.real > 0, c, x)
c[[0]]; c[c.real > 0]; c.gather(0, torch.tensor([[0, 1]])); n.sort(0)[0]; n.sum(); c.abs(); torch.addmm(c, c, x.H)
torch.dot(c[0], x[0]); torch.vdot(c[0], x[0]); torch.outer(c[0], c[1]); 2.0 - n
torch.linalg.matrix_power(c, 1, out=torch.empty_like(x))
next(iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(c, n), 2)))
torch.chain_matmul(c, out=torch.empty_like(x))
c.detach() + x; n.detach() * 2.0; x + c.detach(); n.detach() + n; torch.add(n.detach(), r); c.detach().add_(c.detach())
"""

WRITES = """
c.add_(1); c.add_(1j); c.mul_(c); c.copy_(x); x.copy_(c); x.copy_(x.conj()); n.add_(1); n.fill_(5); n.zero_()
c.fill_(1 + 1j); c.zero_(); c[0] = 1j; c[0, 0] = 1 + 1j; c[[0]] = 2 + 1j; c[c.real > 1] = 1j; n[0] = 7.0
n[[0]] = r[0]; c[0] = x[1]; c.masked_fill_(torch.tensor([True, False]), 1j)
c.index_put_((torch.tensor([0]),), x[1]); c.index_fill_(0, torch.tensor([0]), 1j)
c.index_add_(0, torch.tensor([0]), c[1:]); c.scatter_(0, torch.tensor([[0, 0]]), 1j)
n.scatter_add_(0, torch.tensor([[1, 0]]), r); n.masked_scatter_(torch.tensor([True, False]), r)
torch.add(x, 1, out=c); torch.add(r, 1, out=n); torch.exp(x, out=c); torch.sum(x, 0, out=c[0])
torch.mm(x, c, out=c); c.conj_physical_(); x.conj_physical_(); n.conj_physical_(); n.neg_(); c.t_(); c.unsqueeze_(0)
c.squeeze_(); c.transpose_(0, 1); c.resize_(4); c.set_(x); x.set_(c); n.set_(r); r.set_(n); c.real = 5.0
x.data = c; c.data = x; torch.arange(2.0, dtype=torch.float64, out=n[0]); torch.ones(2, 2, dtype=x.dtype, out=m)
c.imag = 5.0; x.imag = n; c.imag = r; c.add_(x); c.add_(x.t()); x.add_(c.t()); c[0].copy_(c[1]); c.sqrt_(); n.exp_()
n.clamp_(0, 1); n.addcmul_(r, n); c.addmm_(x, c); n.cumsum_(0); n.tril_(); m.mul_(2j); torch.nn.init.ones_(c)
n.pow_(2); c += x; n -= 1; c *= 1j; torch.manual_seed(0), n.normal_(); torch.manual_seed(0), n.uniform_()
torch.manual_seed(0), n.random_(5)
"""

ERRORS = """
c.numpy(); n.numpy(); m.conj().numpy(); np.asarray(c); torch.view_as_real(c); c.view(torch.float64)
n.view(torch.int64); c.__dlpack__(); m.view(torch.complex128); c[:1].expand(2, 2).add_(1)
c[:1].expand(2, 2).copy_(x); c[:1].expand(2, 2).fill_(1); n.imag; c[:1].expand(2, 2).zero_(); c.copy_(c.t())
c.detach_(); w.conj().add_(1); torch.sqrt(c, out=n); c.add_(torch.ones(3))
"""

GRADIENTS = """
w.conj(); w.conj().imag; w.conj().real; w.mH; w.conj().resolve_conj(); w.conj().imag.resolve_neg()
w.conj_physical(); torch._neg_view(v); torch._neg_view(w); w.conj().clone(); w.conj().conj(); w.conj()[0]
w.conj().imag[:, 0]; w.conj().detach(); w.conj() * (1 + 2j); w.conj() * w; w @ w.mH; w.conj().real * v
torch._neg_view(v) * v; (w.conj() * w).real; w.conj().imag * v; w.conj().abs(); torch.stack([w, w.conj()])
torch.einsum("ij,ij->", w, w.conj()); w.conj().angle(); z.conj().add_(1j); z.conj().mul_(2j); z.conj().imag.mul_(3)
z.conj()[0].mul_(3j); y.copy_(z.conj().imag); torch._neg_view(y).mul_(v); torch._neg_view(y)[0].exp_()
torch._neg_view(z).mul_(2j); z.real.mul_(2); z.conj().real.mul_(v); z.conj().copy_(w); z.conj().imag.copy_(v)
torch.view_as_real(z).mul_(3); torch.view_as_complex(y).mul_(2j); torch.view_as_complex(y).conj().mul_(2j)
torch.view_as_complex(y).conj().imag.mul_(3); z.conj()[0].imag.add_(v[0])
torch.view_as_complex(y).conj().real.mul_(v[0, 0])
n.detach()[0].mul_(v[0]); c.detach()[0].mul_(w[0]); m.detach().imag.mul_(v)
"""


def each(text: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "program", [line.strip() for line in text.replace("\n", ";").split(";") if line.strip()]
    )


def run(lib: Any, program: str) -> tuple[Any, dict[str, Any]]:
    """What the last expression gives, or its error, and the variables."""
    names: dict[str, Any] = {"torch": lib, "np": np, "copy": copy}
    exec(START, names)
    try:
        return eval(program, names), names
    except SyntaxError:
        exec(program, names)
        return None, names
    except Exception as error:
        return error, names


def compare(what: str, a: Any, b: Any, version: bool = True) -> None:
    """Fails where the values of torch and of minitorch differ, or what they are views of."""
    if isinstance(a, (tuple, list)) and any(isinstance(one, torch.Tensor) for one in a):
        for one, other in zip(a, b, strict=True):
            compare(what, one, other)
    elif isinstance(a, torch.Tensor):
        report([*tensor_differences(a, b, what), *bit_differences(a, b, what)])
        facts = [
            (t.stride(), t.storage_offset(), t._is_view(), version and t._version, t.requires_grad, t.is_leaf)
            for t in (a, b)
        ]
        assert facts[0] == facts[1], what
        history = [None if t.grad_fn is None else t.grad_fn.name() for t in (a, b)]
        assert history[0] == history[1], what
    elif isinstance(a, Exception):
        assert type(a).__name__.lstrip("_") == type(b).__name__.lstrip("_"), f"{what}: {a!r} {b!r}"
        assert str(a) == str(b), what
    elif not isinstance(a, torch.Generator):
        assert a == b, what


@each(VIEWS + READS + WRITES + ERRORS)
def test_programs(program: str) -> None:
    theirs, ours = run(torch, program), run(minitorch, program)
    if not isinstance(theirs[0], Exception):
        assert not isinstance(ours[0], Exception), ours[0]
    compare(program, theirs[0], ours[0])
    for name in "xcnmr":
        compare(f"{name} after {program}", theirs[1][name], ours[1][name])


@each(ERRORS)
def test_errors_are_errors(program: str) -> None:
    assert isinstance(run(minitorch, program)[0], Exception)


@each(GRADIENTS)
def test_gradients(program: str) -> None:
    """Of the result and of the tensors that were written to: once with a graph of the gradient, and of that in turn."""
    found = []
    for lib in (torch, minitorch):
        result, names = run(lib, program)
        assert not isinstance(result, Exception), result
        outputs = [result, names["z"], names["y"]]
        loss = sum((t * (t + 2)).abs().sum() for t in outputs)
        first = lib.autograd.grad(loss, [names["w"], names["v"]], create_graph=True)
        second = lib.autograd.grad(sum(t.abs().sum() for t in first), [names["w"], names["v"]], retain_graph=True)
        direct = []
        if result.requires_grad:
            direct = [
                t
                for t in lib.autograd.grad(
                    result, [names["w"], names["v"]], lib.ones_like(result), True, False, allow_unused=True
                )
                if t is not None
            ]
        found.append((outputs, [*first, *second], direct))
    for kind, (a, b) in enumerate(zip(*found, strict=True)):
        assert len(a) == len(b)
        for number, (one, other) in enumerate(zip(a, b, strict=True)):
            what = f"{('output', 'gradient', 'direct gradient')[kind]} {number} of {program}"
            if kind == 0:
                compare(what, one, other)
            else:
                report(
                    [*tensor_differences(one, other, what), *(bit_differences(one, other, what) if kind == 2 else ())]
                )


@pytest.mark.parametrize("name", ["c", "n", "m", "c.T", "n[0]", "m.conj()", "torch.nn.Parameter(c)"])
def test_saved_and_pickled(name: str) -> None:
    """Files of either library are read by both with the bits set; so are pickles; the elements stay."""
    theirs, ours = run(torch, name)[0], run(minitorch, name)[0]
    files = [io.BytesIO(), io.BytesIO()]
    torch.save(theirs, files[0])
    minitorch.save(ours, files[1])
    for file in files:
        read = []
        for lib in (torch, minitorch):
            file.seek(0)
            read.append(lib.load(file))
        compare(name, *read, version=False)
        report(bit_differences(theirs, read[1], name))
    compare(name, pickle.loads(pickle.dumps(theirs)), pickle.loads(pickle.dumps(ours)), version=False)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "Adagrad", "RMSprop"])
@pytest.mark.parametrize("parameter, gradient", [("r", "n"), ("n", "r")])
def test_optimizers(optimizer: str, parameter: str, gradient: str) -> None:
    found = []
    for lib in (torch, minitorch):
        _, names = run(lib, "0")
        leaf = lib.nn.Parameter(names[parameter])
        leaf.grad = names[gradient]
        steps = getattr(lib.optim, optimizer)([leaf], lr=0.25)
        steps.step()
        steps.step()
        steps.zero_grad(set_to_none=False)
        found.append((leaf, names))
    compare(optimizer, found[0][0], found[1][0])
    for name in "xr":
        compare(name, found[0][1][name], found[1][1][name])


def test_gradcheck() -> None:
    """Finite differences step in the direction of the elements, not of what lies in memory."""
    for name in ("c", "n", "m"):
        leaf = run(minitorch, name)[0].detach().requires_grad_()
        assert minitorch.autograd.gradcheck(lambda t: t * t * 1.5, [leaf])
        assert minitorch.autograd.gradcheck(minitorch.conj, [leaf])


@pytest.mark.parametrize("view", ["real", "imag", "mH"])
def test_writes_to_parts_of_a_conjugate_base(view: str) -> None:
    """PyTorch fails here: it takes the parts of a gradient that has no bit as it took those of the base."""

    def written(factor: Any) -> Any:
        base = run(minitorch, "c")[0].detach()
        getattr(base, view).mul_(factor)
        return base.resolve_conj()

    assert minitorch.autograd.gradcheck(written, [run(minitorch, "v")[0]])


def test_other_processes() -> None:
    """What is sent shares memory and keeps its bits; a loader's worker sends elements."""
    from minitorch.utils.data import DataLoader, TensorDataset

    def send(tensor: Any) -> Any:
        with ctx.Pool(1) as pool:
            return pool.apply(tensors_back, (tensor,))

    ctx = minitorch.multiprocessing.get_context("fork")
    c, n = (run(minitorch, name)[0] for name in "cn")
    for tensor in (c, n):
        returned = send(tensor)
        assert (returned.is_conj(), returned.is_neg()) == (tensor.is_conj(), tensor.is_neg())
        assert returned.tolist() == tensor.tolist()
    rows = [list(TensorDataset(c, n)[i]) for i in range(2)]
    loaded = list(DataLoader(TensorDataset(c, n), batch_size=None, num_workers=1))
    assert [[each.tolist() for each in row] for row in loaded] == [[each.tolist() for each in row] for row in rows]


def tensors_back(tensor: Any) -> Any:
    return tensor


@pytest.mark.parametrize(
    "program", ["torch.complex(h, h)", "torch.view_as_complex(h)", "h * 1j", "torch.result_type(h, 1j)"]
)
def test_there_is_no_complex32(program: str) -> None:
    half = minitorch.ones(2, dtype=minitorch.float16)
    with pytest.raises(NotImplementedError, match="complex32"):
        eval(program, {"torch": minitorch, "h": half})


def test_memory_is_shared_with_dlpack_only_without_bits() -> None:
    """PyTorch exports the memory of a negative view as if the bit were not set; here that is refused."""
    with pytest.raises(BufferError, match="negative bit"):
        run(minitorch, "n")[0].__dlpack__()
