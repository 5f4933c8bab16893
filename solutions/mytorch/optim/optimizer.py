"""What all optimizers share: groups of parameters, the state kept for each of them, and how both are saved."""

# 16 · Losses and optimizers
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .. import Tensor, enable_grad, no_grad
from ..checks import refuse

Options = dict[str, Any]


class Optimizer:
    """Moves parameters, or groups of them (dicts with "params" and options); a subclass says in `update` how."""

    def __init__(self, params: Iterable[Any], defaults: Options) -> None:
        wanted = "an iterable of Tensors or dicts, but got Tensor"
        refuse(isinstance(params, Tensor), f"params argument given to the optimizer should be {wanted}", TypeError)
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)  # remembered from step to step
        self.param_groups: list[Options] = []
        groups = list(params)
        refuse(not groups, "optimizer got an empty parameter list", ValueError)
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
        """What a resumed training needs: "state" and "param_groups", with numbers in place of the parameters."""
        parameters = [x for group in self.param_groups for x in group["params"]]
        numbers = {id(x): number for number, x in enumerate(parameters)}
        groups = [group | {"params": [numbers[id(x)] for x in group["params"]]} for group in self.param_groups]
        state = {number: self.state[x] for number, x in enumerate(parameters) if self.state.get(x)}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave: the options, and for each parameter what was remembered of it."""
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups, strict=True)):
            found = "a parameter group that doesn't match the size of optimizer's group"
            raise ValueError(f"loaded state dict contains {found}")
        self.state = defaultdict(dict)
        for new, own in zip(saved, self.param_groups, strict=True):
            own.update({name: value for name, value in new.items() if name != "params"})
            for number, x in zip(new["params"], own["params"], strict=True):
                for name, value in state_dict["state"].get(number, {}).items():
                    moves = isinstance(value, Tensor) and name != "step"
                    self.state[x][name] = value.to(x.dtype).to(x.device) if moves else value


def refuse_negative(options: dict[str, float]) -> None:
    """Raise PyTorch's error about an option that is less than 0."""
    for name, value in options.items():
        refuse(value < 0, f"Invalid {name}: {value}", ValueError)
