"""`torch.library.custom_op`: a Python function as an operator that autograd, vmap and the compiler take as one.

Source: https://docs.pytorch.org/docs/stable/library.html#torch.library.custom_op
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch.devices import device
from minitorch.dispatch.overriding import flat
from minitorch.library.gradients import GradientFormula
from minitorch.library.inferring import infer_schema
from minitorch.library.operators import ANY, AUTOGRAD, PACKETS, VMAP, define, forget, kernels_of
from minitorch.library.schema import FunctionSchema, parsed
from minitorch.tags import Tag, listed
from minitorch.tensor import Tensor

DeviceTypes = str | Sequence[str] | None

_ALIASES = (
    "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not alias "
    "any inputs to this custom operator or other returns. The most common way to trigger this error is if we have y = "
    "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s) "
    "(e.g. return x.clone()) or refactor the custom operator to not return y."
)


class CustomOpDef:
    """An operator that `custom_op` made of a function. Calling it calls the operator.

    Registering more on it replaces what was there: `register_kernel` for a device, `register_fake` for tensors without
    data, `register_autograd` for gradients, `register_vmap` for batches.
    """

    def __init__(
        self, namespace: str, name: str, schema: FunctionSchema, fn: Callable[..., Any], tags: Sequence[Tag]
    ) -> None:
        self._namespace, self._name, self._init_fn = namespace, name, fn
        previous = PACKETS.get(f"{namespace}::{name}")
        if previous is not None and "default" in previous._overloads:
            forget(previous._overloads["default"])
        kernels_of(self._qualname).clear()
        self._opoverload = define(schema, tags)
        self._opoverload.kernels[AUTOGRAD] = GradientFormula()
        self._opoverload.owner, self._opoverload.missing_fake = self, self._no_fake
        self._disabled: set[str] = set()
        self._backends: dict[str, Callable[..., Any]] = {}

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def _no_fake(self) -> Exception:
        return RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    def register_kernel(self, device_types: DeviceTypes, fn: Callable[..., Any] | None = None, /) -> Any:
        """Run `fn` on tensors of these devices ("cpu", "cuda" or several); None means all that have no other.

        Raises:
            RuntimeError: there is no such type of device.
            ValueError: the operator takes no tensor, whose device would say which kernel is meant, and no `device`.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            kinds = [device_types] if device_types is None or isinstance(device_types, str) else device_types
            takes_tensors = any(each.type.base == "Tensor" for each in self._opoverload._schema.arguments)
            takes_device = any(each.type.base == "Device" for each in self._opoverload._schema.arguments)
            if kinds != [None] and not takes_tensors and not takes_device:
                raise ValueError(
                    "Functions without tensor inputs are required to have a `device: torch.device` argument"
                )
            for each in kinds:
                key = ANY if each is None else device(each).type
                self._backends[key] = function
                self._opoverload.kernels[key] = self._checked(key, function)
            return function

        return register if fn is None else register(fn)

    def _checked(self, key: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel, whose results must not share memory with its arguments."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            chosen = self._init_fn if key in self._disabled else function
            results = chosen(*args, **kwargs)
            inputs = [each for each in flat((*args, *kwargs.values())) if isinstance(each, Tensor)]
            outputs = results if isinstance(results, (list, tuple)) else (results,)
            _check_memory(self._name, chosen, inputs, [each for each in outputs if isinstance(each, Tensor)])
            return results

        return kernel

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Let `fn` say what the operator returns of tensors without data: shapes, strides, dtypes and devices.

        `torch.compile`, `torch.export` and the meta device ask it.
        """
        self._opoverload.kernels["meta"] = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Compute gradients with `backward(ctx, *grads)`, which returns one for each argument by position.

        `setup_context(ctx, inputs, output)` keeps what backward needs; where the operator has arguments that are
        keywords only it gets `keyword_only_inputs`, too.

        Raises:
            RuntimeError: the operator writes to an argument.
        """
        check_functional(self, self._opoverload._schema)
        self._opoverload.kernels[AUTOGRAD] = GradientFormula(backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Let `func(info, in_dims, *args)` compute a batch at once; it returns the result and its dimension.

        Without it `torch.vmap` calls the operator for each example.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._opoverload.kernels[VMAP] = function
            return function

        if func is None:
            return register
        register(func)
        return None

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Run the function that the operator was made of, or not, in place of the kernel of a device in the block."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before


def check_functional(operator: object, schema: FunctionSchema) -> None:
    """Raises RuntimeError for a schema that writes to an argument: no formula can be registered for its operator."""
    if not schema.is_functional:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator} with schema {schema}. Please "
            "create a functional operator and register an autograd formula for that."
        )


def _check_memory(name: str, function: Callable[..., Any], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    """Raises RuntimeError where a result shares memory with an argument or another result."""
    known = {id(each.untyped_storage()) for each in inputs}
    for each in outputs:
        place = id(each.untyped_storage())
        if place in known:
            raise RuntimeError(f"{name} (with implementation in {inspect.getmodule(function)}): {_ALIASES}")
        known.add(place)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Any:
    """Make an operator of a function, which autograd, `torch.vmap` and `torch.compile` don't look into.

    Args:
        name: "namespace::name", under which `torch.ops.namespace.name` finds it.
        mutates_args: the names of the tensors that the function writes to, or "unknown": then all of them.
        device_types: the devices that the function is for, all by default.
        schema: what the operator takes and returns, without its name; by default the annotations say it.
        tags: what is said about the operator, beside `pt2_compliant_tag`.

    Returns:
        The operator as a `CustomOpDef`, or without `fn` a decorator.

    Raises:
        ValueError: the name has no namespace, the schema can't be inferred, or doesn't agree with `mutates_args`.
    """

    def define_it(function: Callable[..., Any]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, short = name.split("::")
        whole = parsed(f"{short}{text}", namespace)
        if schema is not None:
            written = {each.name for each in whole.arguments if each.is_write}
            if written != set(mutates_args):
                raise ValueError(
                    f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The "
                    f"schema suggests that the op mutates {written}which is different from what was provided to us in "
                    "`mutates_args`. Please make these consistent."
                )
        operator = CustomOpDef(namespace, short, whole, function, [Tag.pt2_compliant_tag, *listed(tags or ())])
        operator.register_kernel(device_types)(function)
        return operator

    return define_it if fn is None else define_it(fn)
