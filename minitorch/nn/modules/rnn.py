"""Recurrent layers: RNN, LSTM (Hochreiter and Schmidhuber 1997), GRU (Cho et al. 2014), and their cells.

A layer projects all inputs at once and then walks through time. A batch of sequences of different length is packed:
longest first, step t has the `batch_sizes[t]` sequences that are longer than t.
Source: https://pytorch.org/docs/stable/nn.html#recurrent-layers
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.nn.utils.rnn import PackedSequence
from minitorch.ops.creation import empty
from minitorch.ops.joining import cat, stack
from minitorch.tensor import Tensor

State = tuple[Tensor, ...]
Step = Callable[[Tensor, State], State]


def _tanh_step(gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return (gates + F.linear(hidden, weight, bias)).tanh()


def _relu_step(gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return (gates + F.linear(hidden, weight, bias)).relu()


def _gru_step(gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """r, z = σ(…), n = tanh(… + r · (W h + b)), h' = (1 − z) n + z h."""
    input_r, input_z, input_n = gates.chunk(3, -1)
    hidden_r, hidden_z, hidden_n = F.linear(hidden, weight, bias).chunk(3, -1)
    reset, update = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    new = (input_n + reset * hidden_n).tanh()
    return new + update * (hidden - new)


def _lstm_step(
    gates: Tensor, state: State, weight: Tensor, bias: Tensor | None, projection: Tensor | None = None
) -> State:
    """i, f, o = σ(…), g = tanh(…), c' = f c + i g, h' = o tanh c'."""
    hidden, cell = state
    i, f, g, o = (gates + F.linear(hidden, weight, bias)).chunk(4, -1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * cell.tanh()
    return (hidden if projection is None else F.linear(hidden, projection)), cell


_STEPS = {"RNN_TANH": _tanh_step, "RNN_RELU": _relu_step, "GRU": _gru_step}
_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def _walk(steps: list[Tensor], state: State, step: Step, reverse: bool) -> tuple[list[Tensor], State]:
    """The output at every step and the last state; where a step has fewer sequences, the others keep their state."""
    outputs = []
    for gates in reversed(steps) if reverse else steps:
        batch = gates.shape[0]
        if batch == state[0].shape[0]:
            state = step(gates, state)
            outputs.append(state[0])
        else:
            active = step(gates, tuple(each[:batch] for each in state))
            outputs.append(active[0])
            state = tuple(cat([new, old[batch:]]) for new, old in zip(active, state, strict=True))
    return (outputs[::-1] if reverse else outputs), state


class RNNBase(Module):
    """What all recurrent layers share."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                "num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        self._make_weights({"device": device, "dtype": dtype})
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _make_weights(self, where: dict[str, Any]) -> None:
        rows = _GATES[self.mode] * self.hidden_size
        for layer in range(self.num_layers):
            width = self.input_size if layer == 0 else self._output_size * self._directions
            for direction in range(self._directions):
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, self._output_size)}
                if self.bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
                if self.proj_size:
                    shapes["weight_hr"] = (self.proj_size, self.hidden_size)
                self._all_weights.append([self._name(name, layer, direction) for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    setattr(self, name, Parameter(empty(shape, **where)))

    @staticmethod
    def _name(name: str, layer: int, direction: int) -> str:
        return f"{name}_l{layer}{'_reverse' if direction else ''}"

    def _weight(self, name: str, layer: int, direction: int) -> Tensor | None:
        return getattr(self, self._name(name, layer, direction), None)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, layer by layer and direction by direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def __getstate__(self) -> dict[str, Any]:
        names = [name for together in self._all_weights for name in together]
        weights = [getattr(self, name) for name in names]
        # PyTorch's own expects to find these.
        return {**self.__dict__, "_flat_weights_names": names, "_flat_weights": weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: each for name, each in state.items() if not name.startswith("_flat_weights")})

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in ±1/√hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: only cuDNN wants its weights in one piece."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The last layer's output at every step, and the last states of all layers (num_layers · directions, N, H)."""
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        name = "RNN" if self.mode.startswith("RNN") else self.mode
        if input.dim() not in (2, 3):
            ending = "D tensor instead" if name == "RNN" else "D instead"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}{ending}")
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            if hx is not None:
                hx = tuple(each.unsqueeze(1) for each in hx) if self.mode == "LSTM" else hx.unsqueeze(1)
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        if self.batch_first:
            input = input.transpose(0, 1)
        state = self._state(hx, input.shape[1], input)
        length, batch, _ = input.shape
        output, state = self._run(input.reshape(length * batch, -1), [batch] * length, state)
        output = output.view(length, batch, -1)
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            state = tuple(each.squeeze(1) for each in state)
        return output, state if self.mode == "LSTM" else state[0]

    def _packed(self, input: PackedSequence, hx: Any) -> Any:
        sizes = input.batch_sizes.tolist()
        state = self._state(hx, sizes[0], input.data)
        if hx is not None and input.sorted_indices is not None:
            state = tuple(each.index_select(1, input.sorted_indices) for each in state)
        output, state = self._run(input.data, sizes, state)
        if input.unsorted_indices is not None:
            state = tuple(each.index_select(1, input.unsorted_indices) for each in state)
        packed = PackedSequence(output, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
        return packed, state if self.mode == "LSTM" else state[0]

    def _state(self, hx: Any, batch: int, input: Tensor) -> State:
        """The first states, zeros by default. Raises RuntimeError for a wrong shape."""
        lead = self.num_layers * self._directions
        shapes = [(lead, batch, self._output_size)]
        if self.mode == "LSTM":
            shapes.append((lead, batch, self.hidden_size))
        if hx is None:
            return tuple(input.new_zeros(shape) for shape in shapes)
        state = tuple(hx) if self.mode == "LSTM" else (hx,)
        for number, (each, shape) in enumerate(zip(state, shapes, strict=True)):
            if tuple(each.shape) != shape:
                which = f"hidden[{number}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(each.shape)}")
        return state

    def _run(self, data: Tensor, sizes: list[int], state: State) -> tuple[Tensor, State]:
        """All layers over the rows of `data`, of which step t has sizes[t]."""
        last: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self._directions):
                number = layer * self._directions + direction
                gates = F.linear(
                    data, self._weight("weight_ih", layer, direction), self._weight("bias_ih", layer, direction)
                )
                first = tuple(each[number] for each in state)
                made, final = _walk(list(gates.split(sizes)), first, self._step(layer, direction), direction == 1)
                outputs.append(cat(made))
                last.append(final)
            data = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                data = F.dropout(data, self.dropout, self.training)
        return data, tuple(stack(list(each)) for each in zip(*last, strict=True))

    def _step(self, layer: int, direction: int) -> Step:
        weight: Any = self._weight("weight_hh", layer, direction)
        bias = self._weight("bias_hh", layer, direction)
        if self.mode == "LSTM":
            projection = self._weight("weight_hr", layer, direction)
            return lambda gates, state: _lstm_step(gates, state, weight, bias, projection)
        step = _STEPS[self.mode]
        return lambda gates, state: (step(gates, state[0], weight, bias),)

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        for name, default in defaults.items():
            if getattr(self, name) != default:
                shown += f", {name}={getattr(self, name)}"
        return shown


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or ReLU of it.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.RNN.html
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory. Source: https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent unit. Source: https://pytorch.org/docs/stable/generated/torch.nn.GRU.html"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """One step of a recurrent layer."""

    mode: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = _GATES[self.mode] * hidden_size
        where = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(empty((rows, input_size), **where))
        self.weight_hh = Parameter(empty((rows, hidden_size), **where))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in ±1/√hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")

    def _gates(self, input: Tensor) -> Tensor:
        if input.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        return F.linear(input, self.weight_ih, self.bias_ih)

    def _zeros(self, input: Tensor) -> Tensor:
        return input.new_zeros((*input.shape[:-1], self.hidden_size))

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        gates = self._gates(input)
        if hx is not None and hx.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected hidden to be 1D or 2D, got {hx.dim()}D instead")
        return _STEPS[self.mode](gates, self._zeros(input) if hx is None else hx, self.weight_hh, self.bias_hh)


class RNNCell(RNNCellBase):
    """One step of an RNN. Source: https://pytorch.org/docs/stable/generated/torch.nn.RNNCell.html"""

    mode = "RNN_TANH"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        self.nonlinearity = nonlinearity
        self.mode = f"RNN_{nonlinearity.upper()}"

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class GRUCell(RNNCellBase):
    """One step of a GRU. Source: https://pytorch.org/docs/stable/generated/torch.nn.GRUCell.html"""

    mode = "GRU"


class LSTMCell(RNNCellBase):
    """One step of an LSTM; its state is (h, c).

    Source: https://pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html
    """

    mode = "LSTM"

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        gates = self._gates(input)
        state = (self._zeros(input), self._zeros(input)) if hx is None else tuple(hx)
        for number, each in enumerate(state):
            if each.dim() not in (1, 2):
                raise ValueError(f"LSTMCell: Expected hx[{number}] to be 1D or 2D, got {each.dim()}D instead")
        return _lstm_step(gates, state, self.weight_hh, self.bias_hh)
