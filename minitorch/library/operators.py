"""Operators that users define: their registry, and what a call of one goes through.

A call asks `__torch_function__` first, then a running `vmap`, then autograd, and at last the kernel of the device.
Where a program says `torch.ops.mylib.scale` it means all overloads together, a packet; `.default` is the one without a
name.
Source: https://docs.pytorch.org/docs/stable/library.html
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from minitorch.autograd.graph import increment_version
from minitorch.devices import device
from minitorch.dispatch import layers
from minitorch.dispatch.batched import levels
from minitorch.dispatch.overriding import flat
from minitorch.library.conversion import bound, returned
from minitorch.library.gradients import UNRECORDED, GradientFormula
from minitorch.library.schema import FunctionSchema
from minitorch.overrides import handle_torch_function, has_torch_function
from minitorch.tags import Tag
from minitorch.tensor import Tensor

Kernel = Callable[..., Any]
COMPOSITE = "CompositeImplicitAutograd"
ANY = "any"
"""The key of a kernel for all devices that have none of their own."""

AUTOGRAD, VMAP = "Autograd", "FuncTorchBatched"
"""The keys of what computes gradients, and batches."""

_NO_FAKE = (
    "attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You may "
    "have run into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in "
    "order to use this operator with those APIs you'll need to add a fake impl. Please see the following for next "
    "steps:  https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)


class OpOverload:
    """An operator with one schema, which `_schema` holds. Calling it runs the kernel of its first tensor's device."""

    def __init__(self, packet: OpOverloadPacket, schema: FunctionSchema, tags: Iterable[Tag]) -> None:
        self._overloadpacket, self._schema = packet, schema
        self._overloadname = schema.overload_name or "default"
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch._ops.{self.namespace}"
        self.kernels = kernels_of(self.name())
        self.tags = [*tags]
        self.missing_fake: Callable[[], Exception] | None = None
        self.owner: Any = None  # the CustomOpDef, if there is one

    @property
    def formula(self) -> GradientFormula | None:
        """What computes its gradients; None where the operators that it calls do."""
        formula: GradientFormula | None = self.kernels.get(AUTOGRAD, None if COMPOSITE in self.kernels else UNRECORDED)
        return formula

    @property
    def vmap(self) -> Callable[..., Any] | None:
        """What computes a batch at once, if that was registered."""
        return self.kernels.get(VMAP)

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of this name."""
        return self._overloadpacket

    @property
    def namespace(self) -> str:
        """What stands before `::` in the name."""
        return self._schema.name.partition("::")[0]

    def name(self) -> str:
        """The name with its namespace, and the overload's if it has one."""
        return self._schema.name + f".{self._schema.overload_name}" * bool(self._schema.overload_name)

    def __str__(self) -> str:
        return f"{self._overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: dict[int, Any]) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return find, (self.name(),)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        objects = [*flat((*args, *kwargs.values()))]
        if has_torch_function(objects):
            return handle_torch_function(self, objects, *args, **kwargs)
        positional, keywords = bound(self._schema, args, kwargs)
        return self.run(positional, keywords)

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The call with converted arguments."""
        formula = self.formula
        if formula is None:
            return self.compute(args, kwargs)
        if layers.count and (running := levels()):
            return running[-1].run_operator(self, args, kwargs)
        return formula.apply(self, args, kwargs) if formula.applies(args) else self.compute(args, kwargs)

    def compute(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What the kernel returns, below autograd.

        Raises:
            NotImplementedError: the operator has no kernel for the device.
        """
        kernel = self.kernels.get(COMPOSITE) or self._kernel((*args, *kwargs.values()))
        results = returned(self._schema, kernel(*args, **kwargs))
        if self._schema.is_mutable:  # also where the kernel writes in a way that no tensor notices
            given = dict(zip((each.name for each in self._schema.arguments), args, strict=False)) | kwargs
            written = [given[each.name] for each in self._schema.arguments if each.is_write and each.name in given]
            increment_version([each for each in flat(written) if isinstance(each, Tensor)])
        return results

    def _kernel(self, values: Iterable[Any]) -> Kernel:
        where = next((each._device for each in flat(values) if isinstance(each, Tensor)), None)
        where = where or next((each for each in values if isinstance(each, device)), device("cpu"))
        kernel = self.kernels.get(where.type)
        if kernel is None and where.type == "meta" and self.missing_fake is not None:
            raise self.missing_fake()
        kernel = kernel or self.kernels.get(ANY)
        if kernel is None and where.type == "meta":
            raise NotImplementedError(f"{self.name()}: {_NO_FAKE}")
        if kernel is None:
            backend = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}[where.type]
            known = ", ".join(sorted({*self.kernels} - {AUTOGRAD, VMAP})) or "none"
            raise NotImplementedError(
                f"Could not run '{self.name()}' with arguments from the '{backend}' backend. This could be because the "
                "operator doesn't exist for this backend, or was omitted during the selective/custom build process (if "
                f"using custom build). '{self.name()}' is only available for these backends: [{known}]."
            )
        return kernel


