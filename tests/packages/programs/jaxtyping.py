"""jaxtyping, beartype: shapes and types that are checked when a function is called."""

# ruff: noqa: F722
import torch
from beartype import beartype
from jaxtyping import Float, Int, jaxtyped


@jaxtyped(typechecker=beartype)
def product(x: Float[torch.Tensor, "n k"], y: Float[torch.Tensor, "k m"]) -> Float[torch.Tensor, "n m"]:
    return x @ y


print(product(torch.ones(2, 3), torch.ones(3, 4)).shape)
for wrong in (torch.ones(4, 3), torch.ones(3, 4, dtype=torch.int64)):
    try:
        product(torch.ones(2, 3), wrong)
    except Exception as error:
        print(type(error).__name__)
print(
    isinstance(torch.ones(2, dtype=torch.int32), Int[torch.Tensor, "2"]),
    isinstance(torch.ones(2), Int[torch.Tensor, "2"]),
)
