"""Random programs of views and writes: each step is a line of Python about tensors t0, t1, …"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from typing import Any

from tests.random_programs.drawing import Draw
from tests.random_programs.interpreter import Fact, Library, Twins

DTYPES = (
    "float32", "int64", "float64", "bool", "complex64", "uint8", "int32", "bfloat16", "float16", "int8", "int16",
    "complex128",
)  # fmt: skip
FORMATS = ("torch.contiguous_format", "torch.preserve_format", "torch.channels_last", "torch.channels_last_3d")

Step = Callable[[Draw, str, Any], str]
"""The expression or statement about a tensor, given its name and PyTorch's tensor."""


def made(draw: Draw, shape: tuple[int, ...], dtype: str | None = None) -> str:
    """A new tensor of a shape."""
    dtype = dtype or draw.of(DTYPES)
    numbers = f"(torch.arange({math.prod(shape)}) % 7 - 2).to(torch.{dtype})"
    return f"{numbers}.reshape({shape})"


def _dims(draw: Draw, x: Any, count: int = 2) -> str:
    return ", ".join(str(draw.dim(x.dim())) for _ in range(count))


def _size(draw: Draw, x: Any, dim: int) -> int:
    return int(x.shape[dim]) if x.dim() and -x.dim() <= dim < x.dim() else 1


def narrow(draw: Draw, name: str, x: Any) -> str:
    dim = draw.dim(x.dim())
    size = _size(draw, x, dim)
    start = draw.integer(-size - draw.seldom(), size)
    return f"{name}.narrow({dim}, {start}, {draw.integer(0, max(size - start % max(size, 1), 0) + draw.seldom())})"


def select(draw: Draw, name: str, x: Any) -> str:
    dim = draw.dim(x.dim())
    return f"{name}.select({dim}, {(draw.positions(1, _size(draw, x, dim)) or [0])[0]})"


def expand(draw: Draw, name: str, x: Any) -> str:
    sizes = [draw.integer(2, 3) if size == 1 and draw.of((True, False)) else draw.of((size, -1)) for size in x.shape]
    if draw.seldom():
        sizes = [size + 1 for size in sizes]
    return f"{name}.expand({tuple([draw.integer(1, 3) for _ in range(draw.integer(0, 2))] + sizes)})"


def diagonal(draw: Draw, name: str, x: Any) -> str:
    return f"{name}.diagonal({draw.integer(-3, 3)}, {_dims(draw, x)})"


def unfold(draw: Draw, name: str, x: Any) -> str:
    dim = draw.dim(x.dim())
    size = draw.integer(0, _size(draw, x, dim) + draw.seldom())
    return f"{name}.unfold({dim}, {size}, {draw.integer(1 - draw.seldom(), 3)})"


def as_strided(draw: Draw, name: str, x: Any) -> str:
    ndim = draw.integer(0, 3)
    size = tuple(draw.integer(1, 3) for _ in range(ndim))
    stride = tuple(draw.of((1, 2, 3, 0, 4)) for _ in range(ndim))
    offset = draw.of(("", ", 0", ", 1", ", 3"))
    return f"{name}.as_strided({size}, {stride}{offset})"


def part(draw: Draw, name: str, x: Any) -> str:
    dim = draw.dim(x.dim())
    size = _size(draw, x, dim)
    first = draw.integer(0, size)
    calls = (
        f"split({draw.integer(1, 3)}, {dim})",
        f"split([{first}, {size - first}], {dim})",
        f"chunk({draw.integer(1, 4)}, {dim})",
        f"unbind({dim})",
        f"tensor_split({draw.integer(1, 4)}, {dim})",
        f"tensor_split([1, 2], {dim})",
    )
    return f"{name}.{draw.of(calls)}[{draw.of((0, -1, 1))}]"


def unflatten(draw: Draw, name: str, x: Any) -> str:
    dim = draw.dim(x.dim())
    return f"{name}.unflatten({dim}, {draw.factors(_size(draw, x, dim)) or (1,)})"


