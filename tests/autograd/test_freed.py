"""What a backward pass frees: saved tensors, and not the numbers that an op was called with."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

OPS = {
    "lerp with a number": lambda lib, x: lib.lerp(x, x, 0.3),
    "lerp with a tensor": lambda lib, x: lib.lerp(x, x, lib.tensor(0.3)),
    "a product with a number": lambda lib, x: x * 2.0,
    "a sum with a number": lambda lib, x: x + 2.0,
    "a power": lambda lib, x: x**2,
    "clamp": lambda lib, x: x.clamp(0, 1),
    "exp": lambda lib, x: x.exp(),
}


def twice(lib: Any, name: str) -> Any:
    x = lib.tensor([0.5, 2.0], requires_grad=True)
    y = OPS[name](lib, x).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return str(error)
    return x.grad.tolist()


@pytest.mark.parametrize("name", OPS)
def test_a_second_pass_fails_only_where_a_tensor_was_saved(name: str) -> None:
    assert twice(minitorch, name) == twice(torch, name)


NUMBERS = {
    "_saved_dim": lambda lib, x: x.softmax(0),
    "_saved_correction": lambda lib, x: x.std(0),
    "_saved_self_sym_sizes": lambda lib, x: x.mean(),
    "_saved_result": lambda lib, x: x.exp(),
}


def number(lib: Any, name: str) -> Any:
    y = NUMBERS[name](lib, lib.tensor([0.5, 2.0], requires_grad=True))
    y.sum().backward()
    try:
        return getattr(y.grad_fn, name)
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_freed_node_still_tells_its_numbers(name: str) -> None:
    assert number(minitorch, name) == number(torch, name)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_a_view_that_was_not_recorded_takes_hooks(mode: str) -> None:
    for lib in (torch, minitorch):
        y = lib.ones(3, requires_grad=True).relu()
        with getattr(lib, mode)():
            view = y.select(0, 1)
        assert view.requires_grad
        view.register_hook(lambda grad: grad).remove()
        with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
            lib.ones(1).register_hook(lambda grad: grad)
