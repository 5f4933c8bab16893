"""The layer of a running `vmap`: it hands each op the examples of all its arguments at once.

How an op takes them is a rule of its family, in `rules`. An op without a rule runs once for each example, and its
results are stacked: that is right for every op, and slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minitorch.autograd.function import Function
from minitorch.dispatch import apply, layers
from minitorch.dispatch.batched import Level, batched
from minitorch.dispatch.layers import Below
from minitorch.dispatch.op import Op
from minitorch.func.rules import ARGUMENTS, COMPUTED, DYNAMIC, elementwise, examples, maps
from minitorch.ops.indexing.joining import stack
from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_map, tree_unflatten

RANDOMNESS = "error", "different", "same"

_UNMAPPED_TARGET = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
    "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
    "over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being "
    "called inside the PyTorch framework, please file a bug report instead."
)
_NO_RANDOMNESS = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
_EXTENDING = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What the `vmap` of a user-defined function is told of the call."""

    batch_size: int
    randomness: str


class Vmap(Level):
    """One running `vmap`.

    Args:
        size: the number of examples.
        randomness: whether random numbers are an "error", the "same" or "different" for the examples.
    """

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness = size, randomness

    def __call__(self, op: Op, args: Sequence[Any], below: Below) -> Any:
        if len(args) < op.schema.count:
            args = (*args, *op.schema.defaults_from[len(args)])
        in_place = below is apply.apply_in_place
        if "generator" in op.schema.positions:
            args = self._random(args, in_place)
        if not maps(self, args):
            return below(op, args)
        if in_place and not maps(self, args[0]):
            raise RuntimeError(_UNMAPPED_TARGET)
        if not in_place and below is not apply.apply:
            raise RuntimeError(
                f"Batching rule not implemented for aten::{op.name}.out; the fallback path doesn't work on out= or "
                "view ops."
            )
        if in_place and "generator" in op.schema.positions and self.randomness == "same":
            below(op, [(one := args[0]._value.select(0, 0).clone()), *args[1:]])
            args[0]._value.copy_(one)
            return args[0]
        results = self._at_once(op, args, below)
        if results is None:
            results = self._one_by_one(op, args, below)
        return args[0] if in_place else self._mapped(op, results)

    def _at_once(self, op: Op, args: Sequence[Any], below: Below) -> Any:
        """What the rule of the op computes, None where it has none for these arguments."""
        name = op.kernel.__name__
        if name in DYNAMIC:
            raise RuntimeError(
                "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
                f"aten::{op.aten_name(args)}. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
                "need this feature."
            )
        if name == "masked_select" and maps(self, args[1]):
            raise RuntimeError(
                "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because "
                "for each batch this would return a differently shaped Tensor. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues if you need this feature."
            )
        if name in COMPUTED:
            return None if below is apply.apply_in_place else COMPUTED[name](self, op, args, below)
        rule = ARGUMENTS.get(name, elementwise if op.memory.elementwise and not op.writes.edits else None)
        given = None if rule is None else rule(self, op, args)
        return None if given is None else below(op, given)

    def _one_by_one(self, op: Op, args: Sequence[Any], below: Below) -> Any:
        """What the op computes of each example, stacked. In place it writes to each."""
        results = [below(op, self._example(args, number)) for number in range(self.size or 1)]
        if below is apply.apply_in_place:
            return args[0]
        if isinstance(results[0], Tensor):
            return self._stacked(results)
        return tuple(self._stacked(each) for each in zip(*results, strict=True))

    def _stacked(self, examples: Sequence[Tensor]) -> Tensor:
        """The examples along a new first dimension. Without any there is one that shows their shape."""
        return stack(examples) if self.size else stack(examples).narrow(0, 0, 0)

    def _example(self, value: Any, number: int) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._example(each, number) for each in value] if maps(self, value) else value
        if not maps(self, value):
            return value
        return value._value.select(0, number) if self.size else value._value.new_zeros(value.shape)

    def _mapped(self, op: Op, results: Any) -> Any:
        """Results with the examples first as tensors of this level."""
        if isinstance(results, Tensor):
            return batched(results, self)
        wrapped = tuple(batched(each, self) if isinstance(each, Tensor) else each for each in results)
        return wrapped if op.outputs is None else op.outputs(*wrapped)

    # Random numbers, and functions of users.

    def _random(self, args: Sequence[Any], in_place: bool) -> Sequence[Any]:
        """The arguments of an op that draws random numbers, so that the examples get the same or different ones."""
        if self.randomness == "error":
            raise RuntimeError(_NO_RANDOMNESS)
        if self.randomness == "same" and maps(self, args if not in_place else args[1:]):
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input. Please file an issue "
                "with functorch"
            )
        if self.randomness == "same" or maps(self, args[0]):
            return args
        if in_place:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. If this is necessary for your usage, please file an issue with functorch."
            )
        return [batched(examples(self, each), self) if isinstance(each, Tensor) else each for each in args]

    def draw(self, create: Callable[[], Tensor]) -> Tensor:
        if self.randomness == "error":
            raise RuntimeError(_NO_RANDOMNESS)
        with layers.without((self,)):
            if self.randomness == "same":
                return create()
            return batched(stack([create() for _ in range(self.size)]), self)

    def run_function(self, function: type[Function], args: Sequence[Any]) -> Any:
        name = function.__name__
        with layers.without((self,)):
            if not maps(self, args):
                return function.apply(*args)
            if function.setup_context is Function.setup_context:
                raise RuntimeError(
                    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it "
                    f"must override the setup_context staticmethod. {_EXTENDING}"
                )
            if function.generate_vmap_rule:
                found = [function.apply(*self._example(args, number)) for number in range(self.size)]
                leaves = zip(*(tree_flatten(each)[0] for each in found), strict=True)
                spec = tree_flatten(found[0])[1]
                return tree_unflatten([batched(stack(each), self) for each in leaves], spec)
            if function.vmap is Function.vmap:
                raise RuntimeError(
                    f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement "
                    f"the vmap staticmethod or set generate_vmap_rule=True. {_EXTENDING}"
                )
            return self._by_rule(function.vmap, args, {})

    def run_operator(self, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What an operator of `torch.library` returns: by its own rule, or example by example."""
        with layers.without((self,)):
            if not maps(self, (*args, *kwargs.values())):
                return operator.run(args, kwargs)
            if operator.vmap is None:
                numbers = range(self.size or 1)
                named = [{key: self._example(each, i) for key, each in kwargs.items()} for i in numbers]
                found = [operator.run([self._example(each, i) for each in args], named[i]) for i in numbers]
                leaves = zip(*(tree_flatten(each)[0] for each in found), strict=True)
                spec = tree_flatten(found[0])[1]
                return tree_unflatten([batched(self._stacked(each), self) for each in leaves], spec)
            return self._by_rule(operator.vmap, args, kwargs)

    def _by_rule(self, rule: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a user's `vmap` gives of all examples at once."""
        dims = tree_map(lambda each: 0 if maps(self, each) else None, tuple(args))
        values = tree_map(lambda each: each._value if maps(self, each) else each, tuple(args))
        outputs, out_dims = rule(VmapInfo(self.size, self.randomness), dims, *values, **kwargs)
        return self._placed(outputs, out_dims)

    def _placed(self, outputs: Any, dims: Any) -> Any:
        """Outputs with their examples along these dimensions as tensors of this level."""
        if isinstance(outputs, (list, tuple)):
            several = dims if isinstance(dims, (list, tuple)) else [dims] * len(outputs)
            return tuple(self._placed(*each) for each in zip(outputs, several, strict=True))
        return outputs if dims is None else batched(outputs.movedim(dims, 0), self)
