"""Compiled loops in generated code: each formula is its kernel's, to the bit, and loops run as soon as they pay."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch._dynamo.stack import VERSION
from minitorch._inductor import generating
from minitorch._inductor.formulas import NotAFormulaError, Symbol, SymbolicNumPy, formula_of
from minitorch._inductor.loops import compiled, in_segments, source_of
from minitorch._inductor.steps import Step, Value
from minitorch.arrays import loops
from minitorch.devices import cpu
from minitorch.dispatch.declaration import OPS
from tests.dynamo.test_lowering import FUNCTIONS, have_same_bits, values

of_this_python = pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11")

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 3e38, -3e38, 1e-45, -1e-45, 20, -20, 88.7, 90, -104, 0.1)
AT_A_TIME = 12
"""How many ops one loop of the test computes: a compilation takes most of the time."""


def steps(dtype: Any) -> Iterator[Step]:
    """A call of each elementwise op that has a formula: with tensors, and with a number as the second operand."""
    fake = torch.empty(5, device="meta", dtype=dtype)
    for op in OPS.values():
        if not op.memory.elementwise:
            continue
        for number in (None, 0.5, 1.5):
            count = max(op.schema.required, *(place + 1 for place in op.schema.tensors), 1)
            args = [
                Value(f"x{place}", fake) if place in op.schema.tensors and (number is None or place == 0) else number
                for place in range(count)
            ]
            step = Step(
                op, (*args, *op.schema.defaults_from[count]), (Value(f"v_{op.name}_{number}".replace(".", "_"), fake),)
            )
            try:
                formula_of([step])
            except NotAFormulaError:
                continue
            yield step


def arrays(size: int, dtype: Any) -> dict[str, np.ndarray]:
    """Numbers of both signs and most magnitudes, among them the special ones at different places."""
    found = {}
    for place in range(3):
        numbers = np.random.default_rng(place).normal(0, 3, size).astype(dtype)
        special = np.roll(np.array(SPECIAL, dtype), 5 * place)
        numbers[: len(special)] = special
        found[f"x{place}"] = numbers
    return found


@pytest.mark.turns(8)
@pytest.mark.needs("numba")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_loops_of_formulas_compute_the_bits_of_kernels(dtype: Any) -> None:
    assert loops.why_off() is None
    every = list(steps(dtype))
    assert len({step.op.name for step in every}) > 45
    different = []
    for start in range(0, len(every), AT_A_TIME):
        part = every[start : start + AT_A_TIME]
        found = formula_of(part)
        inputs = sorted({each.name for step in part for each in step.args if isinstance(each, Value)})
        flat = dict.fromkeys((*inputs, *found.results), (1,))
        loop = compiled(source_of(found.lines, flat, found.results, dtype.numpy))
        for size in (19, 5003):
            given = arrays(size, dtype.numpy)
            results = {name: np.empty(size, dtype.numpy) for name in found.results}
            loop(*(given[name] for name in inputs), *results.values())
            for step in part:
                args = [given[each.name].copy() if isinstance(each, Value) else each for each in step.args]
                with np.errstate(all="ignore"):
                    expected = step.op.kernel(cpu.xp, *args)
                ours = results[step.results[0].name]
                same = (ours.view(f"i{ours.itemsize}") == expected.view(f"i{ours.itemsize}")) | (
                    np.isnan(ours) & np.isnan(expected)
                )
                if not same.all():
                    different.append((step.results[0].name, size, int((~same).sum())))
    assert different == []


@of_this_python
@pytest.mark.turns(8)
@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_functions_have_the_bits_of_eager_mode(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    compiled_function = torch.compile(function, fullgraph=True, dynamic=False, mode="max-autotune")
    inputs = [values(*shape).requires_grad_() for shape in shapes]
    ours, eager = compiled_function(*inputs), function(*inputs)
    assert have_same_bits(ours, eager)
    tangent = eager.detach().cos()
    for one, other in zip(
        torch.autograd.grad(ours, inputs, tangent), torch.autograd.grad(eager, inputs, tangent), strict=True
    ):
        assert have_same_bits(one, other)


@pytest.mark.needs("numba")
def test_a_kernel_has_a_formula_whether_or_not_its_own_loop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for mode in ("0", "1"):
        monkeypatch.setattr(loops, "mode", mode)
        found.append({step.op.name for step in steps(torch.float32)})
    assert {"silu", "silu_backward", "gelu_backward"} <= found[0]
    assert found[0] == found[1]


def test_lines_of_one_instruction_share_an_inner_loop() -> None:
    lines: list[Any] = []
    x = Symbol(lines, np.dtype("float32"), "x")
    xp = SymbolicNumPy()
    y = xp.tanh(x * 2 + 1)
    y -= x
    xp.where(y > 0, y, xp.exp(x))
    shown = [[line.function for line in segment] for segment in in_segments(lines)]
    assert shown == [["multiply", "add"], ["exp"], ["tanh"], ["subtract", "greater", "where"]] or shown == [
        ["multiply", "add"], ["tanh"], ["exp"], ["subtract", "greater", "where"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "kernel",
    [
        lambda xp, x: x.sum(),
        lambda xp, x: xp.where(x, 1.0, 0.0),
        lambda xp, x: x * np.float64(0.1),
        lambda xp, x: x + (2**24 + 1),
        lambda xp, x: x.astype("float64"),
        lambda xp, x: x if x > 0 else -x,
        lambda xp, x: xp.cumsum(x),
        lambda xp, x: xp.empty_like(x) + x,
    ],
)
def test_what_is_not_such_a_formula_is_refused(kernel: Callable[[Any, Any], Any]) -> None:
    with pytest.raises((NotAFormulaError, AttributeError)):
        kernel(SymbolicNumPy(), Symbol([], np.dtype("float32"), "x"))


@of_this_python
@pytest.mark.needs("numba")
def test_loops_come_as_soon_as_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generating, "COMPILE", 10 * generating.CALL)
    monkeypatch.setattr(loops, "START", 0)
    monkeypatch.setattr(loops, "mode", "")
    run = generating.Code(*parts(lambda x: (x * 2 + 1).tanh(), torch.ones(5)))
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    texts = []
    for _ in range(4):  # each call counts for three lines
        (result,) = run(x)
        assert np.array_equal(result, np.tanh(x * 2 + 1))
        texts.append("loop_0" in run.text)
    assert texts == [False, False, False, True]


def parts(function: Callable[..., Any], *examples: Any) -> tuple[Any, ...]:
    """What the code of a function's graph is made of."""
    found: list[Any] = []
    original = generating.Code.__init__

    def note(self: Any, *given: Any) -> None:
        found.append(given[:4])
        original(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating.Code, "__init__", note)
        torch.compile(function, fullgraph=True, dynamic=False)(*examples)
    return found[0]


