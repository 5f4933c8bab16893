"""The steps of recurrent networks, and how a layer walks through time with them.

A batch of sequences of different length is packed: longest first, step t has the `sizes[t]` sequences longer than t.
Formulas: RNN (Elman 1990), LSTM (Hochreiter and Schmidhuber 1997), GRU (Cho et al. 2014) in the form of
https://pytorch.org/docs/stable/nn.html#recurrent-layers
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch import autocast
from minitorch.dispatch.declaration import declare
from minitorch.dtypes import dtype
from minitorch.ops.indexing.joining import cat, stack
from minitorch.ops.linalg.matmul import linear
from minitorch.ops.nn.fused_cells import lstm_cell, lstm_formula
from minitorch.ops.views.splitting import unbind
from minitorch.tensor import Tensor

State = tuple[Tensor, ...]
Weights = Mapping[str, Tensor]
"""What a step needs: `weight_ih` and `weight_hh`, perhaps `bias_ih` and `bias_hh`, perhaps `weight_hr`."""

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}
"""How many parts the rows of the weights have."""


def step(mode: str, gates: Tensor, state: State, weights: Weights, fused: bool = False) -> State:
    """The next state. `gates` is the input's share in the sums, W x + b. `fused`: an LSTM's rest is one op."""
    hidden = state[0]
    recurrent = linear(hidden, weights["weight_hh"], weights.get("bias_hh"))
    if mode == "GRU":
        return (_gru(gates, recurrent, hidden),)
    if mode == "LSTM":
        fused = fused and not gates.dtype.is_low_precision
        hidden, cell = (lstm_cell if fused else lstm_formula)(gates + recurrent, state[1])
        projection = weights.get("weight_hr")
        return (hidden if projection is None else linear(hidden, projection)), cell
    total = gates + recurrent
    return (total.tanh() if mode == "RNN_TANH" else total.relu(),)


def _gru(gates: Tensor, recurrent: Tensor, hidden: Tensor) -> Tensor:
    """r, z = σ(…), n = tanh(… + r · (U h + c)), h' = (1 − z) n + z h."""
    input_r, input_z, input_n = gates.chunk(3, 1)
    hidden_r, hidden_z, hidden_n = recurrent.chunk(3, 1)
    reset, update = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    new = (input_n + reset * hidden_n).tanh()
    return (hidden - new) * update + new


_lower_on_gpu = functools.partial(autocast.applied, policy_name="", on_gpu="lower")


@_lower_on_gpu
def cell(mode: str, input: Tensor, state: Sequence[Tensor] | None, weights: Weights, hidden_size: int) -> State:
    """The next state of (N, features), or of (features,); the first one is zero.

    Raises RuntimeError for sizes that don't fit.
    """
    batched = input.dim() == 2
    input = input if batched else input.unsqueeze(0)
    if state is None:
        state = [input.new_zeros(input.size(0), hidden_size)] * (2 if mode == "LSTM" else 1)
    elif not batched:
        state = [each.unsqueeze(0) for each in state]
    expected = weights["weight_ih"].size(1)
    if input.size(1) != expected:
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {expected}")
    for number, each in enumerate(state):
        if each.size(0) != input.size(0):
            raise RuntimeError(
                f"Input batch size {input.size(0)} doesn't match hidden{number} batch size {each.size(0)}"
            )
        if each.size(1) != hidden_size:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {each.size(1)}, expected {hidden_size}"
            )
    gates = linear(input, weights["weight_ih"], weights.get("bias_ih"))
    result = step(mode, gates, tuple(state), weights)
    return result if batched else tuple(each.squeeze(0) for each in result)


@_lower_on_gpu
def layer(
    mode: str, input: Tensor, sizes: Sequence[int] | None, state: State, weights: Weights, reverse: bool
) -> tuple[Tensor, State]:
    """One layer in one direction over (L, N, features), or over packed rows of which step t has `sizes[t]`: its output
    at every step and its last state.
    """
    outputs, state = _unroll(mode, input, sizes, state, weights, reverse)
    joined: Callable[..., Tensor] = stack if sizes is None else cat
    return joined(outputs), state


def _unroll(
    mode: str, input: Tensor, sizes: Sequence[int] | None, state: State, weights: Weights, reverse: bool
) -> tuple[list[Tensor], State]:
    """The output of each step and the last state. Where a step has fewer sequences, the others keep their state."""
    gates = linear(input, weights["weight_ih"], weights.get("bias_ih"))
    if sizes is not None and state[0].shape[0] != sizes[0]:
        raise RuntimeError(
            f"The size of tensor a ({state[0].shape[0]}) must match the size of tensor b ({sizes[0]}) at non-singleton "
            "dimension 0"
        )
    steps = gates.unbind(0) if sizes is None else gates.split(list(sizes))
    outputs = []
    for each in reversed(steps) if reverse else steps:
        batch = each.shape[0]
        if sizes is None or batch == state[0].shape[0]:
            state = step(mode, each, state, weights, fused=True)
            outputs.append(state[0])
        else:
            active = step(mode, each, tuple(part[:batch] for part in state), weights, fused=True)
            outputs.append(active[0])
            state = tuple(cat([new, old[batch:]]) for new, old in zip(active, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


@declare(variants="", node="MkldnnRnnLayerBackward0", derivatives={"steps": lambda grad: list(unbind(grad))})
def _output(xp: Any, steps: Sequence[Array], kind: dtype) -> Array:
    """The outputs of an LSTM's steps in one tensor; in PyTorch, the node of this name stands for the whole layer."""
    return xp.stack(steps).astype(kind.numpy, copy=False)


def _lstm_layer(
    input: Tensor, state: list[Tensor], weights: list[Tensor], names: list[str], reverse: bool
) -> list[Tensor]:
    """The output and the last state. Two-byte floats compute in float32, and round what comes out."""
    lower = input.dtype
    if lower.is_low_precision:
        input, state, weights = input.float(), [each.float() for each in state], [each.float() for each in weights]
    steps, last = _unroll("LSTM", input, None, tuple(state), dict(zip(names, weights, strict=True)), reverse)
    return [_output(steps, lower), *(each.to(lower) for each in last)]


lstm_layer = autocast.applied(autocast.one_kernel(_lstm_layer), "lower")
"""An LSTM layer where PyTorch leaves it to oneDNN, so that autocast casts its arguments and not those of its steps."""
