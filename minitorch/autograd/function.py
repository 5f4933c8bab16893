"""Ops that users define: a forward, and a backward that computes the gradients of its inputs.

Source: https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.inplace import check_writable, rebase_history
from minitorch.autograd.node import Edge, Gradients, Node, gradient_edge
from minitorch.autograd.ownership import show
from minitorch.autograd.saved import FREED, PUSHED, SavedTensor, default_hooks
from minitorch.autograd.views import CUSTOM, MULTIPLE
from minitorch.dispatch import layers
from minitorch.dispatch.batched import levels
from minitorch.tensor import Tensor, make_tensor, make_view

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """The `ctx` of a Function: what forward hands to backward, and whatever the user puts there.

    It is an object apart from the node, so that no name of the user's meets one of the engine's.
    """

    to_save: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()
    """For each argument of `apply`, whether backward has to compute its gradient."""
    _materialize = True
    _saved: list[SavedTensor | None] | None = None

    def __init__(self, node: FunctionNode, args: Sequence[Any]) -> None:
        self._node = weakref.ref(node)  # the node holds this object
        self.needs_input_grad = tuple(isinstance(each, Tensor) and each.requires_grad for each in args)

    def __getattr__(self, name: str) -> Any:
        """In PyTorch, ctx and node are one: what a node tells is there too."""
        node = self.__dict__["_node"]()
        if name in ("metadata", "name", "next_functions", "register_hook", "register_prehook"):
            return getattr(node, name)
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for backward, guarded by their version counters. A second call replaces the first."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps nothing: it is for forward-mode differentiation, which there is none of."""

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs forward wrote to in place; they must be returned too."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient reaches backward as zeros (the default) or as None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept. Raises RuntimeError when it was modified since, or freed."""
        return tuple(None if each is None else each.unpack(self._node()) for each in self._raw_saved_tensors)

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor | None, ...]:
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple(self._saved)


class FunctionNode(Node):
    """The node that a Function leaves in the graph. Each Function has a subclass of its own, named as the node is."""

    function: ClassVar[type[Function]]

    def __init__(self, args: Sequence[Any]) -> None:
        self._are_tensors = tuple(isinstance(each, Tensor) for each in args)
        self._returned: Sequence[Any] = ()
        self.ctx = FunctionCtx(self, args)
        super().__init__([gradient_edge(each) for each in args if isinstance(each, Tensor)], ())

    def __getattr__(self, name: str) -> Any:
        """What is not the node's is its ctx's: `grad_fn.saved_tensors`."""
        return getattr(self.__dict__["ctx"], name)

    def name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def apply(self, grads: Gradients) -> Gradients:
        if self.ctx._materialize:
            grads = [
                _zeros(*like) if grad is None and like else grad
                for grad, like in zip(grads, self._returned, strict=True)
            ]
        show(grads)
        results = self.function._differentiated()(self.ctx, *grads)
        results = results if isinstance(results, tuple) else (results,)
        expected = len(self._are_tensors)
        if len(results) < expected or any(each is not None for each in results[expected:]):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)})"
            )
        gradients: list[Tensor | None] = []
        for position, (result, is_tensor) in enumerate(zip(results, self._are_tensors, strict=False), 1):
            if result is not None and not is_tensor:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {position}, but the "
                    "corresponding forward input was not a Variable"
                )
            if result is not None and not isinstance(result, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            if is_tensor:
                self._check_type(result, self.edges[len(gradients)])
                gradients.append(result)
        return gradients

    def _check_type(self, result: Tensor | None, edge: Edge | None) -> None:
        """Raises RuntimeError for a complex gradient of a real input."""
        if result is None or edge is None or not result._dtype.is_complex:
            return
        if not edge[0].outputs[edge[1]][1].is_complex:
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but "
                "got false.  (Could this error message be improved?  If so, please report an enhancement request to "
                "PyTorch.)"
            )

    def release(self) -> None:
        self.ctx._saved = None

    def save(self, outputs: Sequence[Any]) -> None:
        """Turns `to_save` into saved tensors. Of an input that is returned as it came, a view is the output."""
        kept: list[SavedTensor | None] = []
        for position, each in enumerate(self.ctx.to_save):
            if each is not None and not isinstance(each, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {position} is of type "
                    f"{type(each).__name__}"
                )
            saved = None if each is None else SavedTensor(each, _is_in(each, outputs))
            if saved is not None and PUSHED and default_hooks.pairs:
                saved.pack_by_default(self)
            kept.append(saved)
        self.ctx._saved, self.ctx.to_save = kept, ()


