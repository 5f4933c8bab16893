"""What CuPy offers, read from the CuPy that is installed: `python tests/arrays/read_cupy.py` writes it down.

The simulated GPUs let through what is in that file and nothing else. CuPy imports without a GPU.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "minitorch" / "arrays" / "cupy_interface.json"

MODULES = ("", "fft", "lib.stride_tricks", "linalg")
SPECIAL_METHODS = ("__getitem__", "__setitem__")


def interface() -> dict[str, Any]:
    """The functions, ufuncs, values and array methods of CuPy, with their parameters and types."""
    import cupy

    functions, ufuncs, values = {}, {}, []
    for module in MODULES:
        where = cupy
        for part in filter(None, module.split(".")):
            where = getattr(where, part)
        for name in dir(where):
            thing, full = getattr(where, name), f"{module}.{name}".lstrip(".")
            if name.startswith("_") or inspect.ismodule(thing):
                continue
            if isinstance(thing, cupy.ufunc):
                ufuncs[full] = thing.types
            elif inspect.isclass(thing) or not callable(thing):
                values.append(full)
            elif (text := parameters(thing)) is not None:
                functions[full] = text
    methods = {
        name: text
        for name in dir(cupy.ndarray)
        if not name.startswith("_") and callable(getattr(cupy.ndarray, name))
        if (text := parameters(getattr(cupy.ndarray, name))) is not None
    }
    attributes = [n for n in dir(cupy.ndarray) if not n.startswith("_") and not callable(getattr(cupy.ndarray, n))]
    return {
        "version": cupy.__version__,
        "attributes": attributes,
        "functions": functions,
        "methods": methods,
        "ufuncs": ufuncs,
        "values": values,
    }


def parameters(function: Any) -> str | None:
    """The parameters, `...` in place of the defaults; of compiled functions from the first line of the docstring."""
    try:
        text = str(inspect.signature(function))
    except (TypeError, ValueError):
        first = (inspect.getdoc(function) or "").partition("\n")[0]
        if (found := re.match(r"[\w.]+(\(.*\))", first)) is None:
            return None
        text = re.sub(r"\b(?:_ndarray_base|Py_ssize_t|int|bool|tuple|object) (?=\w)", "", found[1])
    try:
        signature = inspect.signature(eval(f"lambda {strip_defaults(text)}: None"))
    except SyntaxError:
        return None
    return str(signature)[1:-1].replace("Ellipsis", "...")


def strip_defaults(text: str) -> str:
    """`(a, axis=None) -> b` as `a, axis=...`."""
    inner = text[1 : text.rindex(")")]
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(inner + ","):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(inner[start:place].strip())
            start = place + 1
    plain = []
    for part in filter(None, parts):
        name, equals, _ = part.partition("=")
        plain.append(name.partition(":")[0].strip() + ("=..." if equals else ""))
    return ", ".join(plain)


if __name__ == "__main__":
    FILE.write_text(json.dumps(interface(), indent=1) + "\n", encoding="utf-8")