def movedim(draw: Draw, name: str, x: Any) -> str:
    if x.dim() > 1 and draw.of((False, True)):
        return f"{name}.movedim({draw.order(x.dim())[:2]}, {draw.order(x.dim())[:2]})"
    return f"{name}.movedim({_dims(draw, x)})"


def squeeze(draw: Draw, name: str, x: Any) -> str:
    arguments = draw.of(("", _dims(draw, x, 1), str(draw.order(x.dim())[:2])))
    return f"{name}.squeeze({arguments})"


def reformat(draw: Draw, name: str, x: Any) -> str:
    format = draw.of(FORMATS)
    return f"{name}.{draw.of(('contiguous', 'clone', 'to'))}(memory_format={format})"


def view_as_dtype(draw: Draw, name: str, x: Any) -> str:
    """Not as bool, of which PyTorch leaves open what bytes other than 0 and 1 mean, nor as what is no number: sums with
    it give some NaN, of which the bits are left open, as are the signs of complex zeros.
    """
    kinds = [each for each in DTYPES if each != "bool" and each.startswith("complex") == x.is_complex()]
    line = f"{name}.view(torch.{draw.of(kinds)})"
    try:
        view = eval(line, {"torch": importlib.import_module("torch"), name: x})
    except RuntimeError:
        return line
    return name if view.isnan().any() else line


def converted(draw: Draw, name: str, x: Any) -> str:
    """Numbers beyond all integers to floats alone: what else they become, C++ leaves open."""
    size = x.abs() if x.is_complex() else x.double().abs()
    kinds = DTYPES if (size < 2**31).all() else [each for each in DTYPES if "float" in each or "complex" in each]
    return f"{name}.to(torch.{draw.of(kinds)})"


VIEWS: dict[str, Step] = {
    "view": lambda draw, name, x: f"{name}.view({draw.factors(x.numel())})",
    "reshape": lambda draw, name, x: f"{name}.reshape({draw.factors(x.numel())})",
    "transpose": lambda draw, name, x: f"{name}.transpose({_dims(draw, x)})",
    "permute": lambda draw, name, x: f"{name}.permute({draw.order(x.dim())})",
    "index": lambda draw, name, x: f"{name}[{draw.index(x.shape)}]",
    "slice": lambda draw, name, x: f"{name}[{draw.slice(_size(draw, x, 0))}]",
    "narrow": narrow,
    "select": select,
    "expand": expand,
    "squeeze": squeeze,
    "unsqueeze": lambda draw, name, x: f"{name}.unsqueeze({draw.dim(x.dim() + 1)})",
    "diagonal": diagonal,
    "unfold": unfold,
    "as_strided": as_strided,
    "part": part,
    "detach": lambda draw, name, x: f"{name}.detach()",
    "data": lambda draw, name, x: f"{name}.data",
    "parts of complex": lambda draw, name, x: f"{name}.{draw.of(('real', 'imag'))}",
    "conj": lambda draw, name, x: f"{name}.{draw.of(('conj()', 'mH', 'conj().imag'))}",
    "negative view": lambda draw, name, x: f"torch._neg_view({name})" if x.dtype.is_signed else name,
    "view_as_real": lambda draw, name, x: f"torch.view_as_real({name})",
    "view_as_complex": lambda draw, name, x: f"torch.view_as_complex({name})" if x.element_size() > 2 else name,
    "view(dtype)": view_as_dtype,
    "T": lambda draw, name, x: f"{name}.{draw.of(('t()', 'T', 'mT'))}",
    "movedim": movedim,
    "swapaxes": lambda draw, name, x: f"{name}.swapaxes({_dims(draw, x)})",
    "flatten": lambda draw, name, x: f"{name}.flatten({_dims(draw, x)})",
    "unflatten": unflatten,
    "ravel": lambda draw, name, x: f"{name}.ravel()",
    "atleast": lambda draw, name, x: f"torch.atleast_{draw.integer(1, 3)}d({name})",
    "reformat": reformat,
    "to": converted,
    "clone": lambda draw, name, x: f"{name}.clone()",
    "contiguous": lambda draw, name, x: f"{name}.contiguous()",
    "like": lambda draw, name, x: f"torch.{draw.of(('zeros_like', 'ones_like'))}({name})",
}


