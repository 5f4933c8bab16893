"""What people usually get wrong in an estimate: a wrong formula, and the sentence that says what it leaves out.

A sentence is shown only where its formula gives the number that somebody wrote. `right` is the correct answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from course.interview.estimate import Estimate

Wrong = Callable[[Mapping[str, Any], float], float]


def _times(share: float) -> Wrong:
    """The correct answer times a number that was forgotten, or counted twice."""
    return lambda n, right: share * right


_ONE_OF_TWO = "A layer caches keys *and* values: you counted one of them."
_TWICE = "A multiply-add is two operations, and the question counts multiplications."
_FORWARD = "2 operations a parameter and token are the forward pass alone. Training takes 6."
_BITS = "Those are bits: a byte has 8 of them."

MISTAKES: dict[str, dict[str, Wrong]] = {
    "memory of training with Adam": {
        "Those are weights and gradients alone. Adam's two moments and the master weights take 12 bytes more.": _times(
            4 / 16
        ),
        "You left out the master weights, which mixed precision keeps in float32.": _times(12 / 16),
        "That is the weights in 16 bits alone.": _times(2 / 16),
    },
    "a key-value cache": {
        _ONE_OF_TWO: _times(1 / 2),
        "float16 takes 2 bytes an element, not 4.": _times(2),
        "The cache of one sequence is that large; there are several in the batch.": lambda n, right: right / n["batch"],
        "Each layer has a cache of its own.": lambda n, right: right / n["layers"],
    },
    "work of training": {
        _FORWARD: _times(2 / 6),
        "The work is shared: divide by the number of GPUs.": lambda n, right: right * n["gpus"],
        "Those are hours.": _times(24),
    },
    "traffic of an all-reduce": {
        "A ring sends each part twice, once while adding and once while distributing the sums.": _times(1 / 2),
        "That sends the whole gradient twice. A rank keeps its own part, hence (n − 1) / n.": lambda n, right: (
            right * n["gpus"] / (n["gpus"] - 1)
        ),
    },
    "memory of attention weights": {
        "Each head has attention weights of its own.": lambda n, right: right / n["heads"],
        "The attention weights have length × length elements.": lambda n, right: right / n["length"],
        "float32 takes 4 bytes.": _times(1 / 2),
    },
    "parameters of a convolution": {
        "That is without the bias, of which there is one per output channel.": lambda n, right: right - n["outputs"],
        "A kernel has size × size weights for each pair of channels.": lambda n, right: (
            n["outputs"] * (n["inputs"] * n["size"] + 1)
        ),
        "There is one bias per output channel, not a single one.": lambda n, right: right - n["outputs"] + 1,
        "Each kernel sees all input channels.": lambda n, right: n["outputs"] * (n["size"] ** 2 + 1),
    },
    "work of a convolution": {
        _TWICE: _times(2),
        "Each of the 9 weights of a kernel is used at each position.": _times(1 / 9),
        "That is the number of weights. Each is used once per output position.": lambda n, right: (
            right / n["side"] ** 2
        ),
    },
    "parameters of transformer blocks": {
        "That is the MLP alone. Attention has four more matrices.": _times(8 / 12),
        "That is attention alone. The MLP has 8 × width² weights.": _times(4 / 12),
    },
    "parameters of LoRA": {"An adapter has two matrices, A and B.": _times(1 / 2)},
    "workers of a loader": {
        "Rounded down, the loaders are a little too slow: round up.": lambda n, right: float(n["load"] // n["step"]),
    },
    "speed of decoding": {
        "bfloat16 takes 2 bytes an element, and int8 one.": lambda n, right: (
            right * {"bfloat16": 2, "int8": 0.5}[n["type"]]
        ),
    },
    "the first loss": {
        "That is log₂, in bits. A loss is in nats.": _times(1 / math.log(2)),
        "That is log₁₀. The loss is the natural logarithm.": _times(1 / math.log(10)),
    },
    "active parameters of a mixture of experts": {
        "Those are all parameters. A token runs through the chosen experts only.": lambda n, right: (
            n["rest"] * 1e3 + n["layers"] * n["experts"] * n["millions"]
        ),
        "Each layer has experts of its own.": lambda n, right: n["rest"] * 1e3 + n["chosen"] * n["millions"],
        "The parameters outside of the experts are used, too.": lambda n, right: right - n["rest"] * 1e3,
    },
    "speed of training at an MFU": {
        "2 operations a parameter and token are the forward pass alone. Training takes 6.": _times(3),
        "That is the speed at the peak.": lambda n, right: right * 100 / n["share"],
    },
    "the batch at which decoding is bound by arithmetic": {
        "A multiply-add is two operations, and a weight of bfloat16 has two bytes, so the twos cancel.": _times(1 / 2),
        "A multiply-add is two operations, and a weight of bfloat16 has two bytes: the twos cancel.": _times(2),
    },
    "memory of the caches of a service": {
        "At a time there are rate × seconds requests, which is Little's law.": lambda n, right: right / n["seconds"],
        "One request's cache is that large, or one second's.": lambda n, right: right / n["rate"] / n["seconds"],
    },
    "time of a prefill": {
        "6 operations a parameter and token are for training. A prefill is a forward pass: 2.": _times(3),
        "A multiply-add is two operations.": _times(1 / 2),
        "The work is shared: divide by the number of GPUs.": lambda n, right: right * n["gpus"],
    },
    "tokens of a pass with drafts": {
        "A draft counts only if those before it were accepted, too: the chances are powers.": lambda n, right: (
            1 + n["drafts"] * n["chance"]
        ),
        "The large model adds a token of its own after the accepted ones.": lambda n, right: right - 1,
        "That is without the token that follows when all drafts are accepted.": lambda n, right: (
            (1 - n["chance"] ** n["drafts"]) / (1 - n["chance"])
        ),
    },
    "bubble of a pipeline": {
        "That is idle time over working time. The share is of the whole time.": lambda n, right: (
            100 * (n["stages"] - 1) / n["batches"]
        ),
        "A pipeline of p stages fills in p − 1 steps, not in p.": lambda n, right: (
            100 * n["stages"] / (n["batches"] + n["stages"])
        ),
        "That is the share of the time in which a GPU works.": lambda n, right: 100 - right,
    },
    "time between checkpoints": {
        "An interruption loses half of the interval on average, hence the 2 under the root.": _times(1 / math.sqrt(2)),
        "Convert the hours into minutes first.": _times(1 / math.sqrt(60)),
    },
    "memory of a vector index": {_BITS: _times(8)},
    "cost of a million tokens": {"An hour has 3,600 seconds.": _times(60)},
    "the best size for a budget": {
        "With 2 operations a parameter and token you planned forward passes alone. Training takes 6.": _times(
            math.sqrt(3)
        ),
        "Those are the tokens, 20 for each parameter.": _times(20),
    },
    "memory of logits": {
        "float32 takes 4 bytes.": _times(1 / 2),
        "Those are the logits of one sequence.": lambda n, right: right / n["batch"],
    },
    "a model in few bits": {
        _BITS: _times(8),
        "That is without the scales, 16 bits for each group.": lambda n, right: n["billions"] * n["bits"] / 8,
    },
    "success of an agent": {
        "Mistakes don't add up: the task succeeds if every step does, so multiply.": lambda n, right: (
            100 - n["steps"] * (100 - n["share"])
        ),
        "That is the share of tasks that fail.": lambda n, right: 100 - right,
        "That is the chance of a single step.": lambda n, right: float(n["share"]),
    },
    "prompt tokens of an agent": {
        "That is as if each call had the last, largest context.": lambda n, right: n["calls"] * n["last"] / 1e6,
        "The context begins with some tokens: average the first and the last call.": lambda n, right: (
            n["calls"] * (n["last"] - n["first"]) / 2 / 1e6
        ),
    },
    "time of a batch of rollouts": {
        "Each prompt gets a whole group of replies.": lambda n, right: right / n["group"],
        "The GPUs share the work.": lambda n, right: right * n["gpus"],
    },
    "noise of an evaluation": {
        "That is half of a 95 % interval, 1.96 standard errors. One was asked for.": _times(1.96),
        "That is the variance of the score; the standard error is its root.": lambda n, right: right**2,
        "The standard error falls with the root of the number of tasks.": lambda n, right: (
            right / math.sqrt(n["tasks"])
        ),
    },
    "work of k-means": {
        "Each iteration computes the distances again.": lambda n, right: right / n["rounds"],
        _TWICE: _times(2),
    },
    "precision at a base rate": {
        "That is the recall. The question is how many of the alerts are right.": lambda n, right: float(n["recall"]),
        "The false alerts come from all others, who are far more than the frauds.": lambda n, right: (
            100 * n["recall"] / (n["recall"] + n["false"])
        ),
    },
    "memory of a rank under ZeRO": {
        "That is stage 3, which divides everything.": lambda n, right: 16 * n["billions"] / n["gpus"],
        "That is stage 2, which keeps the weights whole.": lambda n, right: n["billions"] * (2 + 14 / n["gpus"]),
        "That is stage 1, which keeps weights and gradients whole.": lambda n, right: (
            n["billions"] * (4 + 12 / n["gpus"])
        ),
        "That is without any shards.": lambda n, right: 16.0 * n["billions"],
    },
    "traffic of fully sharded training": {
        "FSDP gathers the weights twice, for the forward and for the backward pass.": lambda n, right: (
            right - (n["gpus"] - 1) / n["gpus"] * n["billions"] * 2
        ),
        "A reduce-scatter sends the gradients once, an all-reduce twice.": lambda n, right: (
            right + (n["gpus"] - 1) / n["gpus"] * n["billions"] * {"float32": 4, "bfloat16": 2}[n["type"]]
        ),
    },
    "traffic of tensor parallelism": {
        "A factor of 2 is missing: both passes count, and in a ring each all-reduce sends 2 (n − 1) / n.": _times(
            1 / 2
        ),
        "That is without (n − 1) / n.": lambda n, right: right * n["gpus"] / (n["gpus"] - 1),
    },
    "communication that isn't hidden": {
        "That is all all-reduces, as if none ran beside the backward pass.": lambda n, right: float(n["reduce"]),
        "The first bucket is full only after part of the backward pass.": lambda n, right: n["reduce"] - n["backward"],
    },
    "time between failures": {
        "That is the time of one GPU. With many, it is shorter by their number.": lambda n, right: right * n["gpus"],
        "Those are days.": _times(1 / 24),
    },
    "pause for a checkpoint": {
        "The machines write their shards at the same time.": lambda n, right: right * n["machines"],
        "That is the weights in 16 bits alone. A checkpoint also has the master weights and both moments.": _times(
            2 / 14
        ),
    },
    "utilization of a run": {
        _FORWARD: _times(2 / 6),
        "The peak is that of each GPU: multiply by their number.": lambda n, right: right * n["gpus"],
    },
    "waiting for data": {
        "That is the share in which the GPU works.": lambda n, right: 100 - right,
        "The workers load at the same time.": lambda n, right: 100 * (1 - n["step"] / n["load"]),
    },
    "kernels that run faster than they are launched": {
        "That is the share in which the GPU works.": lambda n, right: 100 - right,
        "Launching and running overlap: a kernel takes the longer of the two times.": lambda n, right: (
            100 * n["launch"] / (n["launch"] + n["run"])
        ),
    },
    "requests that fit beside the weights": {
        "The weights take a part of the memory.": lambda n, right: (
            0.9 * n["memory"] * 1e9 / (n["kb"] * 1e3 * n["length"])
        ),
        "The server uses 90 % of the memory.": lambda n, right: (
            (n["memory"] - n["weights"]) * 1e9 / (n["kb"] * 1e3 * n["length"])
        ),
    },
}
"""By the name of an estimate."""


def mistake(estimate: Estimate, given: float, numbers: Mapping[str, Any]) -> str:
    """What somebody did who wrote this number; empty if it is none of the usual mistakes, or two of them."""
    right, near = estimate.answer(numbers), min(0.02, estimate.tolerance) or 1e-9
    told = [
        sentence
        for sentence, formula in MISTAKES.get(estimate.name, {}).items()
        if math.isclose(given, wrong := formula(numbers, right), rel_tol=near) and not estimate.is_close(wrong, numbers)
    ]
    return told[0] if len(told) == 1 else ""
