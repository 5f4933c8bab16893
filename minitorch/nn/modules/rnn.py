"""Recurrent layers: RNN, LSTM, GRU, and their cells.

A layer projects all inputs at once and then walks through time; `minitorch.ops.nn.recurrent` has the formulas.
Source: https://pytorch.org/docs/stable/nn.html#recurrent-layers
"""

from __future__ import annotations

from typing import Any

from minitorch import Tensor, bfloat16, float32
from minitorch.nn.modules.rnn_base import RNNBase, RNNCellBase
from minitorch.ops.nn.recurrent import State, lstm_layer

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or ReLU of it: (L, N, input_size) → (L, N, hidden_size) and the last h.

    The fourth argument is `nonlinearity`, "tanh" or "relu"; the others are those of all recurrent layers.
    Raises ValueError for another `nonlinearity` and for a `proj_size`. Elman 1990
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """c' = f · c + i · g, h' = o · tanh c', with the gates i, f, o = σ(W x + b + U h + c) and g = tanh of such a sum.

    (L, N, input_size) → (L, N, hidden_size) and the last (h, c), which is the state; `proj_size` > 0 multiplies h by a
    matrix (proj_size, hidden_size). Hochreiter and Schmidhuber 1997
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(num_layers · directions, N, hidden_size)."""
        return *self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for number, size in enumerate(sizes):
            self.check_hidden_size(hidden[number], size, f"Expected hidden[{number}] size {{}}, got {{}}")

    def _check_dimensions(self, hx: Any, dimensions: int, kind: str) -> None:
        if hx[0].dim() != dimensions or hx[1].dim() != dimensions:
            raise RuntimeError(
                f"For {kind} {dimensions}-D input, hx and cx should also be {dimensions}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _zeros(self, input: Tensor, sizes: Tensor | None) -> Any:
        return super()._zeros(input, sizes), input.new_zeros(self.get_expected_cell_size(input, sizes))

    def _layer(
        self, data: Tensor, sizes: list[int] | None, first: State, names: list[str], weights: Any, direction: int
    ) -> tuple[Tensor, State]:
        if sizes is not None or self.proj_size or data.dtype not in (float32, bfloat16) or not data.numel():
            return super()._layer(data, sizes, first, names, weights, direction)
        output, *last = lstm_layer(data, list(first), weights, names, direction == 1)
        return output, tuple(last)


class GRU(RNNBase):
    """h' = (1 − z) · n + z · h, with n = tanh(W x + b + r · (U h + c)) and the gates r, z = σ(W x + b + U h + c).

    (L, N, input_size) → (L, N, hidden_size) and the last h. Raises ValueError for a `proj_size`.
    Cho et al. 2014, https://arxiv.org/abs/1406.1078
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


def _refuse_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNNCell(RNNCellBase):
    """h' = tanh(W x + b + U h + c), or ReLU of it: (N, input_size) and (N, hidden_size) → (N, hidden_size).

    Raises RuntimeError for another `nonlinearity` than "tanh" and "relu".
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else [hx])[0]


class GRUCell(RNNCellBase):
    """One step of a GRU: (N, input_size) and (N, hidden_size) → (N, hidden_size)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check(input, hx)
        return self._step("GRU", input, None if hx is None else [hx])[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM; its state is (h, c): (N, input_size) and twice (N, hidden_size) → the new h and c.

    Raises TypeError for a state that is one tensor, ValueError for other numbers of dimensions, RuntimeError for sizes.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check(input, None)
        if isinstance(hx, Tensor) and hx.dim() > 1:
            raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        for number, each in enumerate(() if hx is None else hx):
            if each.dim() not in (1, 2):
                raise ValueError(f"LSTMCell: Expected hx[{number}] to be 1D or 2D, got {each.dim()}D instead")
        if hx is not None and len(hx) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        hidden, memory = self._step("LSTM", input, None if hx is None else list(hx))
        return hidden, memory