def _source(draw: Draw, x: Any, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> str:
    """A new tensor that can be broadcast to x, often of its dtype. No complex one for a float16, as in `_number`."""
    shape = draw.broadcastable(x.shape) if shape is None else shape
    others = DTYPES if x.element_size() > 2 else [each for each in DTYPES if not each.startswith("complex")]
    return made(draw, shape, dtype or draw.of((str(x.dtype).removeprefix("torch."), draw.of(others))))


def _number(draw: Draw, x: Any) -> str:
    """A Python number; a complex one seldom, and never for a float16: minitorch has no complex32."""
    numbers = (3, -1, 0, True, 2.5, 1e10, 1 + 2j)
    return str(draw.of(numbers if x.is_complex() or (x.element_size() > 2 and draw.seldom()) else numbers[:-1]))


def set_item(draw: Draw, name: str, x: Any) -> str:
    index = draw.index(x.shape, distinct=True)
    value = draw.of((_number(draw, x), _source(draw, x, tuple(x.shape[1:])), _source(draw, x, ())))
    return f"{name}[{index}] = {value}"


def index_put(draw: Draw, name: str, x: Any) -> str:
    accumulate = draw.of((False, True))
    if not x.dim():
        return f"{name}.index_put_((torch.tensor(True),), {_source(draw, x, ())})"
    places = draw.positions(draw.integer(1, 3), int(x.shape[0]))
    places = [max(-x.shape[0], min(place, x.shape[0] - 1)) for place in places[:-1]] + places[-1:]
    if not accumulate or (places and not -x.shape[0] <= places[-1] < x.shape[0]):
        places = places[-1:]  # PyTorch would write the others, and then refuse the last
    values = _source(draw, x, (len(places), *x.shape[1:]), str(x.dtype).removeprefix("torch."))
    return f"{name}.index_put_((torch.tensor({places}, dtype=torch.int64),), {values}, accumulate={accumulate})"


def masked_fill(draw: Draw, name: str, x: Any) -> str:
    value = draw.of((_number(draw, x), _source(draw, x, ())))
    return f"{name}.masked_fill_({draw.mask(draw.broadcastable(x.shape))}, {value})"


def scatter(draw: Draw, name: str, x: Any) -> str:
    dim = draw.integer(-x.dim(), x.dim() - 1) if x.dim() else 0
    size = _size(draw, x, dim)
    places = [abs(place) for place in draw.positions(1, size)]
    if not x.dim() or not places:
        return f"{name}.scatter_(0, torch.tensor(0), {_number(draw, x)})"
    shape = tuple(1 if d == dim % x.dim() else n for d, n in enumerate(x.shape)) if -x.dim() <= dim < x.dim() else (1,)
    index = f"torch.full({shape}, {places[0]})"
    source = _source(draw, x, shape, str(x.dtype).removeprefix("torch."))
    return f"{name}.{draw.of(('scatter_', 'scatter_add_'))}({dim}, {index}, {source})"


def index_add(draw: Draw, name: str, x: Any) -> str:
    dim = draw.dim(x.dim())
    places = [abs(place) for place in draw.positions(draw.integer(1, 2), _size(draw, x, dim))]
    places = [place % max(_size(draw, x, dim), 1) for place in places]  # PyTorch may write before it refuses one
    shape = list(x.shape)
    if shape and -len(shape) <= dim < len(shape):
        shape[dim] = len(places)
    source = _source(draw, x, tuple(shape), str(x.dtype).removeprefix("torch."))
    return f"{name}.index_add_({dim}, torch.tensor({places}, dtype=torch.int64), {source})"


def resize(draw: Draw, name: str, x: Any) -> str:
    return f"{name}.resize_({draw.shape()}); {name}.zero_()"


def squeeze_(draw: Draw, name: str, x: Any) -> str:
    """Of a conjugate or negative view all dimensions: with one, PyTorch moves its elements in memory, over others."""
    return f"{name}.squeeze_({'' if x.is_conj() or x.is_neg() else draw.of(('', _dims(draw, x, 1)))})"


def set_(draw: Draw, name: str, x: Any) -> str:
    return f"{name}.set_({_source(draw, x)})"


WRITES: dict[str, Step] = {
    "fill_": lambda draw, name, x: f"{name}.fill_({draw.of((_number(draw, x), _source(draw, x, ())))})",
    "zero_": lambda draw, name, x: f"{name}.zero_()",
    "add_": lambda draw, name, x: f"{name}.add_({draw.of((_number(draw, x), _source(draw, x)))})",
    "mul_": lambda draw, name, x: f"{name}.mul_({draw.of((_number(draw, x), _source(draw, x)))})",
    "iadd": lambda draw, name, x: f"{name} += {draw.of((_number(draw, x), _source(draw, x)))}",
    "neg_": lambda draw, name, x: f"{name}.{'square_' if x.is_complex() or x.dtype.itemsize == 1 else 'neg_'}()",
    "copy_": lambda draw, name, x: f"{name}.copy_({_source(draw, x)})",
    "setitem": set_item,
    "index_put_": index_put,
    "masked_fill_": masked_fill,
    "scatter_": scatter,
    "index_add_": index_add,
    "t_": lambda draw, name, x: f"{name}.t_()",
    "squeeze_": squeeze_,
    "unsqueeze_": lambda draw, name, x: f"{name}.unsqueeze_({draw.dim(x.dim() + 1)})",
    "transpose_": lambda draw, name, x: f"{name}.transpose_({_dims(draw, x)})",
    "as_strided_": lambda draw, name, x: as_strided(draw, name, x).replace("as_strided(", "as_strided_("),
    "resize_": resize,
    "set_": set_,
}

TWO: dict[str, str] = {
    "copy_": "{}.copy_({})",
    "add_": "{}.add_({})",
    "set_": "{}.set_({})",
    "setitem": "{}[...] = {}",
    "add": "{} + {}",
    "where": "torch.where({0} == {1}, {0}, {1})",
    "cat": "torch.cat([{}, {}])",
    "stack": "torch.stack([{}, {}])",
    "expand_as": "{}.expand_as({})",
    "view_as": "{}.view_as({})",
    "type_as": "{}.type_as({})",
    "lerp": "torch.mul({}, {})",
}

READS: dict[str, Step] = {
    "neg": lambda draw, name, x: f"+{name}" if x.is_complex() else f"-{name}",
    "mul": lambda draw, name, x: f"{name} * {draw.of((_number(draw, x), _source(draw, x)))}",
    "eq": lambda draw, name, x: f"{name} == {draw.of((_number(draw, x), _source(draw, x)))}",
    "sum": lambda draw, name, x: f"{name}.sum({draw.of(('', _dims(draw, x, 1)))})",
    "abs": lambda draw, name, x: f"{name}.{'square' if x.is_complex() else 'abs'}()",
    "flip": lambda draw, name, x: f"{name}.flip({_dims(draw, x, 1)})",
    "masked_fill": lambda draw, name, x: masked_fill(draw, name, x).replace("masked_fill_(", "masked_fill("),
    "full_like": lambda draw, name, x: f"torch.full_like({name}, 2)",
    "empty": lambda draw, name, x: f"torch.empty({draw.shape()}, memory_format={draw.of(FORMATS)}).zero_()",
}


def overlaps_itself(x: Any) -> bool:
    """Whether elements share a place without an expanded dimension: then their order decides what a write leaves."""
    if not x.numel() or any(step == 0 and size > 1 for step, size in zip(x.stride(), x.shape, strict=True)):
        return False
    axes = [
        range(0, size * step, step or 1) if size > 1 else (0,) for size, step in zip(x.shape, x.stride(), strict=True)
    ]
    return len({sum(place) for place in itertools.product(*axes)}) < x.numel()


def read_while_written(one: Any, other: Any) -> bool:
    """Whether PyTorch lets an op write to one tensor and read another in the same memory, in an order left open."""
    if one.shape != other.shape:  # then the other one is expanded, which PyTorch doesn't look into
        return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    same = one is other or (one.stride() == other.stride() and one.storage_offset() == other.storage_offset())
    dense = all(each.transpose(0, 0).clone().stride() == each.stride() for each in (one, other) if each.dim())
    return not same and not dense and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def step(draw: Draw, tensors: dict[str, Any], new: str) -> str:
    """The next line of a program."""
    if not tensors or (len(tensors) < 3 and draw.of((False, False, False, True))):
        return f"{new} = {made(draw, draw.shape())}"
    name = draw.of(list(tensors)[::-1])
    family = draw.of((VIEWS, WRITES, READS, TWO, VIEWS, WRITES, VIEWS))
    if family in (WRITES, TWO) and overlaps_itself(tensors[name]):
        family = READS
    kind = draw.of(list(family))
    if family is TWO:
        other = draw.of(list(tensors))
        if tensors[name].is_complex() != tensors[other].is_complex():
            other = name  # else complex32, which minitorch doesn't have, could be the result
        elif tensors[name].dtype != tensors[other].dtype or read_while_written(tensors[name], tensors[other]):
            other += ".clone()"  # in what order dtypes, shapes and shared memory are checked differs from op to op
        line = TWO[kind].format(name, other)
        return line if kind.endswith("_") or kind == "setitem" else f"{new} = {line}"
    line = family[kind](draw, name, tensors[name])
    return line if family is WRITES else f"{new} = {line}"


def _storage(library: Library, tensor: Any) -> str | None:
    """The name of the first tensor with the same storage."""
    storages = {name: each.untyped_storage() for name, each in library.tensors().items()}
    mine = tensor.untyped_storage()
    return next(
        name for name, each in storages.items() if each.data_ptr() == mine.data_ptr() and each.nbytes() == mine.nbytes()
    )


def _stride(library: Library, tensor: Any) -> tuple[int, ...]:
    """The strides. Without elements minitorch can't tell all zeros, as of `x.expand(0)`, from none given."""
    stride = tuple(tensor.stride())
    return stride if tensor.numel() or any(stride) else tuple(tensor.new_zeros(tensor.shape).stride())


def _formats(library: Library, tensor: Any) -> list[bool]:
    torch = library.variables["torch"]
    return [
        tensor.is_contiguous(memory_format=format)
        for format in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
    ]


def _values(library: Library, x: Any) -> str:
    """The values. The sign of a complex zero is left out, and how a complex product is rounded: both depend in PyTorch
    on where in memory the number lies.
    """
    complex_too = any(each.is_complex() for each in library.tensors().values())
    return repr(_unsigned(x.tolist()) if complex_too else x.tolist())


def _unsigned(values: Any) -> Any:
    return [_unsigned(each) for each in values] if isinstance(values, list) else f"{values + 0:.5g}"


FACTS: dict[str, Fact] = {
    "dtype": lambda library, x: str(x.dtype),
    "shape": lambda library, x: tuple(x.shape),
    "values": _values,
    "stride": _stride,
    "offset": lambda library, x: x.storage_offset(),
    "version": lambda library, x: x._version,
    "bits": lambda library, x: (x.is_conj(), x.is_neg()),
    "is_contiguous": _formats,
    "storage": lambda library, x: _storage(library, x) if x.untyped_storage().nbytes() else None,
    "storage's bytes": lambda library, x: x.untyped_storage().nbytes(),
    "has an address": lambda library, x: x.data_ptr() != 0,
    "base": lambda library, x: (x._is_view(), library.name_of(x._base)),
}


def program(draw: Draw, torch: Any, steps: int) -> None:
    twins = Twins(torch, FACTS)
    for number in range(draw.integer(1, steps)):
        twins.run(step(draw, twins.theirs.tensors(), f"t{number}"))
