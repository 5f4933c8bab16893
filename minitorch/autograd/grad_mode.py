"""Switches that say whether ops are recorded. Each thread has its own.

Source: https://pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Self, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class GradMode(threading.local):
    """The mode of one thread. Ops are recorded while `enabled`, which is what was asked for outside inference mode."""

    enabled = True
    asked = True
    inference = False
    multithreading = True

    def set(self, asked: bool, inference: bool) -> None:
        if inference is not self.inference:
            (INFERRING.append if inference else INFERRING.remove)(threading.get_ident())
        self.asked, self.inference, self.enabled = asked, inference, asked and not inference


INFERRING: list[int] = []
"""The threads in inference mode: while there is none, who makes a tensor need not ask for its own."""


state = GradMode()


def is_grad_enabled() -> bool:
    """Returns the bool whether ops are recorded in this thread, unless it is in `inference_mode`.

    Source: https://pytorch.org/docs/stable/generated/torch.is_grad_enabled.html
    """
    return state.asked


def is_inference_mode_enabled() -> bool:
    """Returns the bool whether this thread is in `inference_mode`.

    Source: https://pytorch.org/docs/stable/generated/torch.is_inference_mode_enabled.html
    """
    return state.inference


class _Mode:
    """A context manager that is also a decorator: it enters a new copy of itself on each call of the function."""

    _previous: Any

    def _copy(self) -> _Mode:
        return type(self)()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return cast(F, functools.wraps(function)(functools.partial(self._steps, function)))

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self._copy():
                return function(*args, **kwargs)

        return cast(F, decorated)

    def _steps(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        """Runs a generator in the mode, which ends where it yields."""
        running = function(*args, **kwargs)
        step, given = running.send, None
        while True:
            try:
                with self._copy():
                    value = step(given)
            except StopIteration as end:
                return end.value
            try:
                step, given = running.send, (yield value)
            except GeneratorExit:
                with self._copy():
                    running.close()
                raise
            except BaseException as error:
                step, given = running.throw, error

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.set(self._previous, state.inference)


class _Recording(_Mode):
    """A mode that can decorate a function without being called first."""

    asked: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Self:
        mode = super().__new__(cls)
        return mode if function is None else cast(Self, mode(function))

    def __enter__(self) -> None:
        self._previous = state.asked
        state.set(self.asked, state.inference)


class no_grad(_Recording):
    """Inside, ops are not recorded and their results have `requires_grad=False`."""

    asked = False


class enable_grad(_Recording):
    """Inside, ops are recorded, also within `no_grad`."""

    asked = True


class set_grad_enabled(_Mode):
    """Records ops or not from now on; as a context manager, until the end of the block."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._previous = state.asked
        state.set(mode, state.inference)

    def _copy(self) -> _Mode:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        state.set(self._previous, state.inference)
        return super().__call__(function)

    def __enter__(self) -> None:
        state.set(self.mode, state.inference)


class inference_mode(_Mode):
    """Like `no_grad`, which `enable_grad` inside doesn't end; and the tensors made inside can never be recorded later.

    With `mode=False` it ends the inference mode that it stands in, and any `no_grad`.
    Source: https://pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
    """

    def __new__(cls, mode: Any = True) -> Any:
        instance = super().__new__(cls)
        if callable(mode):
            instance.mode = True
            return instance(mode)
        instance.mode = mode
        return instance

    mode: bool

    def _copy(self) -> _Mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._previous = state.asked, state.inference
        state.set(not self.mode, self.mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.set(*self._previous)


class set_multithreading_enabled(_Mode):
    """Remembers whether a backward pass may use threads, from now on or until the end of the block. It never does.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_multithreading_enabled.html
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._previous = state.multithreading
        state.multithreading = mode

    def _copy(self) -> _Mode:
        return set_multithreading_enabled(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        state.multithreading = self._previous


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` has set in this thread: at first True."""
    return state.multithreading
