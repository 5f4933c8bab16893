"""Connectionist temporal classification: the probability of a label sequence, summed over all its alignments.

An alignment runs through the states blank, label, blank, label, …, blank, one a time step: it stays, goes to the next,
or skips a blank between two different labels. α[t, s] is the log probability of all beginnings that are in state s at
t, and β[t, s] that of all endings from there; both count what is emitted at t.
Source: A. Graves et al., "Connectionist Temporal Classification", ICML 2006; for the gradient's convention
https://pytorch.org/docs/stable/generated/torch.nn.CTCLoss.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array, Ints
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import no_derivative, not_implemented
from minitorch.dtypes import int64
from minitorch.ops.loss.regression import reduced, reduction_of
from minitorch.tensor import Tensor


def _states(xp: Any, log_probs: Array, targets: Array, blank: int) -> tuple[Array, Array, Array]:
    """The label of every state, whether it may be entered from two before, and what it emits at every time.

    They are (N, 2S + 1), (N, 2S + 1) and (T, N, 2S + 1). `targets` is (N, S), blank where a sequence is shorter.
    """
    labels = xp.full((len(targets), 2 * targets.shape[1] + 1), blank, "int64")
    labels[:, 1::2] = targets
    skips = xp.zeros(labels.shape, bool)
    skips[:, 2:] = labels[:, 2:] != labels[:, :-2]
    return labels, skips, xp.take_along_axis(log_probs, labels[None], 2)


def _later(xp: Any, scores: Array, steps: int) -> Array:
    """The scores moved that many states on; nothing comes from before the first state."""
    moved = xp.full_like(scores, -math.inf)
    moved[:, steps:] = scores[:, : scores.shape[1] - steps]
    return moved


def _step(xp: Any, scores: Array, skips: Array, emitted: Array) -> Array:
    """One step of the recursion that α and, read backwards, β follow."""
    both = xp.logaddexp(scores, _later(xp, scores, 1))
    return xp.logaddexp(both, xp.where(skips, _later(xp, scores, 2), -math.inf)) + emitted


@declare(
    variants="",
    derivatives={
        "log_probs": (
            lambda grad, log_probs, labels, targets, lengths, target_lengths, result0, result1, blank, zero_infinity: (
                ctc_loss_backward(
                    grad, log_probs, labels, lengths, target_lengths, result0, result1, blank, zero_infinity
                )
            )
        )
    },
)
def ctc_loss_(
    xp: Any,
    log_probs: Array,
    labels: Array,
    targets: Array,
    lengths: Ints,
    target_lengths: Ints,
    blank: int,
    zero_infinity: bool,
) -> tuple[Array, Array]:
    """The negative log-likelihoods (N,) and α (T, N, 2S + 1), of the `targets` as `labels` (N, S)."""
    if log_probs.dtype.kind != "f" or log_probs.dtype.itemsize == 2:
        raise not_implemented("ctc_loss_cpu", log_probs.dtype.name)
    steps, count = log_probs.shape[:2]
    _, skips, emitted = _states(xp, log_probs, labels, blank)
    alpha = xp.full(emitted.shape, -math.inf, log_probs.dtype)
    start = xp.arange(alpha.shape[2]) < xp.where(xp.asarray(target_lengths) > 0, 2, 1)[:, None]
    alpha[0] = xp.where(start, emitted[0], -math.inf)
    for t in range(1, steps):
        alpha[t] = _step(xp, alpha[t - 1], skips, emitted[t])
    each, ends, last = xp.arange(count), xp.asarray(lengths), 2 * xp.asarray(target_lengths)
    final = alpha[ends - 1, each]
    at_label = xp.where(last > 0, final[each, last - 1], -math.inf)
    likelihood = xp.logaddexp(final[each, last], at_label)
    return -xp.where(ends > 0, likelihood, xp.where(last > 0, -math.inf, 0)).astype(alpha.dtype), alpha


@declare(
    variants="",
    derivatives={"grad_output": no_derivative("_ctc_loss_backward"), "log_probs": no_derivative("_ctc_loss_backward")},
)
def ctc_loss_backward(
    xp: Any,
    grad_output: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Ints,
    target_lengths: Ints,
    loss: Array,
    alpha: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """exp(log_probs) − the probability that an alignment of the sequence emits a class at a time.

    This is the gradient of the logits of which log_probs is the log_softmax; log_softmax passes it on unchanged.
    """
    steps, count, _ = log_probs.shape
    labels, skips, emitted = _states(xp, log_probs, targets, blank)
    each, last = xp.arange(count), 2 * xp.asarray(target_lengths)[:, None]
    places = xp.arange(alpha.shape[2])
    final = (places == last) | (places == last - 1)
    lengths = xp.asarray(input_lengths)[:, None]
    # Read backwards, a state is entered from those after it, and skips over one that could skip to it.
    skips_back = xp.zeros_like(skips)
    skips_back[:, 2:] = skips[:, :1:-1]
    undefined = xp.where(xp.isinf(loss), math.nan, 0)[:, None]
    result = xp.exp(log_probs)
    beta = xp.full_like(alpha[0], -math.inf)
    for t in range(steps - 1, -1, -1):
        onward = _step(xp, beta[:, ::-1], skips_back, emitted[t, :, ::-1])[:, ::-1]
        beta = xp.where(lengths - 1 == t, xp.where(final, emitted[t], -math.inf), onward)
        share = xp.exp(alpha[t] + beta - emitted[t] + loss[:, None])
        for state in range(alpha.shape[2]):
            result[t, each, labels[:, state]] -= share[:, state]
        result[t] = xp.where(t < lengths, result[t] + undefined, 0)
    if zero_infinity:
        result[:, xp.isinf(loss)] = 0
    return result * grad_output[:, None]


@composite(autocast="float32", variants="function", namespace="nn.functional")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """−log of the probability of `targets` under log_probs (T, N, C), or (T, C) without a batch.

    `targets` is (N, S), or all sequences one after the other. "mean" divides every loss by its target's length first.
    `zero_infinity` makes losses of targets that don't fit into their input zero. float32 and float64.

    The gradient is that of the logits of which log_probs is the log_softmax; it can't be differentiated again.
    Raises RuntimeError for lengths that don't fit.
    """
    reduction = reduction_of(reduction)
    lengths, wanted = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    batch = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    _check(batch, lengths, wanted, blank)
    labels = _padded(targets, wanted, blank, len(lengths))
    if max(lengths) > len(batch):
        raise _invalid(f"Expected input_lengths to have value at most {len(batch)}, but got value {max(lengths)}")
    loss = ctc_loss_(batch, labels, targets, lengths, wanted, blank, zero_infinity)[0]
    if zero_infinity:
        loss = loss.new_zeros(()).where(loss == math.inf, loss)
    if reduction == "mean":
        loss = loss / loss.new_tensor([max(each, 1) for each in wanted])
    if log_probs.dim() == 2 and reduction == "none":
        return loss.squeeze(0)
    return reduced(loss, reduction)


def _lengths(lengths: Any, name: str) -> Ints:
    if isinstance(lengths, Tensor):
        if lengths.dtype.is_floating_point or lengths.dtype.is_complex:
            raise RuntimeError(f"{name} must be integral")
        lengths = lengths.reshape(-1).tolist()
    return tuple(map(int, lengths))


def _invalid(message: str) -> RuntimeError:
    return RuntimeError(f"{message} (while checking arguments for ctc_loss_allocate_outputs)")


def _check(log_probs: Tensor, lengths: Ints, wanted: Ints, blank: int) -> None:
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < log_probs.shape[2]:
        raise RuntimeError("blank must be in label range")
    for name, each in (("input_lengths", lengths), ("target_lengths", wanted)):
        if len(each) != log_probs.shape[1]:
            raise RuntimeError(f"{name} must be of size batch_size")
        if min(each) < 0:
            raise _invalid(f"Expected {name} to have value at least 0, but got value {min(each)}")


def _padded(targets: Tensor, lengths: Ints, blank: int, count: int) -> Tensor:
    """The targets as int64 (N, longest), with blanks after the end of each."""
    longest = max(lengths)
    if targets.dim() not in (1, 2):
        raise _invalid(
            f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for argument #2 'targets'"
        )
    rows = sum(lengths) if targets.dim() == 1 else count
    if targets.shape[0] != rows:
        raise _invalid(
            f"Expected tensor to have size {rows} at dimension 0, but got size {targets.shape[0]} for argument #2 "
            "'targets'"
        )
    if targets.dim() == 2 and targets.shape[1] < longest:
        raise _invalid(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for "
            "argument #2 'targets'"
        )
    labels = targets.new_full((count, longest), blank, dtype=int64)
    start = 0
    for row, length in enumerate(lengths):
        given = targets[start : start + length] if targets.dim() == 1 else targets[row, :length]
        labels[row, :length] = given.to(int64)
        start += length
    return labels
