"""Compiled functions: which graph serves a call, and when another is captured.

Source: torch/_dynamo/convert_frame.py
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

from minitorch._dynamo import config, logs
from minitorch._dynamo.capture import Captured, capture
from minitorch._dynamo.continuing import Continuation, Family, Signature
from minitorch._dynamo.exc import Failed, FailOnRecompileLimitHit, Unsupported
from minitorch._dynamo.sizes import Changes
from minitorch._dynamo.utils import count_frame
from minitorch.arrays import gpus
from minitorch.autograd.anomaly_mode import anomaly
from minitorch.autograd.grad_mode import set_grad_enabled
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.saved import PUSHED
from minitorch.devices import cpu, tensor_device
from minitorch.dispatch import autocast, layers, overriding
from minitorch.dtypes import get_default_dtype
from minitorch.nn.modules.module import Module
from minitorch.random import get_rng_state, set_rng_state

log = logging.getLogger("torch._dynamo.convert_frame")
Backend = Callable[[Any, list[Any]], Callable[..., Any]]
_capturing = threading.RLock()


def is_ordinary() -> bool:
    """Whether nothing watches or changes operations: no layer, autocast, hook of saved tensors, anomaly mode or GPU.

    The layer of `__torch_function__` counts only inside a mode, since graphs take plain tensors alone.
    """
    return not (
        (layers.count and any(each is not overriding.ask for each in layers.stack.layers))
        or overriding.state.modes
        or autocast.state.enabled
        or PUSHED
        or anomaly.enabled
        or gpus.in_use
        or tensor_device(None) is not cpu
    )


def ambient() -> tuple[Any, ...]:
    """The modes that decide what operations do."""
    return grad_mode.enabled, grad_mode.asked, grad_mode.inference, get_default_dtype()


class Entry:
    """A graph with its guards, or the decision that a call which they fit runs eagerly."""

    def __init__(self, found: Captured, run: Callable[..., Any] | None) -> None:
        self.found, self.run = found, run
        self.ambient = ambient()
        self.check = found.guards.check()
        names = ", ".join(f"{each}" for each in found.inputs)
        text = f"def gathered(L, F):\n    return ({names}{',' if names else ''})\n"
        scope = dict(found.guards.constants)
        exec(compile(text, "<inputs>", "exec"), scope)
        self.gathered: Callable[..., tuple[Any, ...]] = scope["gathered"]
        self.build = found.build
        self.rest: Continuation | None = None

    def result(self, arguments: Mapping[str, Any], function: Any) -> Any:
        """Runs the graph. Returns what the function does, or what its rest needs."""
        assert self.run is not None
        return self.build(self.run(*self.gathered(arguments, function)), arguments, function)


class Compiled:
    """A function or module with the graphs that have been captured of it.

    Args:
        function: a Python function, a method of one, or a module.
        backend: makes a graph module and its example inputs a function.
        fullgraph: whether a function that can't be captured raises Unsupported.
        dynamic: whether sizes are symbols from the first graph on (True), never (False), or when they change (None).
        eager: what runs where no graph does, if not the function.
        family: the functions that are compiled along with this one.
    """

    def __init__(
        self,
        function: Any,
        backend: Backend,
        fullgraph: bool = False,
        dynamic: bool | None = None,
        eager: Callable[..., Any] | None = None,
        family: Family | None = None,
    ) -> None:
        self.eager = function if eager is None else eager
        self.function, self.backend, self.fullgraph, self.dynamic = function, backend, fullgraph, dynamic
        self.entries: list[Entry] = []
        self._changes = Changes(dynamic)
        source = type(function).forward if isinstance(function, Module) else getattr(function, "__func__", function)
        self.source = source if type(source) is FunctionType else None
        self._signature = Signature(self.source) if self.source is not None else None
        owner = function if isinstance(function, Module) else getattr(function, "__self__", None)
        self._owner = () if owner is None else (owner,)
        self.family = Family(lambda each: Compiled(each, backend, False, dynamic, None, self.family))
        if family is not None:
            self.family = family
        elif self.source is not None:
            self.family.add(self.source, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, computed by a graph that fits the call, which is captured if there is none."""
        if self._signature is None or config.disable or not is_ordinary():
            return self.eager(*args, **kwargs)
        arguments = self._signature.bind((*self._owner, *args), kwargs)
        entry = None if arguments is None else self.entry(arguments, self.function)
        if entry is None or arguments is None:
            return self.eager(*args, **kwargs)  # which raises the error of arguments that don't fit
        try:
            result = entry.result(arguments, self.function)
        except Failed:
            return self.eager(*args, **kwargs)  # which raises the error, after the effects that come before it
        return result if entry.rest is None else entry.rest.finish(result)

    def call(self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of another function of the same code."""
        arguments = self.family.signature(function).bind(args, kwargs)
        entry = None if arguments is None else self.entry(arguments, function)
        if entry is None or arguments is None:
            return function(*args, **kwargs)
        try:
            result = entry.result(arguments, function)
        except Failed:
            return function(*args, **kwargs)
        return result if entry.rest is None else entry.rest.finish(result)

    def entry(self, arguments: Mapping[str, Any], function: Any) -> Entry | None:
        """A graph that fits the call, which is captured if there is none; None if the function is to run eagerly."""
        now = ambient()
        for entry in self.entries:
            if entry.ambient == now and entry.check(arguments, function):
                return None if entry.run is None else entry
        if config.disable or not is_ordinary():
            return None
        added = self._captured(arguments, function)
        return None if added is None or added.run is None else added

    def _captured(self, arguments: Mapping[str, Any], function: Any) -> Entry | None:
        """A new entry, or None where there are too many of them."""
        with _capturing:
            name = getattr(self.source, "__qualname__", "")
            if self.entries:
                reason = self.entries[-1].found.guards.failed(arguments, function)
                if len(self.entries) >= config.recompile_limit:
                    self._limit(reason)
                    return None
                logs.recompile(self.source, len(self.entries), reason)
                self._changes.learn(arguments)
            dims, symbols = self._changes.symbolic(arguments)
            found = capture(function, arguments, dims, symbols, splits=not self.fullgraph)
            self._changes.remember(arguments)
            count_frame(found)
            if found.reason is not None or found.split is not None:
                logs.graph_break(found)
            if found.reason is not None and self.fullgraph:
                raise Unsupported(f"{found.reason}\n\nfrom user code:\n   {found.where}")
            logs.guards(found, name)
            entry = Entry(found, self._compiled(found))
            if found.split is not None:
                entry.rest = Continuation(found.split, self.family)
            found.forget_tensors()
            self.entries.append(entry)
            return entry

    def _compiled(self, found: Captured) -> Callable[..., Any] | None:
        if found.reason is not None:
            return None
        if found.module is None:  # the outputs, if any, are inputs
            assert found.graph is not None
            inputs = [each for each in found.graph.nodes if each.op == "placeholder"]
            places = [inputs.index(each) for each in found.graph.output_node().args[0]]
            return lambda *args: [args[place] for place in places]
        logs.graph(found.module)
        random = get_rng_state()
        run = self.backend(found.module, list(found.examples))
        set_rng_state(random)
        if any(each.target is set_grad_enabled for each in found.module.graph.nodes):
            run = restoring(run)
        return failing(run) if found.has_effects else run

    def _limit(self, reason: str) -> None:
        code = self.source.__code__ if self.source is not None else None
        text = (
            f"torch._dynamo hit config.recompile_limit ({config.recompile_limit})\n"
            f"   function: '{code.co_name if code else ''}' ({code.co_filename if code else ''}:"
            f"{code.co_firstlineno if code else 0})\n"
            f"   last reason: 0/{len(self.entries) - 1}: {reason}\n"
            'To log all recompilation reasons, use TORCH_LOGS="recompiles".'
        )
        if self.fullgraph:
            raise FailOnRecompileLimitHit(text)
        log.warning(text)

    def __reduce__(self) -> Any:
        return _nothing, ()  # a copy of a module that was compiled in place is not compiled, as in PyTorch

    def forget(self) -> None:
        """Forgets all graphs, and which sizes have changed."""
        self.entries.clear()
        self._changes = Changes(self.dynamic)
        self.family.forget(self)


def restoring(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function after which the grad mode is what it was, also where an operation fails in a `no_grad` block."""

    def restored(*args: Any) -> Any:
        before = grad_mode.asked
        try:
            return run(*args)
        finally:
            grad_mode.set(before, grad_mode.inference)

    return restored


def failing(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that raises Failed where an operation fails, with the random numbers that it has drawn put back."""

    def tried(*args: Any) -> Any:
        random = get_rng_state()
        try:
            return run(*args)
        except Exception as error:
            set_rng_state(random)
            raise Failed from error

    return tried


def _nothing() -> None:
    return None


def can_be_captured(function: Any) -> bool:
    """Whether something has Python code that capture can read."""
    return isinstance(function, (FunctionType, MethodType, Module))
