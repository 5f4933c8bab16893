"""What the node of an op keeps: the same inputs and results as PyTorch's.

That shows when one of them is changed in place after the forward pass: then the backward pass is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator
from typing import Any

import pytest

import minitorch
from tests.ops.case import Case, Make, Sample, leaves, mapped
from tests.ops.compare import SEED, resolve
from tests.ops.test_op_table import cases, report

pytestmark = pytest.mark.needs("torch")

DTYPES = ("float32", "float64", "complex64", "float16", "bfloat16")

KEEPS_OTHER_TENSORS = {
    "einsum": "diagonals come in another order",
    "tensordot": "PyTorch multiplies and sums where one side has a single element; here it is a matrix product",
    "cdist": "PyTorch expands both sides into copies before it takes a batch's product of matrices",
    "cov": "PyTorch keeps the weights that it multiplies by; here they are first made floating-point numbers",
    "combinations": "selected by indices, not by a mask",
    "linalg.lstsq": "of a vector PyTorch keeps another tensor than it returns",
    "linalg.matrix_norm": "with a dtype, the cast is a node of its own",
    "linalg.lu": "P is made of the pivots, by an op of its own",
    "pdist": "of rows that don't lie one after the other PyTorch keeps a copy",
    "nn.functional.pdist": "of rows that don't lie one after the other PyTorch keeps a copy",
    "nn.functional.bilinear": "PyTorch keeps of its three factors the two that the gradients need; here all are kept",
    "nn.functional.ctc_loss": "int32 targets are converted, of which PyTorch keeps the result",
    "nn.functional.embedding_bag": "the table is kept, to look it up again; PyTorch needs it for sample weights alone",
    "nn.functional.scaled_dot_product_attention": "PyTorch's is fused; here it is made of products and a softmax",
}
NO_SUCH_GRADIENT = {
    "Tensor.__ifloordiv__": "the error names floor_divide, PyTorch's floor_divide_",
    "pixel_shuffle": "PyTorch's own backward fails for an empty batch",
    "nn.functional.pixel_shuffle": "PyTorch's own backward fails for an empty batch",
}


class Call:
    """A call of an op with new leaves, of which all floating-point ones require grad, or only number `chosen`."""

    def __init__(self, case: Case, make: Make, sample: Sample, chosen: int | None) -> None:
        self.lib, numbers = make.lib, itertools.count()

        def leaf(tensor: Any) -> Any:
            clone, number = tensor.detach().clone(), next(numbers)
            floating = clone.is_floating_point() or clone.is_complex()
            return clone.requires_grad_(floating and not make.is_constant(tensor) and chosen in (None, number))

        def is_tensor(value: Any) -> bool:
            return isinstance(value, make.lib.Tensor)

        args, kwargs = mapped(list(sample.args), is_tensor, leaf), mapped(sample.kwargs, is_tensor, leaf)
        self.leaves = list(leaves([args, kwargs], is_tensor))
        if case.in_place and args and is_tensor(args[0]):
            args[0] = args[0].clone()
        self.inputs = list(leaves([args, kwargs], is_tensor))
        make.lib.default_generator.manual_seed(SEED)
        value = resolve(make.lib, case.name)(*args, **kwargs)
        self.outputs = list(leaves(args[0] if case.in_place and value is None else value, is_tensor))
        self.differentiable = [each for each in self.outputs if each.requires_grad]

    def backward(self) -> str:
        """How a backward pass ends: "passes", "refused" for what was changed in place, or with another error."""
        ones = [self.lib.ones_like(each) for each in self.differentiable]
        sources = [each for each in self.leaves if each.requires_grad]
        try:
            self.lib.autograd.grad(self.differentiable, sources, ones, allow_unused=True)
        except Exception as error:
            return "refused" if "modified by an inplace operation" in str(error) else f"fails: {error}"
        return "passes"


def outcomes(case: Case, make: Make, sample: Sample) -> Iterator[tuple[str, str]]:
    """For all inputs that could require grad, and for each alone: what a change of each input and result does."""
    call = Call(case, make, sample, None)
    candidates = [number for number, each in enumerate(call.leaves) if each.requires_grad]
    for chosen in [None, *candidates] if len(candidates) > 1 else [None]:
        for kind in ("inputs", "outputs"):
            for number in range(len(getattr(call, kind))):
                changed = Call(case, make, sample, chosen)
                if not changed.differentiable:
                    continue
                write(changed.lib, getattr(changed, kind)[number])
                which = "all" if chosen is None else f"input {chosen}"
                yield f"gradient of {which}, {kind}[{number}] changed", changed.backward()


def write(lib: Any, tensor: Any) -> None:
    """Changes the version of a tensor, and no element."""
    with lib.no_grad():
        alias = tensor.detach()
        if tensor.numel() == alias.untyped_storage().nbytes() // alias.element_size():  # not of an expanded one
            alias.copy_(alias.clone())


def accepted(case: Case) -> Iterator[tuple[str, tuple[Make, Sample], tuple[Make, Sample]]]:
    """The samples that torch accepts, in the case's first floating-point type, made for torch and for minitorch."""
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    dtype = next(dtype for dtype in DTYPES if dtype in case.dtypes)
    one, other = case.make(torch, dtype), case.make(minitorch, dtype)
    for number, (theirs, ours) in enumerate(zip(case.samples(one), case.samples(other), strict=True)):
        try:
            Call(case, one, theirs, None)
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue  # torch refuses it; errors are compared in test_op_table
        yield f"sample {number}", (one, theirs), (other, ours)


