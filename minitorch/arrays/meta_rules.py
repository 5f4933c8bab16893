"""What NumPy's functions do with arrays of the meta device: the shape and type of a result, out of no elements.

What computes is given to NumPy with one more dimension, of size 0, in front: so NumPy's own rules make the result's
shape and type, at the same cost for every size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.arrays.errors import NoDataError
from minitorch.arrays.meta_array import Selected, ndarray
from minitorch.arrays.meta_places import like, place, shape_of


def _ordered(result: Any, inputs: Sequence[Any]) -> Any:
    """What was computed, in the memory order of the first array of its shape."""
    if isinstance(result, ndarray):
        same = next((each for each in inputs if isinstance(each, ndarray) and each.shape == result.shape), result)
        if not same.flags.c_contiguous:
            return ndarray(like(same._place, result.dtype), result._known)
    return result


def _written(result: Any, out: Any) -> Any:
    """The result, or what it is written into."""
    (target,) = out if isinstance(out, tuple) else (out,)
    if target is None:
        return result
    target[...] = result
    return target


# How NumPy's functions are called on no elements.


def _stand_in(value: Any, ndim: int = 0) -> Any:
    """What NumPy is given for an array: no elements of its shape, with so many dimensions before the first at least."""
    if isinstance(value, ndarray):
        return np.empty((0, *[1] * (ndim - value.ndim), *value.shape), value.dtype)
    return value


def _wrap(result: Any) -> Any:
    """What NumPy gave, without the dimension of size 0."""
    if isinstance(result, np.ndarray):
        return ndarray(place(result.shape[1:], result.dtype))
    if isinstance(result, tuple):
        return type(result)(*map(_wrap, result)) if hasattr(result, "_fields") else tuple(map(_wrap, result))
    return [_wrap(each) for each in result] if isinstance(result, list) else result


def _together(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Arguments that are broadcast together."""
    ndim = max(getattr(each, "ndim", 0) for each in (*args, *kwargs.values()))
    return _wrap(
        function(*(_stand_in(each, ndim) for each in args), **{k: _stand_in(v, ndim) for k, v in kwargs.items()})
    )


def _shifted(axis: Any, ndim: int) -> Any:
    """The axes of an array with one dimension more in front."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, (tuple, list)):
        return tuple(_shifted(each, ndim) for each in axis)
    return axis + 1 if axis >= 0 else axis


def _along(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of one array along dimensions, which are its second argument, or `axis`."""
    array, *rest = args
    axis = kwargs.pop("axis", None) if not rest else rest.pop(0)
    return _wrap(function(_stand_in(array), _shifted(axis, array.ndim), *rest, **kwargs))


