"""Every op of the table inside `vmap`, and with many cotangents at once: what it gives one by one, at once."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from itertools import count, islice
from typing import Any

import minitorch as torch
from tests.ops import test_op_table  # noqa: F401 - reads the cases
from tests.ops.case import CASES, Case, Make, leaves, mapped
from tests.ops.compare import resolve

OF_INTEGERS = "gcd lcm bitwise __invert__ __and__ __or__ __xor__ shift gammainc igamma soft_margin geqrf"
"""Ops that have no such numbers, or no derivative in one of them."""
DRAWN = "dropout rrelu _like gumbel normal bernoulli multinomial poisson binomial _standard_gamma dirichlet fractional"
"""Ops whose numbers are random."""
BY_VALUES = (
    "nonzero argwhere unique bincount masked_select embedding_bag as_strided as_tensor cov lstsq gaussian_nll full "
    "Tensor.apply_ Tensor.map quantile torch.tensor cummax cummin tensor pdist cond ctc Tensor.__getitem__ index_put "
    "equal allclose is_set_to is_pinned istft"
)
"""Ops that look at values, or at memory, in some of the samples."""
CHOSEN = [
    case
    for case in CASES
    if not case.in_place
    and "float64" in case.dtypes
    and not any(part in case.name for part in (*OF_INTEGERS.split(), *DRAWN.split(), *BY_VALUES.split()))
]


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def calls(case: Case) -> list[tuple[Callable[..., Any], list[Any], list[Any]]]:
    """Functions of the floating-point tensors of a sample, with two examples of these tensors each."""
    seed = zlib.crc32(case.name.encode())
    samples = zip(*(case.samples(Make(torch, "float64", seed + number)) for number in range(2)), strict=True)
    result = []
    for one, other in samples:
        first, second = (list(leaves([each.args, each.kwargs], is_tensor)) for each in (one, other))
        chosen = [
            i
            for i, (a, b) in enumerate(zip(first, second, strict=True))
            if a.shape == b.shape and a.is_floating_point() and a.numel()
        ]
        if chosen and one.differentiable:
            result.append((_function(case, one, chosen), [first[i] for i in chosen], [second[i] for i in chosen]))
    return result


def _function(case: Case, sample: Any, chosen: Sequence[int]) -> Callable[..., Any]:
    op = resolve(torch, case.name)

    def function(*given: Any) -> Any:
        numbers, rest = count(), iter(given)
        args, kwargs = mapped(
            [list(sample.args), dict(sample.kwargs)],
            is_tensor,
            lambda each: next(rest) if next(numbers) in chosen else each,
        )
        return tuple(leaves(op(*args, **kwargs), is_tensor))

    return function


def equal(actual: Any, expected: Any) -> None:
    assert actual.dtype is expected.dtype
    assert actual.shape == expected.shape
    wide = [each.resolve_conj().to(torch.complex128) for each in (actual, expected)]
    torch.testing.assert_close(*wide, rtol=1e-7, atol=1e-8, equal_nan=True)


def report(check: Callable[[Case], None], cases: Sequence[Case]) -> None:
    """Checks all cases in one test, which takes less time than a test for each, and names those that fail."""
    problems = []
    for case in cases:
        try:
            check(case)
        except (AssertionError, RuntimeError, IndexError, TypeError, ValueError) as error:
            problems.append(f"{case.name}: {type(error).__name__}: {str(error).strip()[:300]}")
    assert not problems, "\n".join(problems)


def check_examples(case: Case) -> None:
    for function, one, other in islice(calls(case), 2):
        both = [torch.stack(each) for each in zip(one, other, strict=True)]
        outputs = [function(*each) for each in (one, other)]
        if any(a.shape != b.shape for a, b in zip(*outputs, strict=True)):
            continue
        for found, *examples in zip(torch.vmap(function)(*both), *outputs, strict=True):
            equal(found, torch.stack(examples))


def check_cotangents(case: Case) -> None:
    for function, inputs, _ in islice(calls(case), 1):
        if sum(each.numel() for each in inputs) > 20:
            continue

        def flat(*given: Any, function: Any = function) -> Any:
            found = [each.reshape(-1) for each in function(*given) if each.is_floating_point()]
            return torch.cat(found) if found else torch.zeros(1)

        expected = torch.autograd.functional.jacobian(flat, tuple(inputs))
        found = torch.func.jacrev(flat, argnums=tuple(range(len(inputs))))(*inputs)
        for one, other in zip(found, expected, strict=True):
            equal(one, other)


def test_all_examples_at_once() -> None:
    report(check_examples, CHOSEN)


def test_all_cotangents_at_once() -> None:
    report(check_cotangents, [case for case in CHOSEN if case.gradcheck][::2])
