"""Recurrent layers: one step, and the loop over time that repeats it."""

# 15 · Recurrent networks
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Tensor, cat, empty, relu, stack, zeros
from ..dispatch import Function
from .dropout import dropout
from .init import draw
from .linear import linear
from .module import Module
from .packing import PackedSequence
from .parameter import Parameter
from .words import unusual

State = tuple[Tensor, ...]
"""What a network remembers from step to step: (h,), or (h, c) for an LSTM; each has shape (N, hidden)."""

# A step takes the input's share in the sums, W x + b, which the layer has computed for all steps at once.


def rnn_step(x: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> State:
    """h' = tanh(x + U h + b), for U = `weight`. Source: Elman 1990, https://doi.org/10.1207/s15516709cog1402_1"""
    (h,) = state
    return ((x + linear(h, weight, bias)).tanh(),)


def relu_step(x: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> State:
    """h' = relu(x + U h + b)."""
    (h,) = state
    return (relu(x + linear(h, weight, bias)),)


def lstm_step(x: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> State:
    """The next state (h', c') of an LSTM; `state` is (h, c), both (N, hidden)."""
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(x: Tensor, state: State, weight: Tensor, bias: Tensor | None) -> State:
    """The next state (h',) of a GRU; `state` is (h,), h of shape (N, hidden)."""
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, bias).chunk(3, -1)
    z = (x_z + u_z).sigmoid()
    n = (x_n + (x_r + u_r).sigmoid() * u_n).tanh()
    return ((1 - z) * n + z * h,)


def unroll(
    step: Function, inputs: Sequence[Tensor], state: State, weight: Tensor, bias: Tensor | None, reverse: bool = False
) -> tuple[list[Tensor], State]:
    """Go through time: `state = step(x, state, weight, bias)` for each x in `inputs`, or backwards."""
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


class RNNBase(Module):
    """(T, N, in) → outputs (T, N, directions · hidden) and last states (num_layers · directions, N, hidden)."""

    step: Function
    gates: int  # how many parts of a weight there are
    names: tuple[str, ...] = ("h",)  # of the states

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        **where: Any,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        self.directions = ("", "_reverse") if bidirectional else ("",)
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * len(self.directions)
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
            for direction in self.directions:
                for name, shape in shapes.items():
                    self.register_parameter(f"{name}_l{layer}{direction}", Parameter(empty(shape, **where)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniform in ±1/√hidden_size."""
        draw(self.parameters(), self.hidden_size)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs and the last states, for a batch, one sequence (T, input_size), or a `PackedSequence`."""
        given = None if hx is None else tuple(hx) if len(self.names) > 1 else (hx,)
        run = self.packed if isinstance(input, PackedSequence) else self.padded
        output, state = run(input, given)
        return output, state if len(self.names) > 1 else state[0]

    def packed(self, input: Any, given: State | None) -> tuple[Any, State]:
        """What `forward` does with a packed batch: in the order in which it is sorted, and back."""
        data, sizes, order, back = input
        first = given if given is None or order is None else tuple(each.index_select(1, order) for each in given)
        output, state = self.run(data, sizes.tolist(), self.first_states(first, data, sizes[0].item()))
        state = state if back is None else tuple(each.index_select(1, back) for each in state)
        return PackedSequence(output, sizes, order, back), state

    def padded(self, input: Any, given: State | None) -> tuple[Any, State]:
        """What `forward` does with a batch or with one sequence: as if packed, with all sequences at every step."""
        if input.ndim not in (2, 3):
            kind = "D tensor" if isinstance(self, RNN) else "D"
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}{kind} instead")
        if input.ndim == 2:
            given = None if given is None else tuple(each.unsqueeze(1) for each in given)
            output, state = self.padded(input.unsqueeze(int(not self.batch_first)), given)
            return output.squeeze(int(not self.batch_first)), tuple(each.squeeze(1) for each in state)
        steps = input.transpose(0, 1) if self.batch_first else input
        length, count, width = steps.shape
        if width != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {width}")
        first = self.first_states(given, input, count)
        output, state = self.run(steps.reshape(length * count, width), [count] * length, first)
        output = output.reshape(length, count, output.shape[1])
        return output.transpose(0, 1) if self.batch_first else output, state

    def first_states(self, given: State | None, data: Tensor, count: int) -> State:
        """The states at the start, (num_layers · directions, N, hidden): zeros if none are given."""
        size = (self.num_layers * len(self.directions), count, self.hidden_size)
        if given is None:
            return tuple(zeros(size, dtype=data.dtype, device=data.device) for _ in self.names)
        for number, each in enumerate(given):
            if each.shape != size:
                name = f"hidden[{number}]" if len(given) > 1 else "hidden"
                raise RuntimeError(f"Expected {name} size {size}, got {list(each.shape)}")
        return given

    def run(self, data: Tensor, sizes: list[int], state: State) -> tuple[Tensor, State]:
        """All layers over packed rows, of which step t has `sizes[t]`."""
        last = []
        for layer in range(self.num_layers):
            outputs = []
            for number, direction in enumerate(self.directions):
                place = layer * len(self.directions) + number
                names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                weights: list[Any] = [getattr(self, f"{name}_l{layer}{direction}", None) for name in names]
                weight_ih, weight_hh, bias_ih, bias_hh = weights
                inputs = linear(data, weight_ih, bias_ih).split(sizes)
                first = tuple(each[place] for each in state)
                output, final = unroll(self.step, inputs, first, weight_hh, bias_hh, number == 1)
                outputs.append(cat(output))
                last.append(final)
            data = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
            if layer < self.num_layers - 1:
                data = dropout(data, self.dropout, self.training)
        return data, tuple(stack(each) for each in zip(*last, strict=True))

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        return f"{self.input_size}, {self.hidden_size}{unusual(self, usual)}"


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or ReLU of it."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", **options: Any
    ) -> None:
        steps = {"tanh": rnn_step, "relu": relu_step}
        if nonlinearity not in steps:
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(input_size, hidden_size, num_layers, **options)
        self.nonlinearity, self.step = nonlinearity, steps[nonlinearity]


class LSTM(RNNBase):
    """Long short-term memory: its state is (h, c), and c changes by sums."""

    gates, names, step = 4, ("h", "c"), staticmethod(lstm_step)


class GRU(RNNBase):
    """The gated recurrent unit: an LSTM with one state and one gate less."""

    gates, step = 3, staticmethod(gru_step)
