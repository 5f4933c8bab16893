"""The kernels in CUDA C++: their source, run on the CPU, computes what their twins compute, and NVRTC accepts it."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch as torch
from minitorch.arrays.gpus import library as library_of_gpus
from minitorch.arrays.kernel import FOLDER, THREADS, TYPES, cuda_source
from minitorch.gpu_generator import GPUGenerator
from tests.arrays.cuda_on_host import FUNCTION, KernelsOnHost
from tests.arrays.gpu import REAL, THERE, gpus
from tests.arrays.test_every_op import DTYPES, NAMES, OTHERWISE, unlike_cpu
from tests.conftest import nvrtc
from tests.ops.case import CASES as OPS

FILES = sorted(path.name for path in Path(FOLDER).glob("*.cu") if path.name != "prelude.cu")
FUNCTIONS = {name for file in FILES for name in FUNCTION.findall(Path(FOLDER, file).read_text())}

RANDOM = {"draw_words", "draw_numbers", "draw_noise", "next_words"}

F = torch.nn.functional


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelsOnHost]:
    with gpus():
        library: Any = library_of_gpus()
        kernels = KernelsOnHost(library.launch if REAL else None)
        monkeypatch.setattr(library, "launch", kernels)
        monkeypatch.setattr(library, "runs_kernels", True)
        yield kernels


def with_gradient(function: Callable[..., Any], *tensors: Any) -> list[Any]:
    """The result and the gradients of a weighted sum of it."""
    leaves = [each.detach().clone().requires_grad_(each.is_floating_point()) for each in tensors]
    result = function(*leaves)
    result.backward(torch.linspace(-1, 2, result.numel()).to(result.dtype).reshape(result.shape).to(result.device))
    return [result.detach(), *(each.grad for each in leaves if each.grad is not None)]


def steps_of_adam(optimizer: str, **options: Any) -> Callable[..., Any]:
    def run(x: Any) -> list[Any]:
        x = x.detach().clone().requires_grad_()
        made = getattr(torch.optim, optimizer)([x], lr=0.1, **options)
        for _ in range(4):
            made.zero_grad()
            (x.square() * x).sum().backward()
            made.step()
        return [x.detach(), *(made.state[x][name] for name in ("exp_avg", "exp_avg_sq"))]

    return run


def numbers(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape))).to(dtype)


PLACES = torch.tensor([3, 0, 3, 3, 1, 0])

Case = tuple[set[str], Callable[..., list[Any]], tuple[Any, ...]]
"""The kernels that run, a function of tensors, and the tensors."""

CASES: dict[str, Case] = {}


def case(label: str, kernels: str, run: Callable[..., list[Any]], *tensors: Any) -> None:
    CASES[label] = set(kernels.split()), run, tensors


def gradient_case(label: str, kernels: str, function: Callable[..., Any], *tensors: Any) -> None:
    case(label, kernels, lambda *x: with_gradient(function, *x), *tensors)


DOUBLE = torch.float64

for name in ("softmax", "log_softmax"):
    for label, dim, x in (
        ("of rows longer than a block", -1, 30 * numbers(3, 700)),
        ("in the middle, float64", 1, numbers(2, 5, 4, dtype=DOUBLE)),
        ("of infinities", 0, torch.tensor([1.0, -torch.inf, 3.0])),
        ("of NaN", 1, torch.tensor([[1.0, torch.nan, 3.0], [1.0, 2.0, 3.0]])),
    ):
        function = functools.partial(getattr(torch, name), dim=dim)
        gradient_case(f"{name} {label}", f"{name} {name}_gradient", function, x)

for label, function, tensors in (
    ("layer norm", lambda x, *p: F.layer_norm(x, (7, 50), *p), (numbers(4, 7, 50), numbers(7, 50), numbers(7, 50))),
    ("layer norm of size 1", lambda x, w: F.layer_norm(x, (1, 5), w), (numbers(4, 1, 5), numbers(1, 5))),
    ("layer norm of everything", lambda x: F.layer_norm(x, (6, 5)), (numbers(6, 5),)),
    ("group norm", lambda x, *p: F.group_norm(x, 2, *p), (numbers(3, 6, 4, 5), numbers(6), numbers(6))),
    (
        "batch norm",
        lambda x, *p: F.batch_norm(x, None, None, *p, training=True),
        (numbers(3, 6, 20, 5), numbers(6), numbers(6)),
    ),
    (
        "batch norm of vectors, float64, without weight",
        lambda x, b: F.batch_norm(x, None, None, None, b, training=True),
        (numbers(30, 6, dtype=DOUBLE), numbers(6, dtype=DOUBLE)),
    ),
    ("instance norm", lambda x, w: F.instance_norm(x, weight=w), (numbers(3, 6, 20), numbers(6))),
):
    gradient_case(label, "normalize_into gradient_into", function, *tensors)

for label, function, tensors in (
    ("conv1d", lambda x, w: F.conv1d(x, w, stride=2, dilation=3), (numbers(2, 3, 20), numbers(4, 3, 3))),
    ("conv2d", lambda x, w: F.conv2d(x, w, stride=(2, 3), padding=1), (numbers(2, 4, 9, 13), numbers(6, 4, 3, 2))),
    ("conv3d", lambda x, w: F.conv3d(x, w, stride=2, groups=2), (numbers(2, 4, 5, 6, 7), numbers(6, 2, 2, 3, 2))),
    (
        "transposed convolution",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=1),
        (numbers(2, 3, 4, 5), numbers(3, 2, 3, 3)),
    ),
    ("a channel each", lambda x, w: F.conv2d(x, w, stride=2, groups=4), (numbers(2, 4, 9, 9), numbers(4, 1, 3, 3))),
    ("fold", lambda x: F.fold(x, (6, 7), (2, 3), stride=2), (numbers(2, 12, 9),)),
    ("unfold", lambda x: F.unfold(x, (2, 3), dilation=(1, 2), padding=1), (numbers(2, 3, 6, 7),)),
):
    gradient_case(label, "take_windows add_windows", function, *tensors)

case("embedding", "add_rows", lambda w, i: with_gradient(lambda w: F.embedding(i, w, 1), w), numbers(5, 300), PLACES)
case("rows by index", "add_rows", lambda x, i: with_gradient(lambda y: y[i], x), numbers(4, 3), PLACES)
for label, run, tensors in (
    ("index_add", lambda x, i, y: [x.index_add(1, i, y)], (numbers(3, 4, 5), PLACES, numbers(3, 6, 5))),
    (
        "index_add of integers",
        lambda x, i, y: [x.index_add(0, i, y)],
        (torch.arange(4) - 2, PLACES, torch.arange(6) * -(2**40)),
    ),
    (
        "scatter_add",
        lambda x, i, y: [x.scatter_add(0, i, y)],
        (numbers(4, 2, dtype=DOUBLE), PLACES.reshape(3, 2), numbers(3, 2, dtype=DOUBLE)),
    ),
):
    case(label, "add_rows", run, *tensors)

case("Adam", "adam_step", steps_of_adam("Adam"), numbers(30, 20))
case("AdamW", "adam_step", steps_of_adam("AdamW", betas=(0.5, 0.7)), numbers(300))
case(
    "Adam, amsgrad, decay, float64",
    "adam_step",
    steps_of_adam("Adam", amsgrad=True, weight_decay=0.1),
    numbers(7, dtype=DOUBLE),
)
case("Adam of an infinity", "adam_step", steps_of_adam("Adam"), torch.tensor([1.0, torch.inf]))


@pytest.mark.turns(2)
@pytest.mark.needs("g++")
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_computes_what_the_cpu_computes(name: str, kernels: KernelsOnHost) -> None:
    functions, run, tensors = CASES[name]
    expected = run(*tensors)
    actual = run(*(each.to(THERE) for each in tensors))
    assert functions <= set(kernels.ran)
    for one, other in zip(expected, actual, strict=True):
        assert str(other.device) == THERE
        torch.testing.assert_close(other.cpu(), one, equal_nan=True, rtol=2e-5, atol=2e-6)


@pytest.mark.turns(8)
@pytest.mark.parametrize("seed", [0, 123456789, 2**63 + 5])
@pytest.mark.needs("g++")
def test_random_numbers_are_those_of_the_twin(
    seed: int, kernels: KernelsOnHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GPUGenerator, "_blocks", lambda self: 2)  # so that few numbers take several rounds

    def drawn(runs_kernels: bool) -> list[Any]:
        library: Any = library_of_gpus()
        library.runs_kernels = runs_kernels
        generator = torch.Generator(THERE).manual_seed(seed)
        made = []
        for dtype in (torch.float32, DOUBLE):
            for size in (10, 1001, 2500):
                empty = torch.empty(size, dtype=dtype, device=THERE)
                made += [empty.uniform_(generator=generator).cpu(), empty.normal_(generator=generator).cpu()]
        torch.manual_seed(seed)
        for dtype in (torch.float16, torch.float32, DOUBLE):
            made += [F.dropout(torch.ones(size, dtype=dtype, device=THERE), 0.3).cpu() for size in (10, 3, 8192)]
        made += [torch.randint(2**width, (1000,), device=THERE).cpu() for width in (8, 40)]
        return [*made, torch.poisson(torch.full((300,), 20.0, device=THERE)).cpu()]

    for one, other in zip(drawn(False), drawn(True), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
    assert {*kernels.ran} == RANDOM


@pytest.mark.needs("g++")
def test_what_a_kernel_cannot_take_is_left_to_its_twin(kernels: KernelsOnHost) -> None:
    x, narrow = numbers(4, 6).to(THERE), torch.zeros(4, dtype=torch.int8, device=THERE)
    torch.testing.assert_close(x.T.softmax(1).cpu(), x.cpu().T.softmax(1))
    added = narrow.index_add(0, PLACES.to(THERE), torch.ones(6, dtype=torch.int8, device=THERE))
    assert added.tolist() == [2, 1, 0, 3]
    assert kernels.ran == []


@pytest.mark.turns(8)
@pytest.mark.needs("g++")
@pytest.mark.filterwarnings("ignore")
def test_every_op_computes_with_them_what_the_cpu_computes(kernels: KernelsOnHost) -> None:
    cases = [case for case in OPS if case.name in NAMES and case.name not in OTHERWISE]
    kinds = [(case, kind) for case in cases for kind in DTYPES if kind in case.dtypes]
    found = [f"{case.name}, {each}" for case, kind in kinds for each in unlike_cpu(case, kind)]
    assert not found, "\n".join(found[:6])
    assert set(kernels.ran) == FUNCTIONS - {"adam_step"}


def test_every_kernel_has_a_case() -> None:
    assert {name for functions, _, _ in CASES.values() for name in functions} | RANDOM == FUNCTIONS


def test_the_number_of_threads_is_that_of_the_prelude() -> None:
    assert f"const int THREADS = {THREADS};" in Path(FOLDER, "prelude.cu").read_text()


OF_ALL_TYPES = ("accumulation.cu", "philox.cu")
BUILDS = [
    (file, kind) for file in FILES for kind in TYPES.values() if file in OF_ALL_TYPES or kind in ("float", "double")
]


@pytest.mark.needs("nvrtc")
@pytest.mark.parametrize(("file", "kind"), BUILDS)
def test_nvidias_compiler_accepts_a_kernel(file: str, kind: str) -> None:
    compiler = ctypes.CDLL(nvrtc())
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert not compiler.nvrtcCreateProgram(ctypes.byref(program), cuda_source(file, kind).encode(), b"", 0, None, None)
    failed = compiler.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_75"))
    compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetProgramLog(program, log)
    assert not failed, log.value.decode()
    compiler.nvrtcGetPTXSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetPTX(program, code)
    assert set(FUNCTION.findall(cuda_source(file, kind))) == set(re.findall(r"\.entry (\w+)", code.value.decode()))
