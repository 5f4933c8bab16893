"""Writes `minitorch/methods.pyi`: the signatures of the methods that ops declare, for editors and type checkers.

    python -m minitorch.dispatch.stub

`tests/dispatch/test_stub.py` looks whether the file is as it would be written now.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import minitorch
from minitorch.dispatch.declaration import METHODS
from minitorch.dispatch.signatures import Described

FILE = Path(minitorch.__file__).with_name("methods.pyi")

_HEAD = '''"""The methods of tensors that ops declare, as `python -m minitorch.dispatch.stub` wrote them."""

from typing import Any

from minitorch.tensor import Tensor

# Methods of these names hide the types inside the class.
_bool = bool
_int = int
_float = float

class Methods:
'''
OPERATORS = {name for name in METHODS if name.startswith("__")} - {"__reduce_ex__", "__setitem__"}
_KINDS = {
    **dict.fromkeys(("Array", "BoolArray", "Tensor"), "Tensor"),
    "bool": "_bool",
    "int": "_int",
    "float": "_float",
    "None": "None",
}


def text() -> str:
    """The whole file."""
    return _HEAD + "\n".join(_stub(name, METHODS[name]) for name in sorted(METHODS) if not _is_left_out(name)) + "\n"


def _is_left_out(name: str) -> bool:
    """Whether a method is declared elsewhere for type checkers, or is none of instances."""
    return name == "__reduce_ex__" or isinstance(METHODS[name], (classmethod, staticmethod))


def _stub(name: str, method: Any) -> str:
    if isinstance(method, property):
        return f"    @property\n    def {name}(self) -> Any: ..." + _setter(name, method)
    described = inspect.unwrap(method, stop=lambda each: isinstance(each, Described))
    declared = described.annotations if isinstance(described, Described) else described.__annotations__
    parameters = [each for each in inspect.signature(method).parameters.values() if each.name != "out"]
    shown = ", ".join(_parameters(parameters, declared))
    # `object` says of == that it gives a bool.
    ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    returned = "Tensor" if name in OPERATORS else _kind(declared.get("return", Any))
    return f"    def {name}({shown}) -> {returned}: ...{ignored}"


def _setter(name: str, method: property) -> str:
    return "" if method.fset is None else f"\n    @{name}.setter\n    def {name}(self, value: Any) -> None: ..."


def _parameters(parameters: list[inspect.Parameter], declared: dict[str, Any]) -> list[str]:
    shown, keyword_only = ["self"], False
    for each in parameters[1:]:
        star = "**" if each.kind is each.VAR_KEYWORD else "*" * (each.kind is each.VAR_POSITIONAL)
        star = star or "*" * (declared.get(each.name) == "Variadic")
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            shown.append("*")
        keyword_only = keyword_only or star == "*" or each.kind is each.KEYWORD_ONLY
        default = "" if each.default is each.empty or star else " = ..."
        shown.append(f"{star}{each.name}: {_kind(declared.get(each.name), optional=True)}{default}")
    return shown


def _kind(annotation: Any, optional: bool = False) -> str:
    """The type to show: what a formula's parameters are is looser than what kernels are given."""
    kind = _KINDS.get(str(annotation), "Any")
    return "Any" if optional and kind != "_bool" else kind


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
