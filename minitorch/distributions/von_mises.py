"""The von Mises distribution. Source: https://pytorch.org/docs/stable/distributions.html#vonmises"""

from __future__ import annotations

import math

from minitorch import Tensor, empty, no_grad, rand, where, zeros
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import Parameter, Shape, broadcast_all, formula, lazy_property
from minitorch.dtypes import bool_, float64

# I₀ and I₁ for x < 3.75 as polynomials of (x/3.75)², and √x exp(−x) times them above as polynomials of 3.75/x.
# Abramowitz and Stegun 9.8.1 to 9.8.4.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (
        0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633,
        0.00392377,
    ),
    (
        0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654,
        -0.00420059,
    ),
)  # fmt: skip


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    total = x * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        total = total * x + coefficient
    return total


def _log_bessel(x: Tensor, order: int) -> Tensor:
    """ln I₀ or ln I₁, the modified Bessel functions, for x > 0."""
    small = _polynomial((x / 3.75).square(), _SMALL[order])
    small = (x.abs() * small if order == 1 else small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return where(x < 3.75, small, large)


class VonMises(Distribution):
    """Angles with density in proportion to exp(concentration · cos(x − loc)). `variance` is the circular one."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Parameter, concentration: Parameter, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = formula(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()

    def _log_prob(self, value: Tensor) -> Tensor:
        log_prob = self.concentration * (value - self.loc).cos()
        return log_prob - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Rejection from a wrapped Cauchy distribution. Best and Fisher 1979, doi:10.2307/2346732."""
        with no_grad():
            loc, kappa = self.loc.to(float64), self.concentration.to(float64)
            tau = 1 + (1 + 4 * kappa.square()).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho.square()) / (2 * rho))
            shape = self._extended_shape(sample_shape)
            x = empty(shape, dtype=float64, device=loc.device)
            done = zeros(shape, dtype=bool_, device=loc.device)
            while not done.all():
                u1, u2, u3 = rand((3, *shape), dtype=float64, device=loc.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x = where(accept, (u3 - 0.5).sign() * f.acos(), x)  # anew also where one was accepted before
                done |= accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
