"""Jacobians and Hessians of functions, and their products with vectors.

A function takes one tensor or several, as a tuple, and returns one or several. With J the Jacobian and H the Hessian,
`vjp` is vᵀJ, `jvp` is Jv, `vhp` is vᵀH and `hvp` is Hv. Backward passes alone give Jv too: wᵀJ is linear in w, so its
derivative with respect to w in the direction v is Jv.
Source: https://pytorch.org/docs/stable/autograd.html#functional-higher-level-api
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.grad_mode import enable_grad, set_grad_enabled
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.passes import grad as gradients_of
from minitorch.ops.creation.filled import eye
from minitorch.ops.indexing.joining import stack
from minitorch.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]
Function = Callable[..., Any]
OUTPUTS = "outputs of the user-provided function"


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """func(inputs), and vᵀJ in the shape of the inputs. A scalar function needs no `v`.

    Results have a history with `create_graph`. An input that the outputs don't depend on gets zeros, or with `strict`
    raises RuntimeError. Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.vjp.html
    """
    with enable_grad():
        variables, as_tuple = _variables(inputs, "inputs", "vjp", create_graph)
        outputs, outputs_as_tuple = _outputs(func, variables, "vjp", strict)
        vector = _vector(v, outputs, outputs_as_tuple, "vjp", create_graph)
    with set_grad_enabled(create_graph or grad_mode.enabled):
        grads = _grad(outputs, variables, vector, create_graph)
        product = _filled(grads, variables, strict, create_graph, "back")
    return _result(outputs, create_graph, outputs_as_tuple), _result(product, create_graph, as_tuple)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """func(inputs), and Jv in the shape of the outputs. A function of one number needs no `v`.

    The other arguments are those of `vjp`.
    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.jvp.html
    """
    with enable_grad():
        variables, as_tuple = _variables(inputs, "inputs", "jvp", create_graph)
        vector = _vector(v, variables, as_tuple, "jvp", create_graph)
        outputs, outputs_as_tuple = _outputs(func, variables, "jvp", strict)
        weights = tuple(each.new_zeros(each.shape, requires_grad=True) for each in outputs)
        grads = _grad(outputs, variables, weights, create_graph=True)
        _check_recorded(grads, "grad_inputs", strict)
    with set_grad_enabled(create_graph or grad_mode.enabled):
        product = _grad(grads, weights, vector, create_graph)
        product = _filled(product, outputs, strict, create_graph, "back_trick")
    return _result(outputs, create_graph, outputs_as_tuple), _result(product, create_graph, outputs_as_tuple)


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """func(inputs), a scalar, and vᵀH in the shape of the inputs. The arguments are those of `jvp`.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.vhp.html
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """func(inputs), a scalar, and Hv in the shape of the inputs. The arguments are those of `jvp`.

    Where H is symmetric, `vhp` gives the same with less work.
    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.hvp.html
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(name: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool) -> Any:
    with enable_grad():
        variables, as_tuple = _variables(inputs, "inputs", name, create_graph)
        vector = _vector(v, variables, as_tuple, name, create_graph)
        outputs, _ = _outputs(func, variables, name, strict, scalar=True)
        gradient, ends, stage = _grad(outputs, variables, None, create_graph=True), variables, "double_back"
        _check_recorded(gradient, "jacobian", strict)
        if name == "hvp":
            ends, stage = tuple(each.new_zeros(each.shape, requires_grad=True) for each in variables), f"{stage}_trick"
            gradient = _grad(gradient, variables, ends, create_graph=True)
    with set_grad_enabled(create_graph or grad_mode.enabled):
        product = _filled(_grad(gradient, ends, vector, create_graph), variables, strict, create_graph, stage)
    return _result(outputs, create_graph, False), _result(product, create_graph, as_tuple)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """∂(output)/∂(input) of shape output.shape + input.shape, in a tuple for several inputs, in a tuple of these for
    several outputs.

    It takes a backward pass for each element of the outputs; with `vectorize` these run as one. The forward-mode
    strategy is `func.jacfwd`; it raises NotImplementedError with `create_graph` and without `vectorize`, RuntimeError
    with `strict`. Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        return _forward(func, inputs)
    with enable_grad():
        variables, as_tuple = _variables(inputs, "inputs", "jacobian", create_graph)
        outputs, outputs_as_tuple = _outputs(func, variables, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            rows = tuple(_at_once(each, variables, create_graph) for each in outputs)
        else:
            rows = tuple(_jacobian(i, each, variables, strict, create_graph) for i, each in enumerate(outputs))
    blocks = [_result(each, create_graph, as_tuple) for each in rows]
    return tuple(blocks) if outputs_as_tuple else blocks[0]


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Raises the errors for what the forward-mode strategy can't do."""
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )


