"""Guards: what must be true of a call for a captured graph to serve it.

A guard is an expression on the function's arguments `L`, its function `F` and constants. All guards of a graph make one
Python function. Source: torch/_dynamo/guards.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch.tensor import Tensor

MISSING = object()


class Guards:
    """The guards of one graph, in the order in which they were found."""

    def __init__(self) -> None:
        self.constants: dict[str, Any] = {"Tensor": Tensor, "copysign": math.copysign, "MISSING": MISSING}
        self.expressions: dict[str, tuple[str, Any]] = {}
        self.tensors: dict[str, Tensor] = {}
        self._names: dict[int, str] = {}

    def constant(self, value: Any, hint: str = "c") -> str:
        """The name of an object in guards."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"{hint}{len(self._names)}"
            self.constants[name] = value
        return name

    def add(self, expression: str, kind: str, detail: Any = None) -> None:
        """Adds a guard; `kind` and `detail` are for the log and for the reason of a recompile."""
        self.expressions.setdefault(expression, (kind, detail))

    def same(self, source: str, value: Any) -> None:
        """The object is this very one."""
        self.add(f"{source} is {self.constant(value)}", "ID_MATCH", source)

    def equal(self, source: str, value: Any) -> None:
        """The value has this type and is equal to this one."""
        kind = f"type({source}) is {self.constant(type(value), 't')}"
        if value is None or value is True or value is False or value is ...:
            self.add(f"{source} is {value!r}", "CONSTANT_MATCH", (source, value))
        elif isinstance(value, float) and value != value:
            self.add(f"{kind} and {source} != {source}", "EQUALS_MATCH", (source, value))
        elif isinstance(value, float) and value == 0:
            sign = math.copysign(1.0, value)
            self.add(f"{kind} and {source} == 0 and copysign(1.0, {source}) == {sign}", "EQUALS_MATCH", (source, value))
        else:
            self.add(f"{kind} and {source} == {self.constant(value)}", "EQUALS_MATCH", (source, value))

    def tensor(self, source: str, tensor: Tensor, dynamic: set[int]) -> None:
        """The tensor has this one's metadata; the dimensions in `dynamic` may be any but 0 and 1."""
        for earlier, other in self.tensors.items():
            relation = "is" if other is tensor else "is not"
            if earlier != source:
                self.add(f"{source} {relation} {earlier}", "TENSOR_ALIASING", (source, earlier))
        self.tensors[source] = tensor
        if tensor._base is None:  # nothing has to be looked up
            recorded, leaf = f"{source}._requires_grad", f"{source}._grad_fn is None"
        else:
            recorded, leaf = f"{source}.requires_grad", f"{source}.is_leaf"
        for expression, what in (
            (f"type({source}) is {self.constant(type(tensor), 't')}", "type"),
            (f"{source}._dtype is {self.constant(tensor._dtype)}", "dtype"),
            (f"{source}._device is {self.constant(tensor._device)}", "device"),
            (f"({source}._base is None) is {tensor._base is None}", "view"),
            (f"{recorded} is {tensor.requires_grad}", "requires_grad"),
            (f"{source}._bits == {tensor._bits!r}", "bits"),
            (f"({leaf}) is {tensor.is_leaf}", "leaf"),
        ):
            self.add(expression, "TENSOR_MATCH", (source, what))
        shape = tensor._array.shape
        if not dynamic:
            self.add(f"{source}._array.shape == {tuple(shape)!r}", "TENSOR_MATCH", (source, "size", tuple(shape)))
            self.add(f"{source}._array.strides == {tensor._array.strides!r}", "TENSOR_MATCH", (source, "stride"))
            return
        self.add(f"len({source}._array.shape) == {len(shape)}", "TENSOR_MATCH", (source, "rank"))
        for dim, size in enumerate(shape):
            test = ">= 2" if dim in dynamic else f"== {size}"
            self.add(f"{source}._array.shape[{dim}] {test}", "TENSOR_MATCH", (source, "dim", dim, size))
        contiguous = tensor.is_contiguous()
        self.add(f"{source}.is_contiguous() is {contiguous}", "TENSOR_MATCH", (source, "stride"))
        if not contiguous:
            order = sorted(range(len(shape)), key=lambda dim: tensor.stride(dim))
            self.add(
                f"sorted(range({len(shape)}), key=lambda dim: {source}.stride(dim)) == {order!r}",
                "TENSOR_MATCH",
                (source, "stride"),
            )

    def check(self) -> Callable[[Any, Any], bool]:
        """A function of the arguments and the function: whether all guards hold. What can't be read makes one fail."""
        tests = " and ".join(f"({each})" for each in self.expressions) or "True"
        body = f"return {tests}"
        text = (
            f"def check(L, F):\n    try:\n        {body}\n"
            "    except (AttributeError, KeyError, IndexError):\n        return False\n"
        )
        scope = dict(self.constants)
        exec(compile(text, "<guards>", "exec"), scope)
        checked: Callable[[Any, Any], bool] = scope["check"]
        return checked

    def failed(self, arguments: Any, function: Any) -> str:
        """The reason why a call doesn't fit, in PyTorch's words where it has some."""
        scope = dict(self.constants, L=arguments, F=function)
        for expression, (kind, detail) in self.expressions.items():
            try:
                if eval(expression, scope):
                    continue
            except (AttributeError, KeyError, IndexError):
                pass
            return _reason(expression, kind, detail, scope)
        return "unknown"


def readable(source: str) -> str:
    """A source as PyTorch writes it in messages: `L['x']` is `x`."""
    return source[3:-2] if source.startswith("L['") and source.count("[") == 1 else source


def _reason(expression: str, kind: str, detail: Any, scope: dict[str, Any]) -> str:
    if kind == "TENSOR_MATCH":
        source, what = detail[:2]
        name = readable(source)
        tensor = eval(source, scope)
        if not isinstance(tensor, Tensor):
            return expression
        if what in ("size", "dim"):
            sizes = detail[2] if what == "size" else ()
            now = tuple(tensor.shape)
            if sizes and len(sizes) != len(now):
                return f"tensor '{name}' rank mismatch. expected {len(sizes)}, actual {len(now)}"
            at = detail[2] if what == "dim" else next(i for i, size in enumerate(sizes) if size != now[i])
            expected = detail[3] if what == "dim" else sizes[at]
            return f"tensor '{name}' size mismatch at index {at}. expected {expected}, actual {now[at]}"
        if what == "rank":
            return f"tensor '{name}' rank mismatch"
        if what == "requires_grad":
            return f"tensor '{name}' requires_grad mismatch. expected requires_grad={int(not tensor.requires_grad)}"
        return f"tensor '{name}' {what} mismatch"
    return expression
