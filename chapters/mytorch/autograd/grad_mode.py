"""Whether operations are recorded: modes, as contexts and as decorators."""

# 07 · Backward in depth
from __future__ import annotations

import functools
from typing import Any

from ..dispatch import Function
from .node import Mode


class GradMode:
    """Sets `Mode.enabled` for a block, and puts back what was there, which it keeps in `outer`, the innermost last."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.outer: list[bool] = []

    def __enter__(self) -> None:
        """Start a block: set `Mode.enabled` to `self.enabled`, after pushing the previous value onto `self.outer`."""
        self.outer.append(Mode.enabled)
        Mode.enabled = self.enabled

    def __exit__(self, *error: object) -> None:
        """End the innermost block: recording is what it was before. An exception that ended the block propagates."""
        Mode.enabled = self.outer.pop()

    def __call__(self, function: Function) -> Function:
        """As a decorator: a function that does what `function` does, in a block of this mode at each call."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with GradMode(self.enabled):  # of this call alone: another thread may be inside, too
                return function(*args, **kwargs)

        return inside


class no_grad(GradMode):
    """Nothing inside is recorded: `with no_grad(): ...`, or `@no_grad()` or `@no_grad` on a function."""

    mode = False

    def __new__(cls, function: Function | None = None) -> Any:
        """A mode; or a function in that mode, if one is given."""
        return super().__new__(cls) if function is None else cls()(function)

    def __init__(self) -> None:
        super().__init__(self.mode)


class enable_grad(no_grad):
    """The opposite: recording inside, also within a block of `no_grad`."""

    mode = True


class set_grad_enabled(GradMode):
    """Recording on or off: from the call on; as a context until its end, as a decorator only inside the function."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self.before = Mode.enabled
        Mode.enabled = mode

    def __enter__(self) -> None:
        self.outer.append(self.before)
        Mode.enabled = self.enabled

    def __call__(self, function: Function) -> Function:
        Mode.enabled = self.before
        return GradMode(self.enabled)(function)


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return Mode.enabled
