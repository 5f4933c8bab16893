"""Tensors made in inference mode, and views made there or without gradients: what autograd refuses to do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch

torch = pytest.importorskip("torch", reason="the expected values are torch's")


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
def test_inference_tensors(name: str) -> None:
    outcomes = [
        outcome(lambda lib=lib: RULES[name](lib, inference_tensor(lib), lib.ones(3, requires_grad=True)))
        for lib in (torch, minitorch)
    ]
    assert outcomes[1] == outcomes[0]


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
def test_views_that_may_not_be_written_to(name: str, requires_grad: bool, indirectly: bool) -> None:
    outcomes = []
    for lib in (torch, minitorch):
        base = lib.ones(3, 3, requires_grad=requires_grad) * 2
        view = MAKERS[name](lib, base)
        written = base if indirectly else view
        outcomes.append((outcome(lambda written=written: written.mul_(2)), outcome(lambda view=view: view.is_leaf)))
        factor = lib.ones((), requires_grad=True)
        outcomes.append((outcome(lambda view=view, factor=factor: view.mul_(factor)), repr(view)))
    half = len(outcomes) // 2
    assert outcomes[half:] == outcomes[:half]


@pytest.mark.parametrize("op", ["mul", "mm", "atan2"])
def test_what_cannot_be_saved_is_named_before_shapes_that_do_not_fit(op: str) -> None:
    messages = []
    for lib in (torch, minitorch):
        with lib.inference_mode():
            inner = lib.ones(2, 3)
        outer = lib.ones(5, 7, requires_grad=True)
        with pytest.raises(RuntimeError) as caught:
            getattr(lib, op)(outer, inner)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "Inference tensors cannot be saved" in messages[0]


def test_a_function_is_recorded_in_inference_mode_where_gradients_are_enabled() -> None:
    found = []
    for lib in (torch, minitorch):

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
        found.append((facts, recorded.grad_fn.name(), x.grad.tolist()))
    assert found[0] == found[1]
