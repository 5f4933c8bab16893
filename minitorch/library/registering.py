"""`torch.library.Library`: operators by schema, and kernels for keys of the dispatcher.

Source: https://docs.pytorch.org/docs/stable/library.html#low-level-apis
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.devices import device
from minitorch.library import operators
from minitorch.library.custom_op import CustomOpDef, DeviceTypes, check_functional
from minitorch.library.gradients import AutogradKernel, GradientFormula
from minitorch.library.operators import ANY, AUTOGRAD, COMPOSITE, VMAP, OpNamespace, OpOverload, forget, kernels_of
from minitorch.library.schema import parsed
from minitorch.tags import Tag, listed

KINDS = "IMPL", "DEF", "FRAGMENT"
KEYS = {
    "CPU": "cpu", "CUDA": "cuda", "Meta": "meta", "CompositeExplicitAutograd": ANY,
    "CompositeImplicitAutograd": COMPOSITE, "": COMPOSITE,
}  # fmt: skip
"""Where the kernels of the dispatcher's keys are kept."""

RESERVED = "prim"
_defined: dict[str, str] = {}
_defining = threading.Lock()
_kept: list[Library] = []


class Library:
    """Operators of one namespace. What a library registered goes when the object does.

    Args:
        ns: the namespace.
        kind: "DEF" for the one library that owns the namespace, "FRAGMENT" for others that define operators in it,
            "IMPL" for one that only registers kernels.
        dispatch_key: the key of kernels that are registered without one.

    Raises:
        ValueError: an unknown kind, or a namespace that nobody may own.
        RuntimeError: the namespace has an owner.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], object]] = []
        if kind == "DEF":
            self._own(_caller())
            self._undo.append(lambda: _defined.pop(ns, None))
        self._destroy = weakref.finalize(self, _withdraw, self._undo)

    def _own(self, place: str) -> None:
        with _defining:
            if self.ns in _defined:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {self.ns}; please put all of "
                    "your definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, "
                    "consider using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define "
                    "operators for a single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to "
                    "explicitly indicate this.  Previous registration of TORCH_LIBRARY was registered at "
                    f"{_defined[self.ns]}; latest registration was registered at {place}"
                )
            _defined[self.ns] = place

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()) -> str:
        """Register the operator of a schema such as "scale(Tensor x, float by) -> Tensor". Returns its name.

        Raises:
            RuntimeError: the text is no schema, an operator of the name exists, or the library is for kernels alone.
            TypeError: something among the tags is none.
        """
        if self.kind == "IMPL":
            raise RuntimeError("def(): cannot define an operator inside of a TORCH_LIBRARY_IMPL block")
        operator = operators.define(parsed(schema, self.ns), listed(tags))
        self._undo.append(lambda: forget(operator))
        return operator.name().partition("::")[2]

    def impl(
        self, op_name: str | OpOverload, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Register a kernel for a key: "CPU", "CUDA", "Meta", "CompositeExplicitAutograd" for all devices, "Autograd"
        for what records, and "CompositeImplicitAutograd", the default, for a function of other operators.

        Raises:
            TypeError: `fn` can't be called.
            NotImplementedError: `with_keyset` is True, for there are no sets of keys to pass on.
            RuntimeError: there is no such key, or a kernel is there already.
        """
        if with_keyset:
            raise NotImplementedError("Library.impl: with_keyset is not supported")
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = self._qualified(op_name)
        key = dispatch_key or self.dispatch_key
        if key.startswith(AUTOGRAD):
            self._register(name, AUTOGRAD, AutogradKernel(fn))
            return
        if key not in KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        if KEYS[key] in kernels_of(name) and not allow_override:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{name.partition('::')[2]}'s behavior for {key or COMPOSITE} dispatch key and {self.ns} namespace."
            )
        self._register(name, KEYS[key], fn)

    def _qualified(self, op_name: str | OpOverload) -> str:
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        return name if "::" in name else f"{self.ns}::{name}"

    def _register(self, name: str, key: str, what: Any) -> None:
        """Put something into an operator's table, until this library goes or somebody else replaces it."""
        kernels = kernels_of(name)
        before, kernels[key] = kernels.get(key), what

        def undo() -> None:
            if kernels.get(key) is what:
                kernels.pop(key) if before is None else kernels.update({key: before})

        self._undo.append(undo)

    def _register_fake(self, op_name: str, fn: Callable[..., Any], *, allow_override: bool = False) -> None:
        self._register(self._qualified(op_name), "meta", fn)


