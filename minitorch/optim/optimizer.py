"""What all optimizers share: groups of parameters, the state kept for each of them, hooks, and how both are saved.

Source: https://pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minitorch.autograd.grad_mode import enable_grad
from minitorch.autograd.hooks import Hooks, RemovableHandle
from minitorch.backend import Array
from minitorch.devices import cpu
from minitorch.dtypes import float32, float64, get_default_dtype
from minitorch.tensor import Tensor, make_tensor

Parameters = Iterable[Any]
"""Tensors, or (name, tensor) pairs, or dicts with such under "params" and options of the group."""
Group = dict[str, Any]
Closure = Callable[[], Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _Required()
"""The default of an option that every group must state."""

BLOCK = 2**17
"""Elements updated at once: what an update reads and writes of them stays in the cache."""


class Optimizer:
    """The base of all optimizers: a subclass gives the options' defaults and defines `step`.

    `params` are tensors to optimize, or dicts, each a group with its own options. Raises TypeError for anything else,
    ValueError for no parameters, for non-leaf tensors, and for a parameter in two groups.
    Source: https://pytorch.org/docs/stable/optim.html#torch.optim.Optimizer
    """

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        for name in ("differentiable", "capturable"):
            if defaults.get(name):
                raise NotImplementedError(f"{type(self).__name__}: {name}=True is not supported")
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + _typename(params)
            )
        self.defaults = defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self._make_hooks()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    _opt_called = False
    """Whether `step` was ever called, which learning rate schedulers ask."""

    # Parameter groups

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group; options that it doesn't state are the defaults. Raises TypeError and ValueError as __init__."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        entries = [given] if isinstance(given, Tensor) else list(given)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        parameters = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        if names and len(names) != len(parameters):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        for parameter in parameters:
            _check_parameter(parameter)
        param_group["params"] = parameters
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_distinct(param_group)
        self.param_groups.append(param_group)

    def _check_distinct(self, new: Group) -> None:
        identities = set(map(id, new["params"]))
        if len(identities) != len(new["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                which = "with names" if "param_names" in new else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {which} to the optimizer"
                )
        if any(id(each) in identities for group in self.param_groups for each in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    # The update

    def step(self, closure: Closure | None = None) -> Any:
        """Updates all parameters that have a gradient. `closure` computes the loss anew; its value is returned."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients: `.grad` becomes None, or zero where `set_to_none` is false."""
        for group in self.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if set_to_none:
                    parameter.grad = None
                else:
                    grad = grad.requires_grad_(False) if grad.grad_fn is None else grad.detach_()
                    grad.zero_()

    def _evaluate(self, closure: Closure | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _gradients(self) -> Iterator[tuple[Group, Tensor, Array, Array]]:
        """Group, parameter, the parameter's elements and its gradient's, for every parameter that has a gradient.

        The parameter's are to be overwritten: its version is counted. `maximize` negates the gradient.
        """
        for group in self.param_groups:
            maximize = group.get("maximize", False)
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is not None:
                    value, slope = parameter._elements, grad._elements
                    yield group, parameter, value, -slope if maximize else slope
                    if parameter._bits:
                        parameter._put(value)
                    parameter._bump_version()

    # Saving

    def state_dict(self) -> dict[str, Any]:
        """State and groups, with the parameters replaced by their numbers."""
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers.setdefault(id(each), len(numbers)) for each in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook in list(self._state_dict_post_hooks.values()):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned. State gets the dtype and device of its parameter, `step` excepted.

        Raises ValueError when the groups differ in number or size.
        """
        state_dict = dict(state_dict)
        for hook in list(self._load_state_dict_pre_hooks.values()):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        saved_groups = copy.deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        parameters: dict[Any, Tensor] = {}
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                )
            parameters.update(zip(saved["params"], group["params"], strict=True))
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            parameter = parameters.get(key)
            state[key if parameter is None else parameter] = value if parameter is None else _fitted(value, parameter)
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in list(self._load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    # Hooks

    def _make_hooks(self) -> None:
        self._step_pre_hooks: Hooks = {}
        self._step_post_hooks: Hooks = {}
        self._state_dict_pre_hooks: Hooks = {}
        self._state_dict_post_hooks: Hooks = {}
        self._load_state_dict_pre_hooks: Hooks = {}
        self._load_state_dict_post_hooks: Hooks = {}
        kind = type(self)
        if not getattr(kind.step, "hooked", False):
            kind.step = _hooked(kind.step)  # type: ignore[method-assign]

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(optimizer, args, kwargs)` called before each step; it may return new (args, kwargs)."""
        return RemovableHandle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(optimizer, args, kwargs)` called after each step."""
        return RemovableHandle(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer)` called before `state_dict`."""
        return _registered(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer, state_dict)` called after `state_dict`; it may return another."""
        return _registered(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer, state_dict)` called before `load_state_dict`; it may return another."""
        return _registered(self._load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer)` called after `load_state_dict`."""
        return _registered(self._load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        groups = []
        for number, group in enumerate(self.param_groups):
            options = "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
            groups.append(f"\nParameter Group {number}\n{options}")
        return f"{type(self).__name__} (" + "".join(groups) + ")"


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step`, between the hooks."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._step_pre_hooks.values()):
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                if not isinstance(replaced, tuple) or len(replaced) != 2:
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        self._opt_called = True
        result = step(self, *args, **kwargs)
        for hook in list(self._step_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    run.hooked = True  # type: ignore[attr-defined]
    return run


def _registered(hooks: Hooks, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend:
        rest = {key: hooks.pop(key) for key in list(hooks) if key != handle.id}
        hooks.update(rest)
    return handle


def _typename(value: Any) -> str:
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _check_parameter(parameter: Any) -> None:
    if not isinstance(parameter, Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(parameter)}")
    if not parameter.is_leaf and not parameter.retains_grad:
        raise ValueError("can't optimize a non-leaf Tensor")


def _fitted(value: Any, parameter: Tensor, name: Any = None) -> Any:
    """Saved state as this parameter needs it: floating point state has the parameter's dtype, and its device."""
    if isinstance(value, Tensor):
        if name == "step":
            return value
        kind = parameter.dtype if parameter.is_floating_point() else value.dtype
        host = value.device.backend.to_host(value._elements)
        return make_tensor(parameter.device.backend.from_host(host.astype(kind.numpy)), kind, parameter.device)
    if isinstance(value, dict):
        return {key: _fitted(each, parameter, key) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(each, parameter) for each in value)
    return value


# What the updates of the subclasses are written with


def zeros_like(parameter: Tensor, value: complex = 0) -> Tensor:
    """State of a parameter: a tensor of its shape, strides, dtype and device, filled with a number."""
    array = parameter.device.xp.full_like(parameter._array, value)
    return make_tensor(array, parameter.dtype, parameter.device)


def scalar(value: float) -> Tensor:
    """State that is one number: a 0-dim tensor on the CPU, float64 where that is the default dtype, else float32."""
    kind = float64 if get_default_dtype() is float64 else float32
    return make_tensor(cpu.xp.full((), value, kind.numpy), kind, cpu)


def counted(state: dict[str, Any]) -> float:
    """Counts a step in `state["step"]` and returns its number."""
    step = state["step"]._array
    step += 1
    return float(step)


def blocks(*arrays: Array) -> Iterable[tuple[Array, ...]]:
    """Arrays of one shape, in pieces that fit in the cache together: an update of several passes reads memory once.

    Complex arrays come as real ones. On a GPU, and where memory is not contiguous, there is one piece.
    """
    if arrays[0].dtype.kind == "c":
        arrays = tuple(each.view(each.real.dtype) for each in map(_with_dimension, arrays))
    first = arrays[0]
    if first.size <= BLOCK or type(first) is not cpu.array_type or not all(each.flags.c_contiguous for each in arrays):
        return (arrays,)
    flat = [each.reshape(-1) for each in arrays]
    return (tuple(each[start : start + BLOCK] for each in flat) for start in range(0, first.size, BLOCK))


def _with_dimension(array: Array) -> Array:
    return array if array.ndim else array.reshape(1)


_WORDS = {"lr": "learning rate", "eps": "epsilon value"}


def check_options(**options: Any) -> None:
    """Raises ValueError for a negative option, for betas outside [0, 1), for a tensor `lr` of several elements."""
    for name, value in options.items():
        if name == "betas":
            for index, beta in enumerate(value):
                if not 0.0 <= float(beta) < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
            continue
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")
        if not float(value) >= 0.0:
            raise ValueError(f"Invalid {_WORDS.get(name, name + ' value')}: {value}")


def check_fused(fused: bool | None, foreach: bool | None) -> None:
    """Raises RuntimeError when both are asked for. Either is a hint about speed, which changes no number here."""
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
