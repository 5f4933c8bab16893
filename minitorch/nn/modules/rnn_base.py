"""What the recurrent layers, and what their cells, have in common.

Source: https://pytorch.org/docs/stable/nn.html#recurrent-layers
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import InitVar
from typing import Any

from minitorch import Tensor, cat, empty, stack
from minitorch.dispatch.autocast import state as autocast
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.linear import parameter
from minitorch.nn.modules.utils import changed
from minitorch.nn.parameter import Parameter
from minitorch.nn.utils.rnn import PackedSequence
from minitorch.ops.nn import recurrent
from minitorch.ops.nn.recurrent import GATES, State


@layer
class RNNBase(Layer):
    """Recurrent layers: (L, N, input_size) → (L, N, D · hidden_size) and the state (D · num_layers, N, hidden).

    D is 2 if `bidirectional`, else 1; all without N for one sequence, and (N, L, …) with `batch_first`. `weight_ih_l0`
    (G · hidden, input_size), `weight_hh_l0` (G · hidden, hidden) and two biases (G · hidden,), with G gates, start
    uniform in ±1/√hidden_size. `dropout` acts between layers. Raises ValueError for sizes that aren't positive and
    inputs that are neither 2-D nor 3-D, RuntimeError for other sizes.
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int = 1
    bias: bool = True
    batch_first: bool = False
    dropout: float = 0.0
    bidirectional: bool = False
    proj_size: int = 0
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, device: Any, dtype: Any) -> None:
        dropout, num_layers = self.dropout, self.num_layers
        self.dropout = float(dropout)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=4,
            )
        for name in ("bias", "batch_first"):
            if not isinstance(flag := getattr(self, name), bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        for name in ("input_size", "hidden_size"):
            if not isinstance(size := getattr(self, name), int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)
        self._all_weights: list[list[str]] = []
        self._make_weights({"device": device, "dtype": dtype})
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _make_weights(self, where: dict[str, Any]) -> None:
        rows = GATES[self.mode] * self.hidden_size
        output = self.proj_size or self.hidden_size
        for number in range(self.num_layers):
            width = self.input_size if number == 0 else output * self._directions
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, output)}
            if self.bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for direction in ("", "_reverse")[: self._directions]:
                self._all_weights.append([f"{name}_l{number}{direction}" for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    setattr(self, name, Parameter(empty(shape, **where)))

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, layer by layer and direction by direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch's own expects to find these.
        names = {"_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}
        return {**self.__dict__, **names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: each for name, each in state.items() if not name.startswith("_flat_weights")})

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in ±1/√hidden_size."""
        _draw(self)

    def flatten_parameters(self) -> None:
        """Does nothing: only cuDNN wants its weights in one piece."""

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises ValueError or RuntimeError for an input of another type or size than the weights expect."""
        kind = self._flat_weights[0].dtype
        if input.dtype is not kind and not autocast.enabled:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: "
                f"input.to({kind}), or convert model: model.to({input.dtype})"
            )
        dimensions = 3 if batch_sizes is None else 2
        if input.dim() != dimensions:
            raise RuntimeError(f"input must have {dimensions} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(num_layers · directions, N, size of the output)."""
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * self._directions, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raises RuntimeError for a state of another shape than expected."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises ValueError or RuntimeError for an input or state that doesn't fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state of the sequences in another order."""
        if permutation is None:
            return hx
        return self._each(hx, lambda state: state.index_select(1, permutation))

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The last layer's output at every step, and the last states of all layers (num_layers · directions, N, H)."""
        if isinstance(input, PackedSequence):
            data, sizes, order, back = input
            hx = self._zeros(data, sizes) if hx is None else self.permute_hidden(hx, order)
            if self.mode != "LSTM":  # of which PyTorch leaves that to the first product
                self.check_forward_args(data, hx, sizes)
            output, state = self._run(data, sizes.tolist(), hx)
            return PackedSequence(output, sizes, order, back), self.permute_hidden(state, back)
        name = "RNN" if self.mode.startswith("RNN") else self.mode
        if input.dim() not in (2, 3):
            kind = "D tensor" if name == "RNN" else "D"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}{kind} instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_dimensions(hx, 3 if batched else 2, "batched" if batched else "unbatched")
        if not batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else self._each(hx, lambda state: state.unsqueeze(1))
        hx = self._zeros(input, None) if hx is None else hx
        self.check_forward_args(input, hx, None)
        if not input.size(1 if self.batch_first else 0):
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        output, state = self._run(input.transpose(0, 1) if self.batch_first else input, None, hx)
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            output, state = output.squeeze(batch_dim), self._each(state, lambda each: each.squeeze(1))
        return output, state

    def _check_dimensions(self, hx: Any, dimensions: int, kind: str) -> None:
        if hx.dim() != dimensions:
            raise RuntimeError(
                f"For {kind} {dimensions}-D input, hx should also be {dimensions}-D but got {hx.dim()}-D tensor"
            )

    def _zeros(self, input: Tensor, sizes: Tensor | None) -> Any:
        return input.new_zeros(self.get_expected_hidden_size(input, sizes))

    def _each(self, hx: Any, change: Callable[[Tensor], Tensor]) -> Any:
        return (change(hx[0]), change(hx[1])) if self.mode == "LSTM" else change(hx)

    def _run(self, data: Tensor, sizes: list[int] | None, hx: Any) -> tuple[Tensor, Any]:
        """All layers over (L, N, features), or over packed rows of which step t has sizes[t]."""
        state: State = hx if self.mode == "LSTM" else (hx,)
        self._check_devices(data, state)
        last: list[State] = []
        names = [name.partition("_l")[0] for name in self._all_weights[0]]
        for number in range(0, len(self._all_weights), self._directions):
            outputs = []
            for direction in range(self._directions):
                first = tuple(each[number + direction] for each in state)
                output, final = self._layer(data, sizes, first, names, self.all_weights[number + direction], direction)
                outputs.append(output)
                last.append(final)
            data = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
            if self.dropout and number + self._directions < len(self._all_weights):
                data = F.dropout(data, self.dropout, self.training)
        final = tuple(stack(list(each)) for each in zip(*last, strict=True))
        return data, final if self.mode == "LSTM" else final[0]

    def _check_devices(self, input: Tensor, state: State) -> None:
        """Raises RuntimeError where the state or a parameter lies on another device than the input."""
        for kind, tensors in (("hidden", state), ("parameter", self._flat_weights)):
            for each in tensors:
                if each.device is not input.device:
                    raise RuntimeError(
                        f"Input and {kind} tensors are not at the same device, found input tensor at {input.device} "
                        f"and {kind} tensor at {each.device}"
                    )

    def _layer(
        self, data: Tensor, sizes: list[int] | None, first: State, names: list[str], weights: Any, direction: int
    ) -> tuple[Tensor, State]:
        return recurrent.layer(self.mode, data, sizes, first, dict(zip(names, weights, strict=True)), direction == 1)

    def extra_repr(self) -> str:
        shown = changed(self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0, bidirectional=False)
        return f"{self.input_size}, {self.hidden_size}{shown}"


@layer
class RNNCellBase(Layer):
    """One step of a recurrent layer: (N, input_size) and a state (N, hidden_size) → the new state; or both without N.

    `weight_ih` (G · hidden, input_size), `weight_hh` (G · hidden, hidden) and two biases (G · hidden,), with G gates,
    start uniform in ±1/√hidden_size. Raises ValueError for other numbers of dimensions, RuntimeError for other sizes.
    """

    input_size: int
    hidden_size: int
    bias: bool
    num_chunks: InitVar[int]
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, num_chunks: int, device: Any, dtype: Any) -> None:
        rows = num_chunks * self.hidden_size
        self.weight_ih = Parameter(empty((rows, self.input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, self.hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, parameter(rows, self.bias, device, dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in ±1/√hidden_size."""
        _draw(self)

    def extra_repr(self) -> str:
        nonlinearity = changed(self, nonlinearity="tanh") if hasattr(self, "nonlinearity") else ""
        return f"{self.input_size}, {self.hidden_size}{changed(self, bias=True)}{nonlinearity}"

    def _step(self, mode: str, input: Tensor, state: list[Tensor] | None) -> State:
        weights = {name: each for name, each in self._parameters.items() if each is not None}
        return recurrent.cell(mode, input, state, weights, self.hidden_size)

    def _check(self, input: Tensor, hx: Tensor | None) -> None:
        for name, each in (("input", input), ("hidden", hx)):
            if each is not None and each.dim() not in (1, 2):
                raise ValueError(f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {each.dim()}D instead")


def _draw(module: Any) -> None:
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)
