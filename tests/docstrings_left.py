"""The public names whose docstring doesn't say all that `test_docstrings.py` asks for. No name may be added."""

from __future__ import annotations

_NAMES = {
    "torch": "detach from_numpy index_put index_put_",
}

LEFT = {f"{place}.{name}" for place, names in _NAMES.items() for name in names.split()}
