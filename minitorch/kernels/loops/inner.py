"""NumPy's inner loops as functions that compiled loops can call.

A ufunc's structure has a table of C functions, one for each type, which NumPy filled with those for this processor's
vector instructions when it was imported. Compiled code calls them by the names that are given to them here, so that it
can be kept on disk.
Source: https://numpy.org/doc/stable/reference/c-api/types-and-structures.html#c.PyUFuncObject
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy._core import umath  # where `clip` is a ufunc, too

TYPES: Final = {types.float32: "f", types.float64: "d"}
"""The letters that stand for types in a ufunc's signatures."""

BYTE: Final = ir.IntType(8).as_pointer()
WORD: Final = ir.IntType(64)


class _UFunc(ctypes.Structure):
    """The first fields of PyUFuncObject."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    )


def _name_loops(ufunc: np.ufunc) -> str:
    """Makes the ufunc's loops for each of TYPES known to the compiler, and returns the beginning of their names.

    Raises ImportError where NumPy's structure isn't the one that is read here.
    """
    fields = _UFunc.from_address(id(ufunc))
    found = fields.nin, fields.nout, fields.ntypes
    if found != (ufunc.nin, ufunc.nout, ufunc.ntypes) or fields.name != ufunc.__name__.encode():
        raise ImportError(f"numpy.{ufunc.__name__} isn't laid out as PyUFuncObject of NumPy 2")
    name = f"minitorch_{ufunc.__name__}_"
    for letter in TYPES.values():
        signature = f"{letter * ufunc.nin}->{letter * ufunc.nout}"
        llvmlite.binding.add_symbol(name + letter, fields.functions[ufunc.types.index(signature)])
    return name


def _call(builder: Any, name: str, data: Sequence[Any], dimensions: Sequence[Any], steps: Sequence[int]) -> None:
    """A call of an inner loop: pointers to the operands, how often it goes around, and the bytes between elements."""
    arguments = []
    for values, kind in ((data, BYTE), (dimensions, WORD), (steps, WORD)):
        memory = cgutils.alloca_once(builder, ir.ArrayType(kind, len(values)))
        for place, value in enumerate(values):
            value = ir.Constant(WORD, value) if isinstance(value, int) else value
            builder.store(value, cgutils.gep_inbounds(builder, memory, 0, place))
        arguments.append(cgutils.gep_inbounds(builder, memory, 0, 0))
    kinds = [each.type for each in arguments]
    function = ir.FunctionType(ir.VoidType(), [*kinds, BYTE])
    loop = cgutils.get_or_insert_function(builder.module, function, name)
    builder.call(loop, [*arguments, ir.Constant(BYTE, None)])


def elementwise(name: str) -> Any:
    """A ufunc as a function `f(*operands, out)` of compiled code: it writes into `out`, which an operand may be.

    Operands are one-dimensional arrays without gaps, of one size and type, and numbers of that type.
    """
    prefix = _name_loops(getattr(umath, name))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *_, out = signature.args
        width = out.dtype.bitwidth // 8
        data, steps = [], []
        for kind, value in zip(signature.args, arguments, strict=True):
            if isinstance(kind, types.Array):
                array = context.make_array(kind)(context, builder, value)
                data.append(builder.bitcast(array.data, BYTE))
                steps.append(width)
            else:
                number = cgutils.alloca_once_value(builder, value)
                data.append(builder.bitcast(number, BYTE))
                steps.append(0)
        size = cgutils.unpack_tuple(builder, array.shape, 1)
        _call(builder, prefix + TYPES[out.dtype], data, size, steps)
        return context.get_dummy_value()

    def typed(*kinds: Any) -> Any:
        return types.void(*kinds), generate

    return intrinsic(
        {  # by the number of operands
            1: lambda _, x, out: typed(x, out),
            2: lambda _, x, y, out: typed(x, y, out),
            3: lambda _, x, y, z, out: typed(x, y, z, out),
        }[getattr(umath, name).nin]
    )


def _reduction(ufunc: np.ufunc) -> Any:
    name = _name_loops(ufunc)

    def function(_: Any, x: Any, start: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(x)(context, builder, arguments[0])
            total = cgutils.alloca_once(builder, arguments[1].type)
            builder.store(arguments[1], total)
            data = [builder.bitcast(each, BYTE) for each in (total, array.data, total)]
            size = cgutils.unpack_tuple(builder, array.shape, 1)
            _call(builder, name + TYPES[x.dtype], data, size, [0, x.dtype.bitwidth // 8, 0])
            return builder.load(total)

        return x.dtype(x, x.dtype), generate

    return intrinsic(function)


def _inner_product(ufunc: np.ufunc) -> Any:
    name = _name_loops(ufunc)

    def function(_: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = [context.make_array(x)(context, builder, each) for each in arguments]
            product = cgutils.alloca_once(builder, arrays[0].data.type.pointee)
            data = [builder.bitcast(each, BYTE) for each in (arrays[0].data, arrays[1].data, product)]
            one = ir.Constant(WORD, 1)
            shape = [
                one,
                one,
                *cgutils.unpack_tuple(builder, arrays[0].shape, 1),
                one,
            ]  # one product of 1 × n and n × 1
            step = x.dtype.bitwidth // 8
            _call(builder, name + TYPES[x.dtype], data, shape, [0, 0, 0, *[step] * 6])
            return builder.load(product)

        return x.dtype(x, y), generate

    return intrinsic(function)


exp: Final = elementwise("exp")
"""exp(x, out): out = eˣ, of two one-dimensional arrays without gaps, which may be the same."""

log: Final = elementwise("log")
"""log(x, out): out = ln x."""

add: Final = _reduction(np.add)
"""add(x, start): start + Σ x, pairwise."""

maximum: Final = _reduction(np.maximum)
"""maximum(x, start): the largest of start and the elements of x; NaN where one is NaN."""

dot: Final = _inner_product(np.matmul)
"""dot(x, y): Σ x · y, as matmul computes it."""

tanh: Final = elementwise("tanh")
"""tanh(x, out): out = tanh x."""
