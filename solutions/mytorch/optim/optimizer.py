"""What all optimizers share: groups of parameters, the state kept for each of them, and how both are saved."""

# 16 · Losses and optimizers
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..tensor import Tensor

Options = dict[str, Any]


class Optimizer:
    """Moves parameters against their gradients. A subclass says in `update` how one of them moves.

    `param_groups` are dicts: "params" is a list of parameters, and the other entries are their options.
    `state` has a dict for each parameter: what is remembered from step to step.

    Args:
        params: parameters; or dicts, each a group with options of its own.
        defaults: the options that a group doesn't state.

    Raises:
        TypeError: something among the parameters is no tensor.
        ValueError: there are no parameters, one is in two groups, or one is no leaf.
    """

    def __init__(self, params: Iterable[Any], defaults: Options) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got Tensor"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Options] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Options) -> None:
        """Add a group; options that it doesn't state are the defaults."""
        given = param_group["params"]
        parameters = [given] if isinstance(given, Tensor) else list(given)
        for parameter in parameters:
            if not isinstance(parameter, Tensor):
                name = type(parameter).__name__
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {name}")
            if not parameter.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        known = {id(each) for group in self.param_groups for each in group["params"]}
        if any(id(parameter) in known for parameter in parameters):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(self.defaults | param_group | {"params": parameters})

    def update(self, x: Tensor, g: Tensor, state: dict[str, Any], group: Options) -> None:
        """Move the parameter `x`, whose gradient is `g`, by one step; `state` is what is remembered of it."""
        raise NotImplementedError

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move all parameters that have a gradient. `closure` computes the loss anew; its value is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for x in group["params"]:
                if x.grad is not None:
                    self.update(x, x.grad, self.state[x], group)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients: `.grad` becomes None, or zeros where `set_to_none` is false."""
        for group in self.param_groups:
            for x in group["params"]:
                if set_to_none:
                    x.grad = None
                elif x.grad is not None:
                    x.grad = x.grad.detach().zero_()

    def state_dict(self) -> dict[str, Any]:
        """What a resumed training needs: {"state": ..., "param_groups": ...}, with numbers in place of the parameters.

        The parameters are numbered through all groups, from 0. A parameter of which nothing is remembered
        has no entry in "state". Nothing in "state" is copied: later steps show in it. The groups are new
        dicts.
        """
        parameters = [x for group in self.param_groups for x in group["params"]]
        numbers = {id(x): number for number, x in enumerate(parameters)}
        groups = [group | {"params": [numbers[id(x)] for x in group["params"]]} for group in self.param_groups]
        state = {number: self.state[x] for number, x in enumerate(parameters) if self.state.get(x)}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave: the options, and for each parameter what was remembered of it.

        Numbers mean places: parameter 3 is the fourth of all groups. Tensors get the type and device of
        their parameter (`value.to(x.dtype).to(x.device)`), but for "step". The given dict is not changed,
        then or by later steps, but its tensors may be: those that fit are used as they are.

        Raises:
            ValueError: "loaded state dict has a different number of parameter groups", or "loaded state
                dict contains a parameter group that doesn't match the size of optimizer's group".
        """
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        self.state = defaultdict(dict)
        for new, own in zip(saved, self.param_groups, strict=True):
            own.update({name: value for name, value in new.items() if name != "params"})
            for number, x in zip(new["params"], own["params"], strict=True):
                for name, value in state_dict["state"].get(number, {}).items():
                    moves = isinstance(value, Tensor) and name != "step"
                    self.state[x][name] = value.to(x.dtype).to(x.device) if moves else value
