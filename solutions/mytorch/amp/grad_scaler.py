"""GradScaler: the loss is multiplied, so that small gradients don't vanish in float16, and the gradients divided."""

# 22 · Mixed precision
from __future__ import annotations

import warnings
from typing import Any

from .. import Tensor, cuda, float16, no_grad
from ..checks import refuse
from ..optim import Optimizer

OPTIONS = ("growth_factor", "backoff_factor", "growth_interval")


class GradScaler:
    """Scales losses by a factor that halves after a gradient that isn't finite, and doubles after many that were."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda" and not cuda.is_available():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        self.enabled, self.factor = enabled, init_scale
        self.growth_factor, self.backoff_factor, self.growth_interval = growth_factor, backoff_factor, growth_interval
        self.good_steps = 0  # since the factor changed
        self.finite: dict[int, list[bool]] = {}  # by optimizer, whether each gradient was finite when it was unscaled
        self.stepped: set[int] = set()  # the optimizers that made their step, or left it out, since the last update

    def scale(self, outputs: Any) -> Any:
        """A loss, or each in a list or tuple, times the factor."""
        if not self.enabled:
            return outputs
        return outputs * self.factor if isinstance(outputs, Tensor) else type(outputs)(map(self.scale, outputs))

    @no_grad()
    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients by the factor, and remember which were finite; `step` does it if nobody has."""
        if not self.enabled:
            return
        if id(optimizer) in self.stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self.finite:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        gradients = [x.grad for group in optimizer.param_groups for x in group["params"] if x.grad is not None]
        if any(each.dtype is float16 for each in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        self.finite[id(optimizer)] = [bool(each.isfinite().all()) for each in gradients]
        for each in gradients:
            each.mul_(1 / self.factor)

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step, with gradients divided by the factor. It is left out if one of them isn't finite."""
        if not self.enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self.stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self.finite:
            self.unscale_(optimizer)
        if not self.finite[id(optimizer)]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self.stepped.add(id(optimizer))
        return optimizer.step(*args, **kwargs) if all(self.finite[id(optimizer)]) else None

    def update(self, new_scale: float | None = None) -> None:
        """Adapt the factor to what the steps have found, or set it, and begin a new round."""
        if not self.enabled:
            return
        found = [each for flags in self.finite.values() for each in flags]
        if new_scale is not None:
            self.factor = new_scale
        elif not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif not all(found):
            self.factor, self.good_steps = self.factor * self.backoff_factor, 0
        else:
            self.good_steps += 1
            if self.good_steps == self.growth_interval:
                self.factor, self.good_steps = self.factor * self.growth_factor, 0
        self.finite, self.stepped = {}, set()

    def get_scale(self) -> float:
        """The factor; 1 if scaling is not enabled."""
        return self.factor if self.enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self.enabled

    def state_dict(self) -> dict[str, Any]:
        """The factor, what changes it, and the good steps since it changed; empty if scaling is not enabled."""
        if not self.enabled:
            return {}
        options = {name: getattr(self, name) for name in OPTIONS}
        return {"scale": self.factor, **options, "_growth_tracker": self.good_steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if not self.enabled:
            return
        why = "possibly because it was saved from a disabled instance of GradScaler."
        refuse(not state_dict, f"The source state dict is empty, {why}")
        self.factor, self.good_steps = state_dict["scale"], state_dict["_growth_tracker"]
        for name in OPTIONS:
            setattr(self, name, state_dict[name])