def _forward(func: Function, inputs: Any) -> Any:
    """The Jacobian by products with the vectors of the inputs' basis, in lists instead of tuples, as PyTorch's."""
    from minitorch.func.jacobians import jacfwd  # loads torch.func

    given, as_tuple = _variables(inputs, "inputs", "jacobian", create_graph=False, needed=False)
    return _listed(jacfwd(func, argnums=tuple(range(len(given))) if as_tuple else 0)(*given))


def _listed(blocks: Any) -> Any:
    return [_listed(each) for each in blocks] if isinstance(blocks, tuple) else blocks


def _at_once(output: Tensor, variables: Tensors, create_graph: bool) -> Tensors:
    """The Jacobians of an output with respect to each variable, all rows in one pass."""
    found: Sequence[Any] = [None] * len(variables)
    if output.requires_grad:
        basis = eye(output.numel(), dtype=output.dtype, device=output.device).reshape(-1, *output.shape)
        found = gradients_of(output, variables, basis, True, create_graph, allow_unused=True, is_grads_batched=True)
    shapes = [output.shape + each.shape for each in variables]
    return tuple(
        each.new_zeros(shape) if grad is None else grad.reshape(shape)
        for grad, each, shape in zip(found, variables, shapes, strict=True)
    )


def _jacobian(number: int, output: Tensor, variables: Tensors, strict: bool, create_graph: bool) -> Tensors:
    """The Jacobians of output `number` with respect to each variable."""
    rows: list[list[Tensor]] = [[] for _ in variables]
    for element in output.reshape(-1).unbind(0):
        grads = _grad((element,), variables, None, create_graph, retain_graph=True)
        for i, (grad, variable) in enumerate(zip(grads, variables, strict=True)):
            if grad is None and strict:
                raise RuntimeError(
                    f"Output {number} of the user-provided function is independent of input {i}. This is not allowed "
                    "in strict mode."
                )
            if grad is not None and strict and create_graph and not grad.requires_grad:
                raise RuntimeError(_NO_HISTORY.format("jacobian", number))
            rows[i].append(variable.new_zeros(variable.shape) if grad is None else grad)
    return tuple(
        stack(each).reshape(output.shape + variable.shape)
        if each
        else variable.new_zeros(output.shape + variable.shape)
        for each, variable in zip(rows, variables, strict=True)
    )


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """∂²f/∂(input i)∂(input j) of shape input_i.shape + input_j.shape, for several inputs in a tuple of tuples.

    The arguments are those of `jacobian`. Raises RuntimeError for a function that doesn't return a single number.
    Source: https://pytorch.org/docs/stable/generated/torch.autograd.functional.hessian.html
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    _, as_tuple = _tensors(inputs, "inputs", "hessian")

    def number(*variables: Tensor) -> Tensor:
        outputs, _ = _outputs(func, variables, "hessian", strict, scalar=True)
        return outputs[0].squeeze()

    def gradient(*variables: Tensor) -> Tensors:
        gradients: Tensors = jacobian(number, variables, create_graph=True)
        _check_recorded(gradients, "jacobian", strict)
        return gradients

    blocks = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if as_tuple else blocks[0]


def _tensors(given: Any, what: str, function: str) -> tuple[Tensors, bool]:
    """What a user gave or returned as a tuple, and whether it was one. Raises TypeError for what is no tensor."""
    as_tuple = isinstance(given, tuple)
    tensors = given if as_tuple else (given,)
    for i, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            which = f"value at index {i}" if as_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has "
                f"type {type(each)}."
            )
    return tensors, as_tuple


def _variables(given: Any, what: str, function: str, create_graph: bool, needed: bool = True) -> tuple[Tensors, bool]:
    """New tensors in the place of the given ones, so that one that the function has caught is not taken for its
    input."""
    tensors, as_tuple = _tensors(given, what, function)
    keeps_history = [create_graph and each.requires_grad for each in tensors]
    fresh = [
        each.view_as(each) if keep else each.detach().requires_grad_(needed)
        for each, keep in zip(tensors, keeps_history, strict=True)
    ]
    return tuple(fresh), as_tuple


def _outputs(
    func: Function, variables: Tensors, function: str, strict: bool, scalar: bool = False
) -> tuple[Tensors, bool]:
    outputs, as_tuple = _tensors(func(*variables), OUTPUTS, function)
    _check_recorded(outputs, "outputs", strict)
    if scalar and as_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if scalar and outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs, as_tuple


def _vector(v: Any, like: Tensors, as_tuple: bool, function: str, create_graph: bool) -> Tensors | None:
    """The vector of a product, which must have the shapes of `like`: where that is a single number, none is needed."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            whose = "user-provided function returns" if function == "vjp" else "input to the user-provided function is"
            raise RuntimeError(f"The vector v can only be None if the {whose} a single Tensor with a single element.")
        return None
    vector, _ = _variables(v, "v", function, create_graph, needed=False)
    if len(vector) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}."
            if as_tuple
            else "The given v should contain a single Tensor."
        )
    for i, (one, other) in enumerate(zip(vector, like, strict=True)):
        if one.shape != other.shape:
            entry = f"Entry {i} in " if as_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {one.shape}.")
    return vector


