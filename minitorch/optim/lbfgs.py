"""L-BFGS: Newton's method with an inverse Hessian that is estimated from the last few steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from minitorch.autograd.grad_mode import enable_grad, no_grad
from minitorch.ops.creation.filled import zeros_like
from minitorch.ops.indexing.joining import cat
from minitorch.optim.optimizer import Closure, Optimizer, Parameters
from minitorch.optim.update import as_real, check_options, constant, stated, to_scalar
from minitorch.tensor import Tensor


class Point(NamedTuple):
    """A point on the line that is searched."""

    step: float
    """How far from the start, in multiples of the direction."""
    loss: float
    grad: Tensor
    slope: float
    """The derivative of the loss along the line."""


class LBFGS(Optimizer):
    """x ← x + t · d with d = −H · g, H from the last `history_size` pairs of steps and changes of the gradient.

    `step` needs the closure and calls it several times: at most `max_iter` iterations or `max_eval` evaluations, until
    no gradient exceeds `tolerance_grad` and no change `tolerance_change`. t is `lr`, or found by `line_search_fn`
    "strong_wolfe". There can be but one group of parameters (ValueError).
    Source: https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html; Nocedal and Wright 2006, chapters 3 and 7
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_options(lr=lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        options = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
        super().__init__(params, stated(locals(), options))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def step(self, closure: Closure) -> Any:  # type: ignore[override]
        with no_grad():
            return self._minimize(enable_grad()(closure))

    def _minimize(self, closure: Closure) -> Any:
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        lr = to_scalar(group["lr"])
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        original_loss = closure()
        loss, grad = float(original_loss), self._flat_grad()
        state["func_evals"] += 1
        evaluations = 1
        if _largest(grad) <= tolerance_grad:
            return original_loss
        names = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
        last: dict[str, Any] = {name: state.get(name) for name in names}
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, last, grad, group["history_size"])
            last["prev_flat_grad"], last["prev_loss"] = grad.clone(), loss
            step = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            last["d"], last["t"] = direction, step
            slope = float(grad.dot(direction))
            if slope > -tolerance_change:
                break
            calls = 0
            if search is not None:
                start = Point(0.0, loss, grad, slope)
                found, calls = strong_wolfe(
                    lambda t, d=direction: self._try(closure, t, d),  # type: ignore[misc]
                    start,
                    constant(step),
                    _largest(direction),
                    group["max_eval"] - evaluations,
                )
                step, loss, grad = found.step, found.loss, found.grad
                last["t"] = step
                self._move(step, direction)
            else:
                self._move(step, direction)
                if iteration != group["max_iter"]:  # nobody would look at the last one
                    loss, grad = float(closure()), self._flat_grad()
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= group["max_eval"]
                or _largest(grad) <= tolerance_grad
                or _largest(direction) * step <= tolerance_change
                or abs(loss - last["prev_loss"]) < tolerance_change
            ):
                break
        state.update(last)
        return original_loss

    def _direction(self, state: dict[str, Any], last: dict[str, Any], grad: Tensor, history_size: int) -> Tensor:
        """−H · grad by the two-loop recursion; the first time, steepest descent."""
        if state["n_iter"] == 1:
            last.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -grad
        changes, steps, ro = last["old_dirs"], last["old_stps"], last["ro"]
        change, step = grad.sub(last["prev_flat_grad"]), last["d"].mul(last["t"])
        curvature = change.dot(step)
        if float(curvature) > 1e-10:
            if len(changes) == history_size:
                for history in (changes, steps, ro):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            ro.append(1.0 / curvature)
            last["H_diag"] = curvature / change.dot(change)
        direction = -grad
        alphas = state.setdefault("al", [None] * history_size)
        for i in reversed(range(len(changes))):
            alphas[i] = steps[i].dot(direction) * ro[i]
            direction.add_(changes[i], alpha=-alphas[i])
        direction.mul_(last["H_diag"])
        for i in range(len(changes)):
            direction.add_(steps[i], alpha=alphas[i] - changes[i].dot(direction) * ro[i])
        return direction

    def _flat_grad(self) -> Tensor:
        grads = [zeros_like(each) if each.grad is None else each.grad for each in self._params]
        return cat([as_real(each).reshape(-1) for each in grads])

    def _move(self, step: float, direction: Tensor) -> None:
        start = 0
        for parameter in map(as_real, self._params):
            part = direction[start : start + parameter.numel()]
            parameter.add_(part.view(parameter.shape), alpha=step)
            start += parameter.numel()

    def _try(self, closure: Closure, step: float, direction: Tensor) -> Point:
        """The point at `step` along the direction; the parameters stay where they are."""
        before = [each.clone() for each in self._params]
        self._move(step, direction)
        loss, grad = float(closure()), self._flat_grad()
        for parameter, value in zip(self._params, before, strict=True):
            parameter.copy_(value)
        return Point(step, loss, grad, float(grad.dot(direction)))


def _largest(tensor: Tensor) -> float:
    return float(tensor.abs().max())


def strong_wolfe(
    evaluate: Callable[[float], Point],
    start: Point,
    step: float,
    size: float,
    max_evaluations: int,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
) -> tuple[Point, int]:
    """A step that lowers the loss by c1 · step · slope and leaves at most c2 of the slope; and how many evaluations it
    took.

    First the step grows until a minimum must lie in between, then that bracket is narrowed by cubic interpolation.
    `size` is the direction's largest component. Source: Nocedal and Wright 2006, algorithms 3.5 and 3.6
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + c1 * point.step * start.slope

    def flat_enough(point: Point) -> bool:
        return abs(point.slope) <= -c2 * start.slope

    previous, current = start, evaluate(step)
    iterations = 0
    while iterations < max_evaluations:
        if too_high(current) or (iterations > 1 and current.loss >= previous.loss):
            break
        if flat_enough(current):
            return current, iterations + 1
        if current.slope >= 0:
            break
        nearest, farthest = current.step + 0.01 * (current.step - previous.step), current.step * 10
        step = cubic_minimum(previous, current, nearest, farthest)
        previous, current = current, evaluate(step)
        iterations += 1
    else:
        previous = start
    low, high = (previous, current) if previous.loss <= current.loss else (current, previous)
    stalled = False
    while iterations < max_evaluations and abs(high.step - low.step) * size >= tolerance_change:
        left, right = sorted((low.step, high.step))
        step = cubic_minimum(low, high, left, right)
        margin = 0.1 * (right - left)
        if min(right - step, step - left) < margin:
            if stalled or step >= right or step <= left:
                step = right - margin if abs(step - right) < abs(step - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        current = evaluate(step)
        iterations += 1
        if too_high(current) or current.loss >= low.loss:
            high = current
            low, high = (low, high) if low.loss <= high.loss else (high, low)
            continue
        if flat_enough(current):
            return current, iterations + 1
        if current.slope * (high.step - low.step) >= 0:
            high = low
        low = current
    return low, iterations + 1


def cubic_minimum(a: Point, b: Point, lowest: float, highest: float) -> float:
    """Where the cubic through two points with their slopes has its minimum, within bounds; or their middle."""
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (lowest + highest) / 2.0
    d2 = math.sqrt(square)
    if a.step > b.step:
        a, b = b, a
    position = b.step - (b.step - a.step) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(position, lowest), highest)