def _withdraw(undo: list[Callable[[], object]]) -> None:
    """Take away what a library registered, the last first."""
    while undo:
        undo.pop()()


def _caller() -> str:
    """Where the program is that calls this package."""
    frame, own = sys._getframe(1), os.path.dirname(__file__)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Tag | Sequence[Tag] = ()) -> None:
    """Register the operator "namespace::name" with a schema without its name, such as "(Tensor x) -> Tensor".

    Raises:
        ValueError: `qualname` is no such name.
        RuntimeError: the schema is none, or the operator exists.
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    _library(qualname, lib).define(_parts(qualname)[1] + schema, tags=tags)


def _library(qualname: str, lib: Library | None) -> Library:
    """The library that was given, or one that stays."""
    if lib is None:
        lib = Library(_parts(qualname)[0], "FRAGMENT")
        _kept.append(lib)
    return lib


def _parts(qualname: str) -> tuple[str, str]:
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            "Expected `qualname` to be of the form 'namespace::name', but got "
            f"{qualname}. The qualname passed to the torch.library API must consist of a namespace and a name, e.g. "
            "aten::sin"
        )
    return parts[0], parts[1]


def impl(
    qualname: str, types: str | Sequence[str], func: Callable[..., Any] | None = None, *, lib: Library | None = None
) -> Any:
    """Register a kernel of "namespace::name" for devices ("cpu", "cuda", "default" for all) or keys such as "Autograd".

    Without `func` it is a decorator.

    Raises:
        RuntimeError: there is no such operator, device or key.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for each in [types] if isinstance(types, str) else types:
            known = each in KEYS or each.startswith(AUTOGRAD)
            key = each if known else "CompositeExplicitAutograd" if each == "default" else _key(each)
            _library(qualname, lib).impl(qualname, function, key)
        return function

    return register if func is None else register(func)


def _key(device_type: str) -> str:
    return {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}[device(device_type).type]


def operator_of(op: Any) -> OpOverload:
    """The operator that a name or an object stands for.

    Raises:
        AttributeError: there is none of this name.
        ValueError: it is something else.
    """
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, str):
        namespace, name = _parts(op)
        name, _, overload = name.partition(".")
        return getattr(getattr(OpNamespace(namespace), name), overload or "default")
    raise ValueError(f"expected op to be instance of str, OpOverload or CustomOpDef, got: {type(op)}")


def register_kernel(
    op: Any, device_types: DeviceTypes, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register a kernel of an operator, or of its name, for devices, None for all. Without `func` it is a decorator."""
    owner = _owner(op)
    if owner is not None:
        return owner.register_kernel(device_types, func)
    return impl(operator_of(op).name(), "default" if device_types is None else device_types, func, lib=lib)


def _owner(op: Any) -> CustomOpDef | None:
    """The custom operator that an object or name stands for."""
    if isinstance(op, CustomOpDef):
        return op
    owner: CustomOpDef | None = getattr(operator_of(op), "owner", None)
    return owner


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None, allow_override: bool = False
) -> Any:
    """Let a function say what an operator returns of tensors without data. Without `func` it is a decorator.

    Raises:
        RuntimeError: there is no such operator.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        owner = _owner(op)
        if owner is not None:
            return owner.register_fake(function)
        name = operator_of(op).name()
        _library(name, lib)._register_fake(name, function, allow_override=allow_override)
        return function

    return register if func is None else register(func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:  # fmt: skip
    """Compute an operator's gradients with `backward(ctx, *grads)`; `setup_context` keeps what it needs.

    Raises:
        RuntimeError: the operator writes to an argument, or there is none of this name.
    """
    owner = _owner(op)
    if owner is not None:
        owner.register_autograd(backward, setup_context=setup_context)
        return
    operator = operator_of(op)
    check_functional(operator, operator._schema)
    _library(operator.name(), lib)._register(operator.name(), AUTOGRAD, GradientFormula(backward, setup_context))


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Let `func(info, in_dims, *args)` compute a batch of an operator at once. Without `func` it is a decorator."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        owner = _owner(op)
        if owner is not None:
            owner.register_vmap(function)
            return function
        name = operator_of(op).name()
        _library(name, lib)._register(name, VMAP, function)
        return function

    if func is None:
        return register
    register(func)
    return None


def fallthrough_kernel() -> None:
    """Stands for "the next key" when it is registered. Raises NotImplementedError when it is called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")
