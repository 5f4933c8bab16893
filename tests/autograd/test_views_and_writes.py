"""Gradients through views of what was written to, where base and view differ in strides or dtype, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import exactly_the_same, same

COMPLEX = [1 + 2j, 3 - 1j, 0.5j]

WRITES_TO_THE_VIEW: dict[str, Callable[[Any, Any], Any]] = {
    "real": lambda lib, z: z.real.mul_(2),
    "imag": lambda lib, z: z.imag.add_(1),
    "view_as_real": lambda lib, z: lib.view_as_real(z)[0].mul_(3),
    "slice": lambda lib, z: z[1:].mul_(2j),
    "result saved": lambda lib, z: z.imag.exp_(),
    "argument saved": lambda lib, z: z.real.mul_(z.imag.detach().clone().requires_grad_()),
}


@pytest.mark.parametrize("name", WRITES_TO_THE_VIEW)
@same
def test_a_part_of_a_complex_tensor_is_written_to(lib: Any, name: str) -> Any:
    leaf = lib.tensor(COMPLEX, dtype=lib.complex128, requires_grad=True)
    base = leaf * 2
    WRITES_TO_THE_VIEW[name](lib, base)
    (base.abs() ** 2).sum().backward()
    return leaf.grad


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "real": lambda lib, z: lib.view_as_complex(z.view(3, 2)).real,
    "imag": lambda lib, z: lib.view_as_complex(z.view(3, 2)).imag,
    "view_as_complex": lambda lib, z: lib.view_as_real(lib.view_as_complex(z.view(3, 2))),
    "absolute": lambda lib, z: lib.view_as_complex(z.view(3, 2)).abs(),
    "expanded": lambda lib, z: z.expand(4, 6),
    "overlapping windows": lambda lib, z: z.unfold(0, 3, 1),
    "overlapping strides": lambda lib, z: z.as_strided((3, 3), (1, 1)),
    "transposed": lambda lib, z: z.view(2, 3).t(),
    "a single element": lambda lib, z: z[4],
}


@pytest.mark.parametrize("name", VIEWS)
@same
def test_the_base_of_a_view_is_written_to(lib: Any, name: str) -> Any:
    leaf = lib.arange(1.0, 7.0, dtype=lib.float64).requires_grad_()
    base = leaf * 2
    view = VIEWS[name](lib, base)
    if name != "absolute":
        base.mul_(3)
    (view * view).sum().backward()
    return leaf.grad


@pytest.mark.parametrize("change", ["mul_(other)", "addcmul_(other, other)", "sub_(target).mul_(target)"])
@exactly_the_same
def test_an_argument_that_was_overwritten_is_missed(lib: Any, change: str) -> Any:
    """It is saved as it was before the write, also where it is the target itself or a view of it."""
    leaf = lib.arange(1.0, 5.0, dtype=lib.float64).requires_grad_()
    target = leaf * 2
    scope = {"target": target, "other": target.detach().requires_grad_()}
    eval(f"target.{change}", scope)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation") as raised:
        target.sum().backward()
    return str(raised.value).partition("Hint")[0]


@exactly_the_same
def test_a_retained_gradient_is_that_of_the_new_value(lib: Any) -> Any:
    leaf = lib.ones(3, dtype=lib.float64, requires_grad=True)
    value = leaf * 2
    value.retain_grad()
    value.mul_(5)
    (value * value).sum().backward()
    return value.grad.tolist(), leaf.grad.tolist()


def test_a_base_that_begins_inside_its_storage() -> None:
    """By mathematics, since PyTorch looks outside the storage here: Σ (w·Im z)² has the gradient 2·(Im z)² at w = 1."""
    leaf = minitorch.ones(3, dtype=minitorch.float64, requires_grad=True)
    base = minitorch.tensor([7j, *COMPLEX], dtype=minitorch.complex128)[1:].detach()
    base.imag.mul_(leaf)
    (base.abs() ** 2).sum().backward()
    assert leaf.grad.tolist() == pytest.approx([2 * z.imag**2 for z in map(complex, COMPLEX)])


@exactly_the_same
def test_constructors_given_a_tensor_make_views_of_it(lib: Any) -> Any:
    leaf = lib.ones(2, requires_grad=True)
    plain = lib.zeros(2)
    made = [
        lib.Tensor(leaf),
        lib.FloatTensor(leaf),
        leaf.new(leaf),
        lib.Tensor(leaf * 2).mul_(2),
        lib.Tensor(plain),
    ]
    made[-1].add_(1)
    facts = [(each.requires_grad, each._is_view(), each._version) for each in made]
    names = [each.grad_fn.name() if each.grad_fn else None for each in made]
    made[0].sum().backward()
    return facts, names, plain.tolist(), plain._version, leaf.grad.tolist()


@exactly_the_same
def test_functions_applied_in_python_leave_the_version(lib: Any) -> Any:
    x = lib.arange(3.0)
    x.apply_(lambda a: a + 1)
    x.map_(x.clone(), lambda a, b: a + b)
    return x._version, x.tolist(), hash(x) == id(x)
