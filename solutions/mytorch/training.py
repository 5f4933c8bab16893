"""A trainer: batches accumulated, gradients clipped, rates scheduled, runs that go on exactly where they stopped."""

# 19 · The training loop
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from . import Tensor, stack
from .nn.utils import clip_grad_norm_
from .random import Generator, default_generator, set_state, state_of


@dataclass
class Trainer:
    """Trains a model on a loader's batches; `loss(model, batch)` is a sum of losses, and how many were added up."""

    model: Any
    optimizer: Any
    scheduler: Any
    loader: Iterable[Any]
    loss: Callable[..., Any]
    micro_batches: int = 1  # how many batches make a step
    max_norm: float = float("inf")
    losses: list[float] = field(default_factory=list)  # of the steps so far
    seen: int = 0  # batches of this epoch
    began: Any = None  # the random state when this epoch began
    epoch: Iterator[Any] | None = None

    def accumulate(self, batches: Iterable[Any]) -> float:
        """Leave the gradient of the mean over all losses in these batches in `.grad`, and return that mean."""
        self.optimizer.zero_grad()
        total, count = 0.0, 0
        for batch in batches:
            loss, added = self.loss(self.model, batch)
            loss.backward()
            total, count = total + loss.item(), count + added
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad /= count
        return total / count

    def step(self, batches: Iterable[Any]) -> None:
        """One update, with a gradient of at most `max_norm`."""
        self.model.train()
        self.losses.append(self.accumulate(batches))
        clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.scheduler.step()

    def fit(self, steps: int) -> None:
        """Train until `steps` steps have been made, those before a checkpoint included.

        Raises ValueError if an epoch has no batches.
        """
        while len(self.losses) < steps:
            self.epoch = self.epoch or self.rest_of_epoch()
            if batches := list(islice(self.epoch, self.micro_batches)):
                self.step(batches)
                self.seen += len(batches)
            elif self.seen:
                self.epoch, self.seen = None, 0
            else:
                raise ValueError("the loader gives no batches")

    def generators(self) -> list[Generator]:
        """The default generator, and the loader's own if it has one."""
        own = getattr(self.loader, "generator", None)
        return [default_generator] if own is None else [default_generator, own]

    def random_state(self) -> Tensor:
        """The states of the generators that a step may draw from, one below the other."""
        return stack([state_of(each) for each in self.generators()])

    def set_random_state(self, state: Tensor) -> None:
        """Let the generators continue from a state that `random_state` returned."""
        for generator, its_state in zip(self.generators(), state, strict=True):
            set_state(generator, its_state)

    def rest_of_epoch(self) -> Iterator[Any]:
        """The batches of an epoch that haven't been seen, in the order that the epoch began with."""
        now = self.random_state()
        self.began = self.began if self.seen else now
        self.set_random_state(self.began)
        batches = iter(self.loader)
        for _ in range(self.seen):
            next(batches)
        if self.seen:
            self.set_random_state(now)
        return batches

    def state_dict(self) -> dict[str, Any]:
        """A copy of all that the next steps depend on."""
        own = {name: getattr(self, name) for name in ("losses", "seen", "began")}
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
        return deepcopy(own | parts | {"random": self.random_state()})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from where `state_dict` was called."""
        state = deepcopy(state_dict)
        for name in ("model", "optimizer", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.losses, self.seen, self.began, self.epoch = state["losses"], state["seen"], state["began"], None
        self.set_random_state(state["random"])
