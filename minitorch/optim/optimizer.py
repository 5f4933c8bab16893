"""What all optimizers share: groups of parameters, the state kept for each of them, hooks, and how both are saved.

Source: https://pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

from minitorch import Tensor, enable_grad, float32, typename
from minitorch.arrays.quiet import quiet
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.graph import saved_tensors_hooks
from minitorch.autograd.hooks import Hooks, RemovableHandle
from minitorch.optim.update import Group, check_fused_type, scalar, with_numbers
from minitorch.scalars import to_scalar

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Step = TypeVar("Step", bound=Callable[..., Any])

Parameters = Iterable[Any]
"""Tensors, or (name, tensor) pairs, or dicts with such under "params" and options of the group."""
Closure = Callable[[], Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _Required()
"""The default of an option that every group must state."""


_global_optimizer_pre_hooks: Hooks = {}
_global_optimizer_post_hooks: Hooks = {}

_ADDED = {
    **dict.fromkeys(("amsgrad", "capturable", "centered", "decoupled_weight_decay", "differentiable"), False),
    "foreach": None,
    "fused": None,
    "maximize": False,
    "nesterov": False,
}
"""Options that old checkpoints may not have, and what they mean then."""

_NUMBERS = frozenset({"step", "eta", "mu", "mu_product"})
"""State that is a tensor of one number."""


class Optimizer:
    """The base of all optimizers: a subclass gives the options' defaults and defines `step`.

    `params` are tensors to optimize, or dicts, each a group with its own options. Raises TypeError for anything else,
    ValueError for no parameters, for non-leaf tensors, and for a parameter in two groups.

    Options that many optimizers share: `maximize` goes uphill. `differentiable` records the steps, so that what is
    computed from the parameters has a gradient in what they started from, in the gradients, and in options that are
    tensors; the parameters must then be no leaves that require a gradient. `capturable` keeps the number of steps on
    the parameter's device, which the CPU refuses. `foreach` and `fused` choose among PyTorch's kernels; here neither
    changes a number, and `fused` refuses complex parameters as there.
    Source: https://pytorch.org/docs/stable/optim.html#torch.optim.Optimizer
    """

    _rate_type = "computed"
    """Into what the rate has to fit where PyTorch's kernels take it as a number: the type in which they compute, which
    is float32 at least, or the parameter's `own`; or nothing, where it is a tensor's factor."""
    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init__(self, params: Parameters, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
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
            self._check_parameter(parameter)
        param_group["params"] = parameters
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_distinct(param_group)
        self.param_groups.append(param_group)

    def _check_parameter(self, parameter: Any) -> None:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(parameter)}")
        if not self.defaults.get("differentiable") and not (parameter.is_leaf or parameter.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

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

    def _gradients(self) -> Iterator[tuple[Group, Tensor, Tensor]]:
        """For every parameter that has a gradient: its group's options as formulas take them, itself, and the gradient.

        With `maximize` that is negated. Raises RuntimeError for a finite `lr` that the parameter's type can't hold.
        """
        for group in map(with_numbers, self.param_groups):
            maximize = group.get("maximize", False)
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is not None:
                    if group.get("fused"):
                        check_fused_type(parameter)
                    if self._rate_type and "lr" in group:
                        is_narrow = self._rate_type == "computed" and parameter.dtype.is_low_precision
                        to_scalar(group["lr"], float32 if is_narrow else parameter.dtype)
                    yield group, parameter, -grad if maximize else grad

    # Saving

    def state_dict(self) -> dict[str, Any]:
        """State and groups, with the parameters replaced by their numbers."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            numbers.update({id(each): n for n, each in enumerate(group["params"], start) if id(each) not in numbers})
            packed["params"] = [numbers[id(each)] for each in group["params"]]
            start += len(group["params"])
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned. State gets the dtype and device of its parameter, `step` excepted.

        Tensors that have these already are taken as they are: steps write into the loaded ones, as in PyTorch.

        Raises ValueError when the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        saved_groups = copy.deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        parameters: dict[Any, tuple[Tensor, bool]] = {}
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                )
            moves_step = bool(saved.get("capturable") or saved.get("fused"))
            parameters.update(
                (key, (each, moves_step)) for key, each in zip(saved["params"], group["params"], strict=True)
            )
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key][0]] = _fitted(value, *parameters[key])
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        for group in self.param_groups:
            for name in filter(_ADDED.__contains__, self.defaults):
                group.setdefault(name, _ADDED[name])
            for parameter in group["params"]:
                own = self.state.get(parameter, {})
                for name in _NUMBERS.intersection(own):  # which old checkpoints have as Python's
                    if not isinstance(own[name], Tensor):
                        own[name] = scalar(group, parameter, own[name])

    # Hooks

    def _make_hooks(self) -> None:
        for moment in ("step", "state_dict", "load_state_dict"):
            self.__dict__.setdefault(f"_optimizer_{moment}_pre_hooks", {})
            self.__dict__.setdefault(f"_optimizer_{moment}_post_hooks", {})
        kind = type(self)
        if not getattr(kind.step, "hooked", False):
            kind.step = _hooked(kind.step)  # type: ignore[method-assign]

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(optimizer, args, kwargs)` called before each step; it may return new (args, kwargs)."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(optimizer, args, kwargs)` called after each step."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer)` called before `state_dict`."""
        return _registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer, state_dict)` called after `state_dict`; it may return another."""
        return _registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer, state_dict)` called before `load_state_dict`; it may return another."""
        return _registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer)` called after `load_state_dict`."""
        return _registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        groups = []
        for number, group in enumerate(self.param_groups):
            options = "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
            groups.append(f"\nParameter Group {number}\n{options}")
        return f"{type(self).__name__} (" + "".join(groups) + ")"


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step`, between the hooks."""

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        for hook in [*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                if not isinstance(replaced, tuple) or len(replaced) != 2:
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        result = step(*args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()]:
            hook(self, args, kwargs)
        return result

    run.hooked = True  # type: ignore[attr-defined]
    return run


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Has `hook(optimizer, args, kwargs)` called before each step of every optimizer, and before its own hooks.

    Source: https://pytorch.org/docs/stable/optim.html
    """
    return RemovableHandle(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Has `hook(optimizer, args, kwargs)` called after each step of every optimizer, and after its own hooks.

    Source: https://pytorch.org/docs/stable/optim.html
    """
    return RemovableHandle(_global_optimizer_post_hooks, hook)


def _use_grad_for_differentiable(step: Step) -> Step:
    """A `step` that is recorded if `differentiable` is among the optimizer's defaults, and else is not."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        recorded, before = self.defaults["differentiable"], grad_mode.asked
        grad_mode.set(recorded, grad_mode.inference)
        try:
            if not recorded:
                with quiet():
                    return step(self, *args, **kwargs)
            # Formulas write in place: what the graph needs of a tensor, it keeps as a copy.
            with saved_tensors_hooks(lambda saved: saved.detach().clone(), lambda kept: kept):
                return step(self, *args, **kwargs)
        finally:
            grad_mode.set(before, grad_mode.inference)

    return cast(Step, run)


def _registered(hooks: Hooks, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend:
        rest = {key: hooks.pop(key) for key in list(hooks) if key != handle.id}
        hooks.update(rest)
    return handle


def _fitted(value: Any, parameter: Tensor, moves_step: bool, name: Any = None) -> Any:
    """Saved state as this parameter needs it: floating point state has the parameter's dtype, and its device."""
    if isinstance(value, Tensor):
        if name == "step":
            return value.to(dtype=float32, device=parameter.device) if moves_step else value
        kind = parameter.dtype if parameter.is_floating_point() else value.dtype
        return value.to(dtype=kind, device=parameter.device)
    if isinstance(value, dict):
        return {key: _fitted(each, parameter, moves_step, key) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(each, parameter, moves_step) for each in value)
    return value
