"""What `out=` of another type, of another number of tensors, or that requires a gradient means."""

from __future__ import annotations

from typing import Any

import pytest

from tests.same import attempt, exactly_the_same

TYPES = ("float32", "float64", "float16", "int32", "int8", "uint8", "bool", "complex64")


def into(function: Any, *args: Any, **options: Any) -> Any:
    """What a call returns, or its error."""
    return attempt(lambda: function(*args, **options))


FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum", "mean", "all", "any"])
@exactly_the_same
def test_reductions(torch: Any, name: str) -> Any:
    """Sums compute in the type of `out`, to the last digit; of integers `nansum` refuses as a cast does."""
    x = torch.tensor([[1.7, 2.6], [-1.5, 1.9]])
    kinds = FLOATS if name == "nansum" else TYPES
    return [into(getattr(torch, name), x, 0, out=torch.empty(0, dtype=getattr(torch, kind))) for kind in kinds]


@exactly_the_same
def test_nansum_of_integers_into_integers(torch: Any) -> Any:
    return torch.nansum(torch.tensor([3, 4]), 0, out=torch.empty((), dtype=torch.int64))


@exactly_the_same
def test_a_stated_type_is_that_of_out(torch: Any) -> Any:
    out = torch.empty(2, dtype=torch.float64)
    return [into(getattr(torch, name), torch.ones(2, 2), 0, dtype=torch.int32, out=out) for name in ("sum", "cumsum")]


@pytest.mark.parametrize(
    "name",
    [
        *("abs", "neg", "floor", "ceil", "round", "trunc", "sign", "frac", "square", "logical_not", "nan_to_num"),
        *("signbit", "isneginf", "isposinf", "exp"),
    ],
)
@exactly_the_same
def test_one_operand(torch: Any, name: str) -> Any:
    outs = (torch.empty(2, dtype=getattr(torch, kind)) for kind in TYPES)
    return [into(getattr(torch, name), torch.tensor([1.5, -2.0]), out=out) for out in outs]


@exactly_the_same
def test_others(torch: Any) -> Any:
    x, bits = torch.tensor([1.5, -2.0]), torch.tensor([1, 2])
    outs = [torch.empty(2, dtype=getattr(torch, kind)) for kind in TYPES]
    return [
        *(into(torch.bitwise_not, bits, out=out) for out in outs),
        *(into(torch.where, x > 0, x, x, out=out) for out in outs),
        *(into(torch.complex, x, x, out=out) for out in outs),
        *(into(torch.polar, x, x * 0, out=out) for out in outs),
    ]


@pytest.mark.parametrize("name", ["max", "min", "sort", "cummax", "mode", "median", "frexp"])
@exactly_the_same
def test_another_number_of_tensors(torch: Any, name: str) -> Any:
    args = () if name == "frexp" else (0,)
    outs = ((torch.empty(2),), (torch.empty(2), torch.empty(2).long(), torch.empty(2)))
    return [into(getattr(torch, name), torch.ones(3, 2), *args, out=out) for out in outs]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", ["zeros", "ones", "eye", "rand", "randn", "empty", "arange", "full", "linspace"])
@exactly_the_same
def test_creation(torch: Any, name: str, grad: bool) -> Any:
    args = {"full": ((2,), 1.0), "linspace": (0, 1, 2)}.get(name, (2,))
    make, leaf = getattr(torch, name), torch.empty(2, 2 if name == "eye" else 1, requires_grad=True)
    leaf = leaf if name == "eye" else leaf.detach()[:, 0].requires_grad_()
    with torch.set_grad_enabled(grad):
        found = into(make, *args, out=leaf)
    return (
        found if isinstance(found, tuple) else found.shape,
        leaf.requires_grad,
        into(make, *args, dtype=torch.float64, out=torch.empty(2)),
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sum", "nansum", "cumsum", "prod", "cumprod", "mean"])
@exactly_the_same
def test_numbers_are_rounded_before_they_are_added_up(torch: Any, name: str, dtype: str) -> Any:
    """But for a mean."""
    x = torch.tensor([1.7, -1.5, 0.3])
    kind = getattr(torch, dtype)
    return [getattr(each, name)(0, dtype=kind) for each in (x, x.double(), x.to(kind))]