def _rows(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The same, where the dimension is the last one if none is given, and a keyword."""
    if "axis" in kwargs:
        kwargs["axis"] = _shifted(kwargs["axis"], args[0].ndim)
    return _wrap(function(*map(_stand_in, args), **kwargs))


def _over(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The same of several dimensions, given as `axes`: Fourier transforms."""
    return _wrap(function(_stand_in(args[0]), **{**kwargs, "axes": _shifted(kwargs["axes"], args[0].ndim)}))


def _in_a_row(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The same, where all elements are one row if no dimension is given."""
    array, *rest = args
    axis = kwargs.pop("axis", None) if not rest else rest.pop(0)
    if axis is None:
        array, axis = array.reshape(-1), 0
    return _along(function, (array, axis, *rest), kwargs)


def _answer(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Whether any element is true, or all are; and extremes."""
    empty = function.__name__ in ("max", "min") and not args[0].size and args[0].ndim == 1
    result = ndarray(place((), args[0].dtype)) if empty else _along(function, args, kwargs)
    result._known = function.__name__ == "all" if result.dtype == bool else 0
    return result


def _view(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Views, which NumPy takes itself."""
    found = function(*(each._place if isinstance(each, ndarray) else each for each in args), **kwargs)
    if isinstance(found, np.ndarray):
        return ndarray(found)
    return type(found)(map(ndarray, found))


def _joined(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """One array of several."""
    arrays, *rest = args
    axis = rest[0] if rest else kwargs.pop("axis", 0)
    return _wrap(function([_stand_in(each) for each in arrays], axis=_shifted(axis, 0), **kwargs))


def _matmul(a: ndarray, b: ndarray) -> Any:
    rows, columns = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    result = _together(np.matmul, (rows, columns), {})
    result = result[..., 0, :] if a.ndim == 1 else result
    return result[..., 0] if b.ndim == 1 else result


def _dot(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    a, b = args
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    if a.shape[-1] != b.shape[max(0, b.ndim - 2)]:
        raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
    shape = a.shape[:-1] + (b.shape[:-2] + b.shape[-1:] if b.ndim > 1 else ())
    return ndarray(place(shape, np.result_type(a.dtype, b.dtype)))


def _take(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    array, indices, *rest = args
    axis = rest[0] if rest else kwargs.get("axis")
    if axis is None:
        return ndarray(place(shape_of(indices), array.dtype))
    axis %= array.ndim
    return ndarray(place(array.shape[:axis] + shape_of(indices) + array.shape[axis + 1 :], array.dtype))


def _take_along_axis(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    array, indices, *rest = args
    axis = (rest[0] if rest else kwargs["axis"]) % array.ndim
    others = [list(each.shape) for each in (array, indices)]
    others[0][axis] = indices.shape[axis]
    return ndarray(place(np.broadcast_shapes(*others), array.dtype))


def _repeat(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if isinstance(args[1], ndarray):
        raise NoDataError
    return _in_a_row(function, (args[0], *args[2:]), {**kwargs, "repeats": args[1]})


def _tile(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    array, times = args
    ones = np.ones(max(array.ndim, len(times)), int)
    shape, factors = ones.copy(), ones.copy()
    shape[len(ones) - array.ndim :], factors[len(ones) - len(times) :] = array.shape, times
    return ndarray(place(tuple(int(each) for each in shape * factors), array.dtype))


def _counts(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if args[0].size:
        raise NoDataError
    return ndarray(place((kwargs.get("minlength", 0),), "int64"))


def _places(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return Selected(place((0,), "int64"))


def _as_indices(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Places in a sorted row, of the shape of what is looked for."""
    return ndarray(place(args[1].shape, "int64"))


def _truths(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return ndarray(place(args[0].shape, bool))


def _like_it(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    given = dict(zip(("array", "dtype", "order", "subok", "shape"), args, strict=False)) | kwargs
    if function.__name__ == "full_like":
        given = dict(zip(("array", "value", "dtype", "order", "subok", "shape"), args, strict=False)) | kwargs
    array: Any = given.get("array", given.get("a"))
    kind = given.get("dtype") or array.dtype
    return ndarray(like(array._place, kind, given.get("order") or "K", given.get("shape")))


def _coordinates(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return tuple(ndarray(place(args[0].shape, "int64")) for _ in args[1])


def _type_of(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return np.result_type(*(each.dtype if isinstance(each, ndarray) else each for each in args))


def _nothing(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """What is written is nowhere."""


def _no_data(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise NoDataError


RULES: dict[str, Callable[..., Any]] = {
    name: rule
    for rule, names in (
        (_together, "where clip nan_to_num isposinf isneginf angle sinc round around real_if_close"),
        (_along, "sum prod mean var std median count_nonzero nansum nanprod roll"),
        (_answer, "any all max min amax amin"),
        (_in_a_row, "argmax argmin cumsum cumprod"),
        (_rows, "sort argsort partition argpartition diff tril triu"),
        (_over, "fftn ifftn rfftn irfftn"),
        (_view, "broadcast_to broadcast_arrays expand_dims moveaxis squeeze swapaxes transpose diagonal flip split"),
        (_joined, "concatenate stack"),
        (_together, "solve inv det slogdet eig eigh eigvals eigvalsh svd qr cholesky matrix_rank pinv"),
        (_dot, "dot"),
        (_take, "take"),
        (_take_along_axis, "take_along_axis"),
        (_repeat, "repeat"),
        (_as_indices, "searchsorted"),
        (_truths, "isin"),
        (_like_it, "empty_like zeros_like ones_like full_like"),
        (_coordinates, "unravel_index"),
        (_type_of, "result_type"),
        (_nothing, "copyto put_along_axis"),
        (_tile, "tile"),
        (_counts, "bincount"),
        (_places, "flatnonzero"),
        (_no_data, "nonzero argwhere unique"),
    )
    for name in names.split()
}


def _array_ufunc(self: ndarray, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    options.pop("where", None)
    if method == "at":
        return None
    if method == "outer":
        inputs = (np.expand_dims(inputs[0], tuple(range(-inputs[1].ndim, 0))), inputs[1])
    elif ufunc.__name__ == "matmul":
        return _written(_matmul(*inputs), out)
    elif method != "__call__":
        return _written(_along(getattr(ufunc, method), inputs, {"axis": 0, **options}), out)
    result = _together(ufunc, inputs, options)
    known = [each._known if isinstance(each, ndarray) else each for each in inputs]
    if isinstance(result, ndarray) and all(each is not None for each in known):
        result._known = ufunc(*known)
    return _written(_ordered(result, inputs), out)


def _array_function(self: ndarray, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    out = kwargs.pop("out", None)
    if (rule := RULES.get(function.__name__)) is None:
        raise NotImplementedError(f"the meta device has no {function.__name__}")
    return _written(rule(function, args, kwargs), out)


for _name, _function in (("__array_ufunc__", _array_ufunc), ("__array_function__", _array_function)):
    setattr(ndarray, _name, _function)
