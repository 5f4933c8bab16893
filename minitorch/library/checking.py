"""`torch.library.opcheck`: whether an operator keeps what its registrations promise.

Source: https://docs.pytorch.org/docs/stable/library.html#torch.library.opcheck
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.passes import backward
from minitorch.dispatch.overriding import flat
from minitorch.library.conversion import bound
from minitorch.library.operators import OpOverload
from minitorch.library.registering import operator_of
from minitorch.ops.creation.filled import empty_strided
from minitorch.tensor import Tensor
from minitorch.testing import assert_close

UTILS = "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"


class OpCheckError(Exception):
    """An operator does not keep what it promises."""


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = UTILS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Try an operator on arguments: its schema, its gradients, its fake, and whether compiled code computes the same.

    Returns:
        For each check "SUCCESS", or the exception.

    Raises:
        OpCheckError: a check failed, unless `raise_exception` is False.
        ValueError: there is no such check.
    """
    operator = operator_of(op)
    wanted = [test_utils] if isinstance(test_utils, str) else [*test_utils]
    if not set(wanted) <= set(UTILS):
        raise ValueError(f"opcheck(op, ..., test_utils={wanted}): expected test_utils to be a subset of {UTILS}")
    positional, keywords = bound(operator._schema, args, kwargs or {})
    results: dict[str, Any] = {}
    for name in wanted:
        try:
            _CHECKS[name](operator, positional, keywords, atol, rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results


def _copied(value: Any) -> Any:
    """A tensor's copy, a leaf that needs a gradient if the tensor does; lists of them likewise."""
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def _schema(operator: OpOverload, args: list[Any], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    """An argument that the schema doesn't mark is not written to."""
    given, named = _detached([_copied(each) for each in args]), {key: _copied(each) for key, each in kwargs.items()}
    before = [_copied(each) for each in given]
    operator(*given, **named)
    for argument, old, new in zip(operator._schema.arguments, before, given, strict=False):
        for one, other in zip(flat([old]), flat([new]), strict=True):
            changed = isinstance(one, Tensor) and not _is_same(one, other)
            if changed and not argument.is_write:
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")


def _is_same(one: Tensor, other: Tensor) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _detached(values: list[Any]) -> list[Any]:
    return [
        _detached(each) if isinstance(each, list) else each.detach() if isinstance(each, Tensor) else each
        for each in values
    ]


def _autograd(operator: OpOverload, args: list[Any], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    """Where an argument needs a gradient something is registered that computes it."""
    needs = any(isinstance(each, Tensor) and each.requires_grad for each in flat(args))
    formula = operator.formula
    if needs and formula is not None and not formula.differentiates and operator._schema.is_functional:
        raise AssertionError(
            f"The operator {operator} was given inputs that require grad, but no autograd kernel is registered that "
            "computes gradients. Please use torch.library.register_autograd."
        )


def _fake(operator: OpOverload, args: list[Any], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    """On tensors without data the operator returns what it returns on the others, but for the data."""
    given, named = _detached([_copied(each) for each in args]), {key: _copied(each) for key, each in kwargs.items()}
    fakes = _without_data(given)
    real, fake = (
        operator(*given, **named),
        operator(*fakes, **{key: _without_data([each])[0] for key, each in named.items()}),
    )
    inputs = [each for each in flat(fakes) if isinstance(each, Tensor)]
    for one, other in zip(flat([real]), flat([fake]), strict=True):
        if not isinstance(one, Tensor):
            continue
        facts = [(each.shape, each.dtype, each.stride()) for each in (one, other)]
        if facts[0] != facts[1]:
            raise AssertionError(
                f"When comparing the output of {operator} on FakeTensor and concrete Tensors, found mismatch in "
                f"shape, dtype or stride: {facts[1]} != {facts[0]}"
            )
        if any(each is other or each.untyped_storage() is other.untyped_storage() for each in inputs):
            raise AssertionError(
                f"When comparing the output of {operator} on FakeTensor and concrete Tensors, found mismatch in "
                "outputs_alias_inputs check True != False"
            )


def _without_data(values: list[Any]) -> list[Any]:
    return [
        _without_data(each)
        if isinstance(each, list)
        else empty_strided(tuple(each.shape), each.stride(), dtype=each.dtype, device="meta")
        if isinstance(each, Tensor)
        else each
        for each in values
    ]


def _compiled(operator: OpOverload, args: list[Any], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    """Compiled code gives the same results and gradients."""
    from minitorch import compile as torch_compile  # loads the compiler, which this check alone needs

    def run(function: Callable[..., Any]) -> list[Any]:
        given = [_copied(each) for each in args]
        results = [each for each in flat([function(*given)]) if isinstance(each, Tensor)]
        leaves = [each for each in flat(given) if isinstance(each, Tensor) and each.requires_grad]
        differentiable = [each for each in results if each.requires_grad]
        if differentiable:
            backward([(each * each).sum() for each in differentiable])
        return [*results, *(each.grad for each in leaves)]

    def call(*given: Any) -> Any:
        return operator(*given, **kwargs)

    assert_close(run(torch_compile(call, backend="aot_eager", fullgraph=True)), run(call), atol=atol, rtol=rtol)


_CHECKS = dict(zip(UTILS, (_schema, _autograd, _fake, _compiled), strict=True))