def _grad(
    outputs: Sequence[Any],
    inputs: Tensors,
    weights: Tensors | None,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> tuple[Any, ...]:
    """autograd.grad of those outputs that have a history, None for inputs that they don't depend on."""
    pairs = [
        (output, weight)
        for output, weight in zip(outputs, weights or [None] * len(outputs), strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    recorded, weighted = zip(*pairs, strict=True)
    return gradients_of(recorded, inputs, weighted, retain_graph, create_graph, allow_unused=True)


_NOT_RECORDED = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function. "
    "This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {} is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
    "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example).",
}
_INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using "
    "the double backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in "
    "strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    "This is not allowed in strict mode as it prevents from using the double backward trick to replace forward mode "
    "AD.",
}
_NO_HISTORY = (
    "The {} of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)


def _check_recorded(tensors: Sequence[Tensor | None], what: str, strict: bool) -> None:
    for i, each in enumerate(tensors if strict else ()):
        if each is None:
            raise RuntimeError(_INDEPENDENT["back"].format(i))
        if not each.requires_grad:
            raise RuntimeError(_NOT_RECORDED[what].format(i))


def _filled(grads: tuple[Any, ...], like: Tensors, strict: bool, create_graph: bool, stage: str) -> Tensors:
    """The gradients, with zeros for those that are None; in strict mode that is an error."""
    for i, grad in enumerate(grads if strict else ()):
        if grad is None:
            raise RuntimeError(_INDEPENDENT[stage].format(i))
        if create_graph and not grad.requires_grad:
            raise RuntimeError(_NO_HISTORY.format("hessian" if "double" in stage else "jacobian", i))
    return tuple(
        other.new_zeros(other.shape) if grad is None else grad for grad, other in zip(grads, like, strict=True)
    )


def _result(tensors: Tensors, keeps_history: bool, as_tuple: bool) -> Any:
    results = tensors if keeps_history else tuple(each.detach() for each in tensors)
    return results if as_tuple else results[0]
