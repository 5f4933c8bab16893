"""What `help` and `inspect.signature` show of generated functions: PyTorch's parameters.

They are worked out when somebody asks, since hundreds of functions are generated and few are asked about.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minitorch.ops.declaration import REQUIRED, Op


class Described:
    """Stands as `__wrapped__` in a generated function, where `inspect` looks for a `__signature__`."""

    __slots__ = ("describe",)

    def __init__(self, describe: Callable[[], inspect.Signature]) -> None:
        self.describe = describe

    @property
    def __signature__(self) -> inspect.Signature:
        return self.describe()


_OUT = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)


def describe_op(function: Any, op: Op, first: str, with_out: bool = False) -> None:
    """Has `inspect` find the parameters of an op's public form, whose first one is named `first`."""
    function.__wrapped__ = Described(lambda: _signature(op, first, with_out))


def _signature(op: Op, first: str, with_out: bool) -> inspect.Signature:
    parameters = []
    for position, (name, default) in enumerate(zip(op.parameters, op.defaults, strict=True)):
        parameters.append(
            inspect.Parameter(
                first if name == "self" else name,
                inspect.Parameter.KEYWORD_ONLY
                if position >= op.keyword_only_from
                else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if default is REQUIRED else default,
            )
        )
    return inspect.Signature([*parameters, _OUT] if with_out else parameters)


def describe_with_out(function: Any, source: Callable[..., Any]) -> None:
    """Has `inspect` find the parameters of `source`, and `out`."""

    def describe() -> inspect.Signature:
        signature = inspect.signature(source)
        return signature.replace(parameters=[*signature.parameters.values(), _OUT])

    function.__wrapped__ = Described(describe)
