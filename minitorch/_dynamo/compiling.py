"""`torch.compile`, and what it returns.

Source: https://docs.pytorch.org/docs/stable/generated/torch.compile.html
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from minitorch._dynamo.backends import found
from minitorch._dynamo.frames import Compiled, can_be_captured
from minitorch.nn.modules.module import Module

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")

compiled: weakref.WeakSet[Compiled] = weakref.WeakSet()
"""All compiled functions, for `reset`."""


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Compiles a function or module: its first call captures what it computes, and later calls run that.

    Args:
        model: the function or module; without it, this is a decorator.
        fullgraph: whether a function that can't be captured whole raises `torch._dynamo.exc.Unsupported`. Otherwise
            it is split there, or runs eagerly.
        dynamic: whether sizes are symbols from the start (True), never (False), or from when they change (None).
        backend: "inductor", "aot_eager", "eager", or a function of a GraphModule and its example inputs that returns
            the function to run.
        mode: one of PyTorch's names. "max-autotune" compiles loops before the first call, where Numba is installed;
            the other modes wait until that pays, and "reduce-overhead" changes nothing.
        options: settings of PyTorch's backend, which change nothing here.
        disable: returns the model as it is.

    Raises:
        RuntimeError: both `mode` and `options` are given, or the mode is unknown.
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    _check(mode, options)
    if disable:
        return model
    chosen = found(backend, mode)
    if isinstance(model, OptimizedModule):
        return OptimizedModule(model._orig_mod, made(model._orig_mod, chosen, fullgraph, dynamic))
    if isinstance(model, Module):
        return OptimizedModule(model, made(model, chosen, fullgraph, dynamic))
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a callable or module, got {type(model).__name__}")
    inner = getattr(model, "_torchdynamo_orig_callable", model)
    if not can_be_captured(inner):
        return model
    return wrapped(inner, made(inner, chosen, fullgraph, dynamic))


def in_place(
    module: Module,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Compiled | None:
    """What a module calls once its `compile` was called; None for its own call. For the arguments see `compile`."""
    _check(mode, options)
    return None if disable else made(module, found(backend, mode), fullgraph, dynamic, module._call_with_hooks)


def _check(mode: str | None, options: dict[str, Any] | None) -> None:
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")


def made(model: Any, backend: Any, fullgraph: bool, dynamic: bool | None, eager: Any = None) -> Compiled:
    """A compiled function, which `reset` knows."""
    result = Compiled(model, backend, fullgraph, dynamic, eager)
    compiled.add(result)
    return result


def wrapped(function: Any, run: Compiled) -> Callable[..., Any]:
    """A function with the name and documentation of another."""

    @functools.wraps(function)
    def compile_wrapper(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    compile_wrapper._torchdynamo_orig_callable = function  # type: ignore[attr-defined]
    compile_wrapper._compiled = run  # type: ignore[attr-defined]
    return compile_wrapper


class OptimizedModule(Module):
    """A compiled module: it has the original one's attributes, and its keys with the prefix `_orig_mod.`."""

    _orig_mod: Module

    def __init__(self, mod: Module, run: Compiled) -> None:
        super().__init__()
        self._orig_mod = mod
        object.__setattr__(self, "_run", run)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the compiled module."""
        return self._run(*args, **kwargs)

    @property
    def training(self) -> bool:
        """The mode of the original module."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", {}):
            self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training", "forward") or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> Any:
        return compile, (self._orig_mod,)