@of_this_python
@pytest.mark.needs("numba")
def test_arrays_that_a_loop_refuses_are_computed_in_eager_mode() -> None:
    function = torch.compile(lambda x: (x * 2 + 1).tanh(), fullgraph=True, dynamic=False, mode="max-autotune")
    expected = function(torch.ones(5))
    read_only = np.ones(5, dtype=np.float32)
    read_only.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is not writable, which torch says once
        x = torch.from_numpy(read_only)
    assert torch.equal(function(x), expected)


IN_A_PROCESS = """
import sys
import numpy as np
import minitorch as torch
from minitorch.kernels.loops import threads
threads.get_num_threads = lambda: 3
chain = lambda x, row, column: ((x * row + 0.5).tanh() - x * column).exp()
f = torch.compile(chain, fullgraph=True, dynamic=False, mode=sys.argv[1])
x = torch.linspace(-2, 2, 3 * threads.PART + 5 * 64).reshape(-1, 64)
given = x, torch.linspace(-1, 1, 64), torch.linspace(-1, 1, len(x)).unsqueeze(1)
one_row = lambda x: torch.softmax(x * 2, -1) + x
g = torch.compile(one_row, fullgraph=True, dynamic=False, mode=sys.argv[1])
equal = torch.equal(f(*given), chain(*given)) and torch.equal(g(x.flatten()), one_row(x.flatten()))
print("numba" in sys.modules, equal)
loops = [module.loop for name, module in sys.modules.items() if name.startswith("minitorch_generated")]
print(len(loops), sum(sum(each.stats.cache_misses.values()) for each in loops))
"""


@of_this_python
@pytest.mark.turns(8)
@pytest.mark.needs("numba")
def test_a_second_process_reads_loops_from_the_cache_and_threads_share_the_work(tmp_path: Any) -> None:
    def run(mode: str, **more: str) -> list[str]:
        environment = {**os.environ, "MINITORCH_LOOPS": "", "XDG_CACHE_HOME": str(tmp_path), **more}
        command = [sys.executable, "-c", IN_A_PROCESS, mode]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
        return done.stdout.splitlines()

    assert run("default") == ["False True", "0 0"]
    assert run("max-autotune", MINITORCH_LOOPS="0") == ["False True", "0 0"]
    assert run("max-autotune") == ["True True", "2 2"]
    assert run("max-autotune") == ["True True", "2 0"]
