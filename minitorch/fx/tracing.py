"""Symbolic tracing: a program runs on proxies, and what it does becomes a graph.

Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Tracer
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import minitorch
from minitorch.dispatch.declaration import NAMESPACES
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.node import Node
from minitorch.fx.patching import Patcher, recording, recording_operator
from minitorch.fx.proxy import Proxy, TracerBase
from minitorch.library.operators import OpOverload, OpOverloadPacket
from minitorch.nn.modules.container import Sequential
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
"""The functions that `wrap` named, by module and name, with the scope in which they are."""


@functools.cache
def _own_functions() -> dict[int, Any]:
    """Minitorch's public functions by their id, in the modules in which programs find them."""
    functions: dict[int, Any] = {}
    for module in _own_modules():
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and not name.startswith("_"):
                functions[id(value)] = value
    functions.update((id(each), each) for each in NAMESPACES["torch"].values())
    return functions


def _own_modules() -> list[ModuleType]:
    return [
        minitorch,
        *(importlib.import_module(f"minitorch.{name}") for name in ("nn.functional", "linalg", "special")),
    ]


class Tracer(TracerBase):
    """Traces a module or function into a graph. Subclasses may say what a leaf is, or add to nodes.

    Args:
        autowrap_modules: modules whose functions are recorded and not traced through.
        autowrap_functions: further such functions.
        param_shapes_constant: not supported; shapes of parameters are recorded.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self.root = Module()
        self._modules = list(autowrap_modules)
        found = [each for module in autowrap_modules for name, each in vars(module).items() if name[0] != "_"]
        self._functions = {id(each): each for each in (*found, *autowrap_functions) if callable(each)}
        self._constants: dict[Tensor, str] = {}
        self._parameters: dict[str, Proxy] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are recorded and not traced through: those of `torch.nn`, except Sequential."""
        return type(m).__module__.removeprefix("mini").startswith("torch.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module. Raises NameError if the root doesn't contain it."""
        for name, each in self.root.named_modules():
            if each is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What happens when a module is called: a leaf is recorded, another one runs."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """What the program sees of a module's attribute: a parameter's proxy."""
        if isinstance(attr_val, Parameter):
            for name, each in self.root.named_parameters():
                if each is attr_val:
                    if name not in parameter_proxy_cache:
                        parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
                    return parameter_proxy_cache[name]
        return attr_val

    def create_arg(self, a: Any) -> Any:
        """An argument as nodes keep it. Parameters, buffers and other tensors become nodes that read them."""
        if isinstance(a, Parameter):
            for name, each in self.root.named_parameters():
                if each is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            return self._constant(a)
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(each) for each in a), {})
        return super().create_arg(a)

    def _constant(self, tensor: Tensor) -> Node:
        """A node that reads a tensor which is neither parameter nor buffer: the root keeps it."""
        name = self._constants.get(tensor)
        if name is None:
            free = (f"_tensor_constant{number}" for number in itertools.count())
            name = self._constants[tensor] = next(each for each in free if not hasattr(self.root, each))
            setattr(self.root, name, tensor)
        return self.create_node("get_attr", name, (), {})

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function; `concrete_args` are values that stay as they are.

        Raises TraceError where control flow depends on a value.
        """
        function = type(root).forward if isinstance(root, Module) else root
        self.root = root if isinstance(root, Module) else Module()
        self.graph = Graph()
        self._parameters = {}
        self._constants = _tensors_of(self.root)
        scope = inspect.unwrap(function).__globals__
        hints = _hints(function)
        function, args = self._inputs(function, isinstance(root, Module), hints, concrete_args or {})
        call, read = Module.__call__, Module.__getattr__
        with Patcher() as patcher:

            def getattr_wrapper(mod: Module, attr: str) -> Any:
                return self.getattr(attr, read(mod, attr), self._parameters)

            def call_wrapper(mod: Module, *args: Any, **kwargs: Any) -> Any:
                patcher.wrap_functions(getattr(mod.forward, "__globals__", {}), self._functions | _own_functions())
                return self.call_module(mod, functools.partial(call, mod), args, kwargs)

            patcher.patch_method(Module, "__getattr__", getattr_wrapper)
            patcher.patch_method(Module, "__call__", call_wrapper)
            for kind in (OpOverload, OpOverloadPacket):
                patcher.patch_method(kind, "__call__", recording_operator(kind.__call__))
            for (_, name), module_scope in _wrapped.items():
                patcher.wrap_named(module_scope, name)
            functions = self._functions | _own_functions()
            patcher.wrap_functions(scope, functions)
            for module in (*self._modules, *_own_modules()):
                patcher.wrap_functions(vars(module), functions)
            for name, each in NAMESPACES["torch"].items():
                if name not in vars(minitorch):  # it comes when it is first asked for
                    patcher.patch(vars(minitorch), name, recording(each))
            result = self.create_arg(function(*args))
            self.create_node("output", "output", (result,), {}, None, hints.get("return"))
        return self.graph

    def _inputs(
        self, function: Callable[..., Any], is_module: bool, hints: dict[str, Any], concrete: dict[str, Any]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Placeholders for the parameters of a function, and the function that takes all of them by position."""
        parameters = list(inspect.signature(inspect.unwrap(function)).parameters.values())
        args: list[Any] = [self.root] if is_module else []
        starred = False
        for each in parameters[1:] if is_module else parameters:
            starred = starred or each.kind > each.POSITIONAL_OR_KEYWORD
            default = () if each.default is each.empty else (each.default,)
            stars = "*" * (1 if each.kind is each.VAR_POSITIONAL else 2 * (each.kind is each.VAR_KEYWORD))
            proxy = self.create_proxy("placeholder", stars + each.name, default, {}, type_expr=hints.get(each.name))
            args.append(concrete.get(each.name, proxy))
        if starred:
            hints.pop("return", None)  # which PyTorch loses here
            function = _by_position(inspect.unwrap(function), len(args))
        return function, args


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """A function's annotations; of minitorch's own only that something is a tensor."""
    source = inspect.unwrap(function)
    hints = inspect.get_annotations(source)
    if source.__module__.partition(".")[0] in ("minitorch", "torch"):
        return {name: Tensor for name, each in hints.items() if each == "Tensor"}
    return hints


def _by_position(function: Any, count: int) -> FunctionType:
    """The same function, whose keyword-only parameters and those with stars are positional: a proxy stands for all."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    patched = code.replace(co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags)
    return FunctionType(patched, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def _tensors_of(root: Module) -> dict[Tensor, str]:
    """The tensors that are plain attributes of modules, with their paths."""
    found = {}
    for path, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                found[value] = f"{path}.{name}" if path else name
    return found


def wrap(fn_or_name: Any) -> Any:
    """Has traces record calls of a global function, given itself or by name, instead of tracing through it.

    Raises NotImplementedError inside a function: it belongs at the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Traces a module or function. Returns a module that runs the graph.

    Raises TraceError where control flow depends on a value.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
