"""opt_einsum: contractions, paths and expressions."""

import opt_einsum
import torch

torch.manual_seed(0)
x, y, z = (
    torch.randn(4, 5, dtype=torch.float64),
    torch.randn(5, 6, dtype=torch.float64),
    torch.randn(6, 4, dtype=torch.float64),
)
result = opt_einsum.contract("ab,bc,ca->", x, y, z)
print(type(result).__name__, f"{result:.5f}")
print(opt_einsum.contract_path("ab,bc,cd->ad", x, y, z)[1])
expression = opt_einsum.contract_expression("ab,bc->ac", (4, 5), (5, 6))
print(f"{expression(x, y).norm():.5f}", f"{opt_einsum.contract('ab,cb->acb', x, x, backend='torch').sum():.5f}")
