"""gradcheck finds wrong gradients, finds nothing wrong with right ones, and says it in torch's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd import gradcheck, gradgradcheck
from tests.same import exactly_the_same


def double(lib: Any, *shape: int, dtype: str = "float64", requires_grad: bool = True) -> Any:
    drawn = np.random.default_rng(len(shape)).normal(size=(2, *shape))
    array = np.asarray(drawn[0] + 1j * drawn[1] if "complex" in dtype else drawn[0], dtype)
    return lib.from_numpy(array).requires_grad_(requires_grad)


def wrong_by(factor: float, lib: Any = minitorch) -> Callable[[Any], Any]:
    """x², with a derivative that is wrong by a factor."""

    class Square(lib.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x * (2 * factor)

    return Square.apply  # type: ignore[no-any-return]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "product": lambda x, y: x * y,
    "two outputs": lambda x, y: (x * y, y * 2),
    "some outputs constant": lambda x, y: (x.detach() * 2, x * y),
    "unused input": lambda x, y: x * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtypes", [("float64",) * 2, ("complex128", "float64"), ("complex128",) * 2], ids=str)
def test_right_gradients(name: str, dtypes: tuple[str, str]) -> None:
    inputs = (double(minitorch, 2, 3, dtype=dtypes[0]), double(minitorch, 3, dtype=dtypes[1]))
    assert gradcheck(FUNCTIONS[name], inputs)
    assert gradgradcheck(FUNCTIONS[name], inputs)


def test_inputs_are_left_as_they_were() -> None:
    x = double(minitorch, 2, 3)
    before = x.tolist()
    gradcheck(lambda x: x * x, x)
    assert x.tolist() == before
    assert x.grad is None


def test_wrong_gradients_are_found() -> None:
    x = double(minitorch, 2)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(wrong_by(1.01), x)
    assert gradcheck(wrong_by(1.01), x, raise_exception=False) is False
    assert gradcheck(wrong_by(1.01), x, rtol=0.1)
    assert gradcheck(wrong_by(1.0), x)


def test_wrong_second_derivatives_are_found() -> None:
    class Square(minitorch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * (x * 2).detach()

    x = double(minitorch, 2)
    assert gradcheck(Square.apply, x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradgradcheck(Square.apply, x)


def test_random_gradients_are_found() -> None:
    calls: list[int] = []

    class Unsteady(minitorch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            calls.append(1)
            return grad * (1 + 1e-9 * len(calls))

    x = double(minitorch, 2)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradcheck(Unsteady.apply, x)
    assert gradcheck(Unsteady.apply, x, nondet_tol=1e-5)


def test_gradients_that_don_t_depend_on_the_gradient_are_found() -> None:
    class Offset(minitorch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 0 + 1

    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        gradcheck(Offset.apply, double(minitorch))


def test_functions_that_only_seem_constant_are_found() -> None:
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, double(minitorch, 2))


INVALID: list[Callable[[Any], Any]] = [
    lambda lib: lib.autograd.gradcheck(lambda x: x * 2, double(lib, 2, requires_grad=False)),
    lambda lib: lib.autograd.gradcheck(lambda x: x * 2, double(lib, 2).detach().expand(3, 2).requires_grad_()),
    lambda lib: lib.autograd.gradcheck(wrong_by(2.0, lib), double(lib, 2)),
    lambda lib: lib.autograd.gradcheck(wrong_by(2.0, lib), double(lib, 2, 3)),
    lambda lib: lib.autograd.gradcheck(lambda x: x.detach() * 2, double(lib, 2)),
    lambda lib: lib.autograd.gradcheck(wrong_by(2.0, lib), lib.ones(2, requires_grad=True), eps=0.125),
]


@pytest.mark.parametrize("number", range(len(INVALID)))
@exactly_the_same
def test_errors_are_torchs(lib: Any, number: int) -> Any:
    with pytest.raises(Exception) as caught:
        INVALID[number](lib)
    return caught.type.__name__, str(caught.value)


def test_single_precision_warns() -> None:
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: x * 2, double(minitorch, 2, dtype="float32"), eps=1e-2, atol=1e-2)


@pytest.mark.parametrize("argument", ["check_batched_grad", "check_forward_ad", "masked"])
def test_unsupported_arguments_are_refused(argument: str) -> None:
    with pytest.raises(NotImplementedError, match=argument):
        gradcheck(lambda x: x * 2, double(minitorch, 2), **{argument: True})


@pytest.mark.needs("torch")
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("factor", [1.0, 1.01])
@pytest.mark.parametrize("rtol", [1e-3, 0.1])
def test_fast_mode_finds_what_torchs_finds(dtype: str, factor: float, rtol: float) -> None:
    """And says so in its words, with its numbers: the random vectors are torch's too."""
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

    def message(lib: Any, check: str) -> str:
        def squares(x: Any, y: Any) -> Any:
            return wrong_by(factor, lib)(x) * 2, x.real * y

        inputs = double(lib, 3, dtype=dtype), double(lib, 3)
        try:
            return str(getattr(lib.autograd, check)(squares, inputs, rtol=rtol, fast_mode=True))
        except RuntimeError as error:
            return str(error)

    one, other = (message(lib, "gradcheck") for lib in (torch, minitorch))
    assert rounded(other) == rounded(one)
    assert (one == "True") == (dtype == "float64" and (factor == 1.0 or rtol == 0.1))
    assert (message(minitorch, "gradgradcheck") == "True") == (message(torch, "gradgradcheck") == "True")


def rounded(message: str) -> str:
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number.group()):.6f}", message)