class OpOverloadPacket:
    """All operators of one name, by overload. Calling it calls the first whose schema fits."""

    def __init__(self, namespace: str, name: str) -> None:
        self._qualified_op_name = f"{namespace}::{name}"
        self._path = f"{namespace}.{name}"
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"torch._ops.{namespace}"
        self._overloads: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return [*self._overloads]

    def __getattr__(self, name: str) -> OpOverload:
        found: OpOverload | None = self.__dict__.get("_overloads", {}).get(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self.__dict__.get('_path')}' has no overload name '{name}'")
        return found

    def __str__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._path}')>"

    def __iter__(self) -> Iterator[str]:
        return iter(self._overloads)

    def __deepcopy__(self, memo: dict[int, Any]) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return packet, (self._qualified_op_name,)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        objects = [*flat((*args, *kwargs.values()))]
        if has_torch_function(objects):
            return handle_torch_function(self, objects, *args, **kwargs)
        overloads = [*self._overloads.values()]
        for each in overloads[:-1]:
            try:
                positional, keywords = bound(each._schema, args, kwargs)
            except RuntimeError:
                continue
            return each.run(positional, keywords)
        return overloads[-1](*args, **kwargs)


class OpNamespace:
    """What `torch.ops.mylib` is: the packets of one namespace as attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"torch.ops.{name}"
        self.name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        found = PACKETS.get(f"{self.__dict__.get('name')}::{name}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.__dict__.get('name')}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> list[str]:
        return [each.__name__ for each in PACKETS.values() if each._qualified_op_name.startswith(f"{self.name}::")]

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


PACKETS: dict[str, OpOverloadPacket] = {}
"""All operators of users, by qualified name."""

_kernels: defaultdict[str, dict[str, Any]] = defaultdict(dict)
_registering = threading.Lock()


def define(schema: FunctionSchema, tags: Iterable[Tag] = ()) -> OpOverload:
    """Register an operator.

    Raises:
        RuntimeError: there is one of this name and overload.
    """
    namespace, _, name = schema.name.partition("::")
    with _registering:
        whole = PACKETS.setdefault(schema.name, OpOverloadPacket(namespace, name))
        overload = OpOverload(whole, schema, tags)
        if overload._overloadname in whole._overloads:
            raise RuntimeError(
                f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each "
                "overload's schema should only be registered with a single call to def()."
            )
        whole._overloads[overload._overloadname] = overload
    return overload


def forget(overload: OpOverload) -> None:
    """Take an operator away."""
    with _registering:
        whole = overload._overloadpacket
        if whole._overloads.get(overload._overloadname) is overload:
            del whole._overloads[overload._overloadname]
        if not whole._overloads:
            PACKETS.pop(overload._schema.name, None)


def kernels_of(qualified: str) -> dict[str, Any]:
    """What is registered for an operator, by key; before the operator is defined, too."""
    return _kernels[qualified.removesuffix(".default")]


def packet(qualified: str) -> OpOverloadPacket:
    """All overloads of a name such as "mylib::scale".

    Raises:
        RuntimeError: there are none.
    """
    found = PACKETS.get(qualified)
    if found is None:
        raise RuntimeError(f"operator {qualified} does not exist")
    return found


def find(qualified: str) -> OpOverload:
    """The operator of a name such as "mylib::scale" or "mylib::scale.out".

    Raises:
        RuntimeError: there is none.
    """
    name, _, overload = qualified.partition(".")
    found = packet(name)._overloads.get(overload or "default")
    if found is None:
        raise RuntimeError(f"operator {qualified} does not exist")
    return found
