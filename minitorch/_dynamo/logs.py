"""What the compiler says of itself where `TORCH_LOGS` asks for it: graph_breaks, guards, recompiles, graph_code,
output_code. Source: https://docs.pytorch.org/docs/stable/logging.html
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitorch._dynamo.capture import Captured


def asked(artifact: str) -> bool:
    """Whether `TORCH_LOGS` names an artifact."""
    return artifact in (each.strip("+- ") for each in os.environ.get("TORCH_LOGS", "").split(","))


def say(artifact: str, text: str) -> None:
    """Prints each line of a text on stderr, with the artifact's name before it."""
    if asked(artifact):
        sys.stderr.write("".join(f"[__{artifact}] {line}\n" for line in text.splitlines()))


def graph_break(found: Captured) -> None:
    """Why a graph ends, or a function runs eagerly."""
    why = found if found.split is None else found.split.stop
    say("graph_breaks", f"Graph break in user code at {why.where}\nGraph Break Reason: {why.reason}")


def guards(found: Captured, name: str) -> None:
    """The guards of a new graph."""
    if asked("guards"):
        lines = [f"{kind}: {expression}" for expression, (kind, _) in found.guards.expressions.items()]
        say("guards", "\n".join([f"GUARDS: {name}", *(f"| +- {line}" for line in lines)]))


def recompile(function: Any, count: int, reason: str) -> None:
    """Why a new graph is captured."""
    code = function.__code__
    say(
        "recompiles",
        f"Recompiling function {code.co_name} in {code.co_filename}:{code.co_firstlineno}\n"
        f"    triggered by the following guard failure(s):\n    - 0/{count - 1}: {reason}",
    )


def graph(module: Any) -> None:
    """The captured graph."""
    if asked("graph_code"):
        say("graph_code", "TRACED GRAPH\n" + module.print_readable(print_output=False))


def output_code(text: str) -> None:
    """The generated code."""
    say("output_code", "Output code:\n" + text)
