"""Tensors made in inference mode, and views made there or without gradients: what autograd refuses to do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.same import exactly_the_same


def outcome(action: Callable[[], Any]) -> Any:
    try:
        result = action()
    except RuntimeError as error:
        return str(error)
    return result.tolist() if hasattr(result, "tolist") else result


def inference_tensor(lib: Any) -> Any:
    with lib.inference_mode():
        return lib.ones(3)


def in_mode(lib: Any, action: Callable[[], Any]) -> Any:
    with lib.inference_mode():
        return action()


RULES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "written to outside": lambda lib, i, x: i.add_(1),
    "written to without grad": lambda lib, i, x: lib.no_grad()(lambda: i.mul_(2))(),
    "written to inside": lambda lib, i, x: in_mode(lib, lambda: i.add_(1)),
    "transposed in place": lambda lib, i, x: i.t_(),
    "saved for backward": lambda lib, i, x: i * x,
    "not saved": lambda lib, i, x: (i + x).requires_grad,
    "requires grad": lambda lib, i, x: i.requires_grad_(),
    "requires no grad": lambda lib, i, x: i.requires_grad_(False),
    "requires grad inside": lambda lib, i, x: in_mode(lib, lambda: lib.ones(2, requires_grad=True).requires_grad),
    "version": lambda lib, i, x: i._version,
    "is inference": lambda lib, i, x: [i.is_inference(), lib.is_inference(i), lib.is_inference(x)],
    "made from it": lambda lib, i, x: [(i * 2).is_inference(), i.clone().is_inference(), i.detach().is_inference()],
    "view of it": lambda lib, i, x: [i[:2].is_inference(), in_mode(lib, lambda: i[:2]._is_view())],
    "view of a normal tensor": lambda lib, i, x: in_mode(lib, lambda: [x[:2].is_inference(), x[:2]._is_view()]),
    "write to a normal tensor": lambda lib, i, x: in_mode(lib, lambda: x.detach().add_(1)._version),
    "nothing recorded": lambda lib, i, x: in_mode(lib, lambda: (x * 2).requires_grad),
}


@pytest.mark.parametrize("name", RULES)
@exactly_the_same
def test_inference_tensors(lib: Any, name: str) -> Any:
    return outcome(lambda: RULES[name](lib, inference_tensor(lib), lib.ones(3, requires_grad=True)))


MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda lib, base: base[0],
    "no_grad": lambda lib, base: lib.no_grad()(lambda: base[0])(),
    "inference_mode": lambda lib, base: in_mode(lib, lambda: base[0]),
    "view of a no_grad view": lambda lib, base: lib.no_grad()(lambda: base[:2])()[0],
    "unbind": lambda lib, base: base.unbind(0)[1],
    "split": lambda lib, base: base.split(1)[1],
    "chunk": lambda lib, base: base.chunk(2)[0],
    "split_with_sizes": lambda lib, base: base.split([1, 2])[1],
    "tensor_split": lambda lib, base: base.tensor_split(2)[0],
    "view of an unbind output": lambda lib, base: base.unbind(0)[1][:1],
}


@pytest.mark.parametrize("indirectly", [False, True])
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("name", MAKERS)
@exactly_the_same
def test_views_that_may_not_be_written_to(lib: Any, name: str, requires_grad: bool, indirectly: bool) -> Any:
    base = lib.ones(3, 3, requires_grad=requires_grad) * 2
    view = MAKERS[name](lib, base)
    written = base if indirectly else view
    factor = lib.ones((), requires_grad=True)
    actions = (lambda: written.mul_(2), lambda: view.is_leaf, lambda: view.mul_(factor))
    return [outcome(action) for action in actions], repr(view)


@exactly_the_same
def test_a_function_is_recorded_in_inference_mode_where_gradients_are_enabled(lib: Any) -> Any:
    class Double(lib.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = lib.ones(2, requires_grad=True)
    with lib.inference_mode():
        plain = Double.apply(x)
        with lib.enable_grad():
            recorded, multiplied = Double.apply(x), x * 2
    recorded.backward(lib.ones(2))
    facts = [(each.requires_grad, each.is_inference()) for each in (plain, recorded, multiplied)]
    return facts, recorded.grad_fn.name(), x.grad.tolist()
