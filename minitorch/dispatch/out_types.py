"""What `out=` of another type means: elementwise ops and linear algebra cast their result, sums compute in the type of
`out`, others refuse, as PyTorch's.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.dispatch.op import CASTS, COMPUTES, COMPUTES_FLOATS, Op
from minitorch.dtypes import C_NAMES, FLOATING, FROM_NUMPY, SCALAR_TYPES, bool_, uint8
from minitorch.tensor import Tensor

SAME_TYPE = "same type"
"""Refused, as by elementwise ops of one operand."""
OBJECT, WHERE, BOOL_ALONE, OF_BOOLS, LIKE_INPUT = "object", "where", "bool", "bools", "like input"
"""Refused, in other words each; `all` and `any` take uint8 as well."""
_WORDS = {
    SAME_TYPE: "Found dtype {theirs} but expected {own}",
    OBJECT: "Expected object of scalar type {own} but got scalar type {theirs} for argument 'out'",
    WHERE: "Expected out type to be {own} but got {theirs}",
    BOOL_ALONE: "{name} does not support non-boolean outputs.",
    LIKE_INPUT: "{name}: dtype of out: {theirs} should be same as input: {own}",
    OF_BOOLS: "{name} only supports bool tensor for result, got: {theirs}",
}


def check_out_type(rule: str, name: str, target: Tensor, array: Any) -> None:
    """Raises RuntimeError where an op doesn't cast its result to the type of the tensor given as `out`; `rule` is the
    op's option `out_type`.
    """
    if array.dtype == target._dtype.numpy or rule in (CASTS, COMPUTES, COMPUTES_FLOATS):
        return
    own, theirs = FROM_NUMPY[array.dtype], target._dtype
    if rule == OF_BOOLS and {own, theirs} == {bool_, uint8}:
        return
    words = _WORDS.get(rule, "Expected out tensor to have dtype {c_own}, but got {c_theirs} instead")
    names = {"own": SCALAR_TYPES[own.name], "theirs": SCALAR_TYPES[theirs.name], "name": name}
    raise RuntimeError(words.format(c_own=C_NAMES[own.name], c_theirs=C_NAMES[theirs.name], **names))


def in_type_of(out: Any, op: Op, args: Sequence[Any]) -> Sequence[Any]:
    """The arguments of an op that COMPUTES, with the type of `out` as their `dtype`.

    Raises RuntimeError for another type that is stated. What COMPUTES_FLOATS leaves integers to the cast, which refuses
    most.
    """
    if not isinstance(out, Tensor) or (op.writes.out_type == COMPUTES_FLOATS and out._dtype.category < FLOATING):
        return args
    place = list(op.schema.parameters).index("dtype")
    given = [*args, *op.schema.defaults_from[len(args)]]
    if given[place] not in (None, out._dtype):
        one, other = C_NAMES[given[place].name], C_NAMES[out._dtype.name]
        raise RuntimeError(f"Expected out tensor to have dtype {one}, but got {other} instead")
    given[place] = out._dtype
    return given
