"""Arguments of another type or number than an op takes are refused in PyTorch's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.case import DTYPES
from tests.same import attempt, errors, same

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


PARAMETERS = (
    "unsqueeze.dim diagonal.offset select.dim transpose.dim0 argmax.dim cat.dim add.alpha softplus.threshold "
    "celu.alpha renorm.p dist.p logit.eps pdist.p cumsum.dtype nansum.dim flip.dims rot90.dims "
    "poisson.generator clone.memory_format triu.diagonal cumsum.dim tril.diagonal"
)
SECOND = "unsqueeze diagonal select transpose argmax cat logit nansum poisson cumsum triu"


@pytest.mark.parametrize("wrong", ["a", [None], object], ids=str)
@same
def test_each_parameter_says_what_it_takes(torch: Any, wrong: Any) -> Any:
    """By keyword and, where that is the second argument, by position too."""
    found = torch.nn.functional
    tensor = torch.ones(2, 2)

    def call(name: str, *args: Any, **named: Any) -> Any:
        return getattr(torch, name, getattr(found, name, None))([tensor] if name == "cat" else tensor, *args, **named)

    pairs = [each.split(".") for each in PARAMETERS.split()]
    return errors(
        *(lambda name=name, which=which: call(name, **{which: wrong}) for name, which in pairs),
        *(lambda name=name: call(name, wrong) for name in SECOND.split()),
    )


IN_PLACE = "add_ mul_ cumsum_ triu_ nan_to_num_ logit_ normal_ uniform_ geometric_ exponential_ renorm_ scatter_add_"


@same
def test_a_method_does_not_count_self(torch: Any) -> Any:
    tensor = torch.ones(2, 2)
    return errors(*(lambda name=name: getattr(tensor, name)("a") for name in IN_PLACE.split()))


COMPUTED_IN = {
    "atan2": 2, "bitwise_and": 2, "bitwise_not": 1, "cholesky_inverse": 1, "cholesky_solve": 2, "copysign": 2,
    "dist": 2, "gcd": 2, "lcm": 2, "nextafter": 2, "_standard_gamma_grad": 2, "_dirichlet_grad": 3,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED_IN)
@same
def test_a_type_that_an_op_does_not_compute_in_is_named(torch: Any, name: str) -> Any:
    function, count = getattr(torch, name), COMPUTED_IN[name]
    tensors = [torch.eye(2).to(getattr(torch, dtype)) for dtype in DTYPES]
    return [attempt(lambda tensor=tensor: str(function(*[tensor] * count).dtype)) for tensor in tensors]


COMPOSED = (
    "inv() inv(None) inv(numbers) det(0) matrix_power(x,[1]) matrix_power(x) lstsq(x,2.5) lstsq(x[0],None) "
    "tensorinv(0) tensorsolve(x,1j) householder_product(x[0],2.5) diagonal() diagonal(x,offset=None) eigvals(float) "
    "multi_dot() solve_triangular(x[0],1,upper=True) vecdot(x,numbers)"
)


@pytest.mark.parametrize("call", COMPOSED.split())
@same
def test_functions_of_several_ops_are_as_strict(torch: Any, call: str) -> Any:
    known = {"x": torch.eye(2), "numbers": np.ones(2), "float": torch.float32}
    return errors(lambda: eval(f"linalg.{call}", {"linalg": torch.linalg, **known}))


NUMBERS = (
    "elu_(x,f) leaky_relu_(x,f) softplus(x,f,f) softplus(x,beta=f) celu(x,f) pdist(x,f) tril(x,i) triu(x,i) "
    "add(x,x,alpha=f) hardtanh(x,-f,f) threshold(x,f,i) avg_pool1d(x,i) max_pool3d(v,i,i) cumsum(x,i) roll(x,i,i) "
    "moveaxis(x,1,i) movedim(x,i,-i) split(x,i) tril(x,f) triu(x,v) cumsum(x,f) softplus(x,learnt) "
    "add(x,x,alpha=learnt)"
)


@pytest.mark.parametrize("call", NUMBERS.split())
@same
def test_a_tensor_of_one_number_is_one(torch: Any, call: str) -> Any:
    known = {
        "x": torch.arange(9.0).view(3, 3) - 4,
        "v": torch.ones(1, 2, 2, 2),
        "i": torch.tensor(1),
        "f": torch.tensor(0.5),
        "learnt": torch.tensor(0.5, requires_grad=True),
    }
    name, _, arguments = call.partition("(")
    function = getattr(torch, name, getattr(torch.nn.functional, name, None))
    return attempt(lambda: eval(f"function({arguments}", {"function": function, **known}))


REFUSED = (
    "gelu(x,'tanh') sum(x,True) sum(x,dim=(True,)) amax(x,True) prod(x,dim=()) prod(x,(0,)) logsumexp(x,()) "
    "logsumexp(x,None) logsumexp(x,True) rot90(x,2.5) rot90(x,k=True) rot90(x,i*1.5) tril(x,nan) triu(x,1.0) "
    "triu(x,diagonal=True) tril_(x,nan) kaiser_window(2.5) hann_window('a') hamming_window(True) multi_dot(v) "
    "multi_dot([1,2]) chain_matmul(v) softmax(x,True) transpose(x,0,True) squeeze(x,True) cat([x],True) sort(x,True) "
    "repeat_interleave(x,2.5) repeat_interleave(x,True)"
)


@pytest.mark.parametrize("call", REFUSED.split())
@same
def test_what_is_no_integer_and_no_list_is_refused(torch: Any, call: str) -> Any:
    known = {"x": torch.ones(2, 2), "v": torch.ones(2, 2, 2), "i": torch.tensor(1), "nan": float("nan")}
    name, _, arguments = call.partition("(")
    places = torch, torch.nn.functional, torch.linalg, torch.Tensor
    function = next(found for each in places if (found := getattr(each, name, None)) is not None)
    outcome = attempt(lambda: eval(f"function({arguments}", {"function": function, **known}))
    return outcome[0] if isinstance(outcome, tuple) else outcome


@pytest.mark.parametrize("flag", ["retain_graph", "create_graph"])
@pytest.mark.parametrize("value", ["x", 1.5, None, 1, 0], ids=repr)
@same
def test_flags_of_a_backward_pass_are_integers(torch: Any, flag: str, value: Any) -> Any:
    def passed(run: Any) -> Any:
        leaf = torch.tensor(3.0, requires_grad=True)
        result = attempt(lambda: run(leaf**2, leaf, **{flag: value}))
        return result if isinstance(result, tuple) and isinstance(result[0], str) else leaf.grad

    return [
        passed(torch.autograd.grad),
        passed(lambda root, leaf, **flags: torch.autograd.backward(root, **flags)),
        passed(lambda root, leaf, **flags: root.backward(**flags)),
    ]


@pytest.mark.parametrize("value", ["x", [], 1.5, None, 1, 0], ids=repr)
@pytest.mark.parametrize("used", [True, False])
@same
def test_whether_inputs_may_be_unused_is_an_integer(torch: Any, value: Any, used: bool) -> Any:
    leaf, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    inputs = [leaf] if used else [leaf, other]
    return attempt(lambda: torch.autograd.grad((leaf * 2).sum(), inputs, allow_unused=value))


@same
def test_where_the_functions_of_a_backward_pass_are_from(torch: Any) -> Any:
    return [each.__module__.replace("minitorch", "torch") for each in (torch.autograd.grad, torch.autograd.backward)]
