"""A module that runs a graph.

Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.GraphModule
"""

from __future__ import annotations

import copy
import itertools
import linecache
from collections.abc import Mapping
from typing import Any

from minitorch.fx.codegen import PythonCode
from minitorch.fx.graph import Graph
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor

_numbers = itertools.count()


class GraphModule(Module):
    """A module whose `forward` is generated from a graph: `code` is its source.

    Args:
        root: a module, whose submodules, parameters and buffers the graph refers to are taken over, or a dictionary
            of them by path.
        graph: what runs. After changing it, call `recompile`.
        class_name: the name of the module's type.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # `forward` is an attribute of the type, so each graph has a type of its own.
        cls = next(each for each in cls.__mro__ if "forward" not in vars(each) or each is GraphModule)
        return super().__new__(type("GraphModuleImpl", (cls,), {}))

    def __init__(self, root: Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = type(self).__qualname__ = class_name
        targets = [each.target for each in graph.nodes if each.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                _copy(root, self, target)
        else:
            for target in sorted(dict.fromkeys(targets), key=lambda each: each.count(".")):
                if target not in root:
                    raise RuntimeError(f"Node referenced target {target} but that target was not provided in ``root``!")
                _assign(root[target], self, target)
        self.meta: dict[str, Any] = {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """What runs."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Generates `forward` again, after the graph has changed. Returns the code."""
        generated = self._graph.python_code("self")
        self._code = generated.src
        name = f"<eval_with_key>.{next(_numbers)}"
        source = generated.src
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # for tracebacks
        scope = {**generated.globals, "__name__": name}
        exec(compile(source, name, "exec"), scope)
        type(self).forward = scope["forward"]
        return generated

    def print_readable(self, print_output: bool = True) -> str:
        """The code as that of a class; printed, unless told otherwise."""
        lines = self._code.strip("\n").split("\n")
        text = (
            f"class {self._get_name()}(torch.nn.Module):\n" + "\n".join(f"    {line}".rstrip() for line in lines) + "\n"
        )
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Raises NotImplementedError: save the code and the state dict."""
        raise NotImplementedError("GraphModule.to_folder: write `code` and save `state_dict()`")

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, reminder])

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        root = Module()
        root.__dict__ = copy.deepcopy({key: each for key, each in self.__dict__.items() if key != "_graph"}, memo)
        result = GraphModule(root, copy.deepcopy(self._graph), self._get_name())
        result.meta = dict(self.meta)
        return result

    def __copy__(self) -> GraphModule:
        return GraphModule(self, self._graph, self._get_name())


def _copy(source: Any, target: Any, path: str) -> None:
    """Has a module refer to what another one has at a path."""
    *parents, name = path.split(".")
    for each in parents:
        source, existing = getattr(source, each), getattr(target, each, None)
        if existing is source:
            return
        if existing is None:
            setattr(target, each, Module())
        target = getattr(target, each)
    _set(target, name, getattr(source, name))


def _assign(value: Any, target: Any, path: str) -> None:
    *parents, name = path.split(".")
    for each in parents:
        if getattr(target, each, None) is None:
            setattr(target, each, Module())
        target = getattr(target, each)
    _set(target, name, value)


def _set(module: Any, name: str, value: Any) -> None:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)