def _zeros(shape: tuple[int, ...], dtype: Any, device: Any) -> Tensor:
    return make_tensor(device.xp.zeros(shape, dtype.numpy), dtype, device)


class Function:
    """Subclass it with static methods `forward` and `backward`, and call `apply`.

    Either `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`.
    `backward(ctx, *grad_outputs)`, which may also be called `vjp`, gets a gradient for each value that forward returned
    and returns one for each argument, None where there is none.
    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    generate_vmap_rule = False
    _backward_cls: ClassVar[type[FunctionNode]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionNode,), {"function": cls})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def _differentiated(cls) -> Callable[..., Any]:
        """The one of `backward` and `vjp` that is defined."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward without recording its inside, and records this function as one node."""
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            args = (*args, *_by_position(cls.forward, len(args) + (not has_setup), kwargs))
        if layers.count and (running := levels()):
            return running[-1].run_function(cls, args)
        node = cls._backward_cls(args)
        ctx = node.ctx
        with no_grad():
            if has_setup:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        outputs = result if isinstance(result, tuple) else (result,)
        if grad_mode.asked and any(ctx.needs_input_grad):  # inference mode doesn't forbid it
            outputs = _recorded(node, args, outputs)
        return outputs if isinstance(result, tuple) else outputs[0]


def _by_position(forward: Callable[..., Any], count: int, kwargs: dict[str, Any]) -> list[Any]:
    """The arguments given by name, in the order of forward's parameters, of which `count` have one.

    Raises TypeError for names of none of them, and of parameters that are keywords only.
    """
    parameters = [
        each for each in inspect.signature(forward).parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    names = [each.name for each in parameters]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) < count:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max(map(names.index, kwargs))
    return [kwargs.get(each.name, each.default) for each in parameters[count : last + 1]]


def _is_in(tensor: Any, tensors: Sequence[Any]) -> bool:
    return any(tensor is each for each in tensors)


def _recorded(node: FunctionNode, args: Sequence[Any], returned: tuple[Any, ...]) -> tuple[Any, ...]:
    """The outputs with the node for their history. An input that forward returned as it came is returned as a view."""
    for position, each in enumerate(node.ctx.dirty_tensors):
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {position} is of type {type(each).__name__}"
            )
    if not all(_is_in(each, returned) for each in node.ctx.dirty_tensors):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    node._returned = [
        (each._array.shape, each._dtype, each._device) if isinstance(each, Tensor) else () for each in returned
    ]
    node.outputs = node._returned
    outputs = tuple(_output(node, number, each, args, returned) for number, each in enumerate(returned))
    recorded = [each for each in outputs if isinstance(each, Tensor) and each._grad_fn is node]
    for each in recorded if len(recorded) > 1 else ():
        if each._base is not None:
            each._view_made = MULTIPLE
    node.save(outputs)
    return outputs


def _output(node: FunctionNode, number: int, output: Any, args: Sequence[Any], returned: tuple[Any, ...]) -> Any:
    if not isinstance(output, Tensor):
        return output
    is_dirty = _is_in(output, node.ctx.dirty_tensors)
    differentiable = output._dtype.is_differentiable and not _is_in(output, node.ctx.non_differentiable)
    if is_dirty:
        _write_history(node, number, output, len(returned))
        return output
    if _is_in(output, args):
        if not differentiable:
            return output.detach()
        with no_grad():
            output = make_view(output, output._array)
    if output._base is not None:
        output._view_made = CUSTOM
    if differentiable:
        output._grad_fn, output._requires_grad, output._output_nr = node, True, number
    return output


def _write_history(node: FunctionNode, number: int, output: Tensor, count: int) -> None:
    """Makes the node the history of an input that forward wrote to."""
    if output.requires_grad and output.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if output._base is not None and count > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
            "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
            "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
            "second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you "
            "need help to do this change."
        )
    check_writable(output)
    output._bump_version()
    rebase_history(output, node)
    output._output_nr = number


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward whose own operations are not to be differentiated: a second derivative raises RuntimeError."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            results = backward(ctx, *grads)
        if not grad_mode.enabled or not any(isinstance(each, Tensor) and each.requires_grad for each in grads):
            return results
        outputs = results if isinstance(results, tuple) else (results,)
        guarded = tuple(_not_twice(each) if isinstance(each, Tensor) else each for each in outputs)
        return guarded if isinstance(results, tuple) else guarded[0]

    return wrapper


class _NotTwice(Node):
    def apply(self, grads: Gradients) -> Gradients:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _not_twice(tensor: Tensor) -> Tensor:
    alias = tensor._alias()
    alias._grad_fn = _NotTwice((), ((alias._array.shape, alias._dtype, alias._device),))
    alias._requires_grad = True
    return alias
