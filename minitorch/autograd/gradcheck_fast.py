"""gradcheck's fast mode: of each Jacobian J not the elements, but one number vᵀ J u, for random unit vectors u and v.

The numbers are positive, so that errors don't cancel, and always the same. Of a complex input, u holds a vector for its
real and one for its imaginary part; of complex outputs, the imaginary and then the real part are checked.
Source: https://pytorch.org/docs/stable/notes/gradcheck.html#fast-mode
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.autograd.jacobians import (
    Function,
    GradcheckError,
    Tolerances,
    _analytical,
    _as_tuple,
    _check_reentrant,
    _differentiable,
    _gradients,
    _mismatch,
    _numerical,
    _slopes,
)
from minitorch.interop import from_numpy
from minitorch.ops.random.new import rand
from minitorch.random import Generator
from minitorch.tensor import Tensor

_HEADING = """
The above quantities relating the numerical and analytical jacobians are computed\x20
in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background\x20
about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:

"""
_ONLY_FAST = (
    "Fast gradcheck failed but element-wise differences are small. This means that the test might've passed in "
    "slow_mode!"
)


def check(func: Function, inputs: tuple[Any, ...], tolerances: Tolerances) -> None:
    """Raises GradcheckError where a derivative is wrong."""
    are_complex = [each.is_complex() for each in _differentiable(func(*inputs))]
    if not any(are_complex):
        _Check(func, inputs, "", are_complex, tolerances).run()
        return
    for part in ("imaginary", "real"):
        _Check(_part_of(func, part), inputs, part, are_complex, tolerances).run()


def _part_of(func: Function, part: str) -> Function:
    """The function of which complex results are replaced by their imaginary or their real parts."""
    name = part[:4]

    def of_part(*inputs: Any) -> tuple[Any, ...]:
        outputs = _as_tuple(func(*inputs))
        is_complex = [isinstance(each, Tensor) and each.is_complex() for each in outputs]
        return tuple(getattr(each, name) if one else each for each, one in zip(outputs, is_complex, strict=True))

    return of_part


class _Check:
    """The comparison for a function whose outputs are real; `part` says what they are of complex ones, or is empty."""

    def __init__(
        self,
        func: Function,
        inputs: tuple[Any, ...],
        part: str,
        complex_outputs: list[bool],
        tolerances: Tolerances,
    ) -> None:
        self.func, self.inputs, self.part = func, inputs, part
        self.eps, self.atol, self.rtol, self.nondet_tol, self.check_dtypes = tolerances
        self.variables = [each for each in inputs if isinstance(each, Tensor) and each.requires_grad]
        self.outputs = _differentiable(func(*inputs))
        self.complex_outputs = complex_outputs
        random = Generator()
        self.all_u = [[_unit(each, random) for _ in range(1 + each.is_complex())] for each in self.variables]
        self.all_v = [_unit(each, random) for each in self.outputs]

    def run(self) -> None:
        numerical = [self.numerical(*each) for each in zip(self.variables, self.all_u, strict=True)]
        analytical = [self.analytical(*each) for each in zip(self.outputs, self.all_v, strict=True)]
        for i, v in enumerate(self.all_v):
            for j, u in enumerate(self.all_u):
                atol = self.atol * sum(float(each.sum()) for each in u) * float(v.sum())
                if not np.allclose(analytical[i][j], numerical[j][i], self.rtol, atol):
                    raise GradcheckError(self.mismatch(i, j, analytical[i][j], numerical[j][i]))

    def numerical(self, variable: Tensor, u: list[Tensor]) -> list[Any]:
        """vᵀ J u for each output, from one difference along u."""
        units = (1, 1j)
        total: list[Any] = [0] * len(self.outputs)
        for unit, vector in zip(units, u, strict=False):
            step = (vector.reshape(variable.shape) * (self.eps * unit))._array
            slopes = _slopes(self.func, self.inputs, variable, ..., step, self.eps, lambda each: each.requires_grad)
            total = [
                before + unit * (_host(v) @ slope) for before, v, slope in zip(total, self.all_v, slopes, strict=True)
            ]
        return total

    def analytical(self, output: Tensor, v: Tensor) -> list[Any]:
        """vᵀ J u for each variable, from a backward pass with v."""
        first, second = (
            list(_gradients(output, self.variables, v.reshape(output.shape), self.check_dtypes)) for _ in range(2)
        )
        products: list[Any] = [0] * len(self.variables)
        for j, (one, other, u) in enumerate(zip(first, second, self.all_u, strict=True)):
            _check_reentrant(one, other, self.nondet_tol)
            for unit, part, each in zip((1, 1j), (one.real, one.imag), u, strict=False):
                products[j] += unit * (part @ _host(each))
        return products

    def mismatch(self, i: int, j: int, analytical: Any, numerical: Any) -> str:
        variable, output = self.variables[j], self.outputs[i]
        whole = [each for each, _ in _numerical(self.func, self.inputs, variable, self.eps, _requires_grad)][i]
        exact = next(_analytical(output, [variable], False))[0]
        return (
            _mismatch(i, j, self.part if self.complex_outputs[i] else "", numerical, analytical)
            + _HEADING
            + f"Numerical:\n {from_numpy(whole)}\nAnalytical:\n{from_numpy(exact)}\n\n"
            f"The max per-element difference (slow mode) is: {np.abs(whole - exact).max()}.\n"
            + (_ONLY_FAST if np.allclose(exact, whole, self.rtol, self.atol) else "")
        )


def _requires_grad(tensor: Tensor) -> bool:
    return tensor.requires_grad


def _unit(tensor: Tensor, random: Generator) -> Tensor:
    """A vector of positive random numbers, as many as the tensor has elements, of length one."""
    vector: Tensor = rand(tensor.numel(), generator=random).to(dtype=tensor.dtype.to_real(), device=tensor.device)
    return vector / vector.norm()


def _host(tensor: Tensor) -> Any:
    return tensor.device.backend.to_host(tensor._elements)
