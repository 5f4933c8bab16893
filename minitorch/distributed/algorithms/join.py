"""Processes with different numbers of inputs: those that have run out shadow the communications of the others.

Source: https://pytorch.org/docs/stable/distributed.algorithms.join.html
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import minitorch
from minitorch.distributed.work import Work

__all__ = ["Join", "JoinHook", "Joinable"]

torch: Any = minitorch

_MANY = 1000


class JoinHook:
    """What is called in a process without inputs."""

    def main_hook(self) -> None:
        """For each iteration of the others: takes part in what they communicate."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Once all have run out; `is_last_joiner` in those that were the last."""


class _Config(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable:
    """Base of what communicates in each iteration, and can be shadowed: it defines the three names below."""

    def __init__(self) -> None:
        self._join_config = _Config(False, False, False)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What is called in a process without inputs."""
        raise NotImplementedError(f"{type(self).__name__}: join_hook")

    @property
    def join_device(self) -> Any:
        """Where it communicates."""
        raise NotImplementedError(f"{type(self).__name__}: join_device")

    @property
    def join_process_group(self) -> Any:
        """With whom it communicates."""
        raise NotImplementedError(f"{type(self).__name__}: join_process_group")


class Join:
    """A block in which the processes may run out of inputs one after the other.

    At its end, a process calls the hooks of the `joinables` as long as others have inputs. With
    `throw_on_early_termination` all raise RuntimeError as soon as one has none; with `enable=False` nothing happens.
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throws = throw_on_early_termination
        self._group = joinables[0].join_process_group
        for number, joinable in enumerate(joinables):
            joinable._join_config = _Config(enable, throw_on_early_termination, number == 0)
            if joinable.join_process_group is not self._group:
                raise ValueError("Using join context manager with multiple process groups")

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if not self._enable or kind:
            return
        is_last_joiner = True
        rounds = 0
        while _sum(self._group, 0.0) != 0:
            if rounds == _MANY:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {self._group.rank()} "
                    f"has at least {_MANY} fewer inputs than other currently-active ranks. This level of skew could "
                    "lead to performance degradation during training.",
                    stacklevel=2,
                )
            if self._throws:
                _sum(self._group, 1.0)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            is_last_joiner = False
            rounds += 1
        for hook in self._hooks:
            hook.post_hook(is_last_joiner)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Says that this process has an input still; to be called before each iteration's communications.

        Returns the Work that counts the processes which have one, or None outside of a Join, and for all joinables but
        the first. Raises RuntimeError where one has none and the Join is to throw.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        group = joinable.join_process_group
        work: Work = group.allreduce([torch.ones(1)])
        if config.throw_on_early_termination and _sum(group, 0.0) != 0:
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _sum(group: Any, value: float) -> float:
    """The sum of what all processes give."""
    total = torch.tensor([value])
    group.allreduce([total]).wait()
    return float(total)
