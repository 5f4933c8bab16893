"""Arguments of another type or number than an op takes are refused in PyTorch's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.same import errors, same

CALLS = {
    "a size that is no integer": (
        "repeat(1.5) repeat((1.5,)) repeat(2,1.5) expand(1.5) expand((1.5,2)) expand(2,1.5) reshape(1.5) "
        "reshape((1.5,)) reshape(2,1.5) permute(1.5) permute(0,1.5) permute((0,1.5)) flip(1.5) flip((1.5,)) "
        "tile(1.5) roll(1.5) unflatten(0,(1.5,)) resize_(1.5)"
    ),
    "no size": "reshape() repeat() expand() permute()",
    "a tuple and more": "expand((2,3),1) permute((0,1),2) repeat((1,2),3)",
    "too many by position": (
        "exp(1) t(1) mul(1,2) cumsum(1,2) transpose(0,1,2) select(0,1,2) triu(0,1) diagonal(0,0,1,2) argmax(0,True,1) "
        "logsumexp(0,True,1)"
    ),
}


@pytest.mark.parametrize("wrong", CALLS)
@same
def test_the_words_are_torchs(torch: Any, wrong: str) -> Any:
    tensor = torch.ones(2, 3)
    return errors(*(lambda call=call: eval(f"tensor.{call}", {"tensor": tensor}) for call in CALLS[wrong].split()))


@same
def test_a_zero_keeps_its_sign(torch: Any) -> Any:
    zeros = torch.tensor([-0.0, 0.0])
    units = torch.nn.functional.elu, torch.nn.functional.selu, torch.nn.functional.celu
    return [torch.signbit(unit(zeros)) for unit in units]