def differentiable_cases(left_out: Container[str] = ()) -> pytest.MarkDecorator:
    return cases(lambda case: any(each in case.dtypes for each in DTYPES) and case.name not in left_out)


@pytest.mark.turns(2)
@differentiable_cases(KEEPS_OTHER_TENSORS.keys() | NO_SUCH_GRADIENT.keys())
@pytest.mark.filterwarnings("ignore")
def test_the_same_tensors_are_kept(case: Case) -> None:
    """A change of any input or result between forward and backward pass is refused where torch refuses it."""
    report(
        f"{label}, {change}: the backward pass {ours_ends}, torch's {ends}"
        for label, theirs, ours in itertools.islice(accepted(case), 2)
        for (change, ends), (_, ours_ends) in zip(outcomes(case, *theirs), outcomes(case, *ours), strict=True)
        if ends != ours_ends
    )


@cases(lambda case: case.grad_fn and any(each in case.dtypes for each in DTYPES))
@pytest.mark.filterwarnings("ignore")
def test_nodes(case: Case) -> None:
    """The nodes of the results have torch's names, and as many edges."""
    report(each for label, theirs, ours in accepted(case) for each in unlike_nodes(case, label, theirs, ours))


def unlike_nodes(case: Case, label: str, theirs: tuple[Make, Sample], ours: tuple[Make, Sample]) -> Iterator[str]:
    pairs = zip(Call(case, *theirs, None).outputs, Call(case, *ours, None).outputs, strict=True)
    for number, (one, other) in enumerate(pairs):
        nodes = one.grad_fn, other.grad_fn
        if nodes[0] is None or nodes[1] is None:
            continue  # test_op_table compares which result requires grad
        names, types, edges = zip(*map(facts, nodes), strict=True)
        if names[0] != names[1] or types[0] != types[1]:
            yield f"{label}, result {number}: the node is {types[1]} ({names[1]}), torch's {types[0]} ({names[0]})"
        elif edges[0] != edges[1]:
            yield f"{label}, result {number}: {names[1]} has {edges[1]} edges, torch's has {edges[0]}"


def facts(node: Any) -> tuple[str, str, int]:
    return node.name(), type(node).__name__, len(node.next_functions)
