"""Chapter 02 of mytorch against minitorch: memory and strides, NumPy's memory, random numbers."""

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import same

part = pytest.mark.part


@part("mytorch.strides:contiguous_strides")
@pytest.mark.parametrize("size", [(), (5,), (2, 3), (4, 2, 3), (2, 1, 3), (3, 0, 2), (0,), (2, 0, 0, 5)])
def test_strides_of_a_new_tensor(mytorch: ModuleType, size: tuple[int, ...]) -> None:
    same(lambda torch: torch.zeros(size).stride(), mytorch)


@part("mytorch.strides:strided")
@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((2, 3), (3, 1), 0),
        ((3, 2), (1, 3), 4),
        ((2, 2), (0, 5), 1),
        ((), (), 7),
        ((2, 0), (3, 1), 2),
        ((1, 3), (9, 2), 5),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_a_strided_view_reads_the_places_and_shares_them(
    mytorch: ModuleType, size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: str
) -> None:
    flat = np.arange(12).astype(dtype)
    seen = mytorch.strides.strided(flat, size, stride, offset)
    assert seen.shape == size
    flat += 50
    for index in itertools.product(*map(range, size)):
        assert seen[index] == flat[offset + sum(i * step for i, step in zip(index, stride, strict=True))]


ARRAYS: dict[str, Callable[[], Any]] = {
    "contiguous": lambda: np.arange(6.0).reshape(2, 3),
    "transposed": lambda: np.arange(6).reshape(2, 3).T,
    "with gaps": lambda: np.arange(40, dtype=np.int16).reshape(5, 8)[1::2, 1::3],
    "repeated": lambda: np.broadcast_to(np.arange(3), (2, 3)),
    "scalar": lambda: np.array(3, np.float32),
}


@part("mytorch.creation:from_numpy", "mytorch.strides:strided")
@pytest.mark.parametrize("name", ARRAYS)
def test_a_tensor_on_an_arrays_memory(mytorch: ModuleType, name: str) -> None:
    array = ARRAYS[name]()
    same(
        lambda torch: (torch.from_numpy(array), torch.from_numpy(array).stride(), torch.from_numpy(array).dtype),
        mytorch,
    )
    shared = mytorch.from_numpy(array)
    assert shared.data_ptr() == array.__array_interface__["data"][0]
    assert np.shares_memory(array, shared.numpy())
    reach = sum((length - 1) * step for length, step in zip(shared.shape, shared.stride(), strict=True)) + 1
    assert len(shared.storage) == reach


@part("mytorch.creation:from_numpy")
def test_an_empty_array_needs_no_memory(mytorch: ModuleType) -> None:
    empty = mytorch.from_numpy(np.zeros((2, 0, 3)))
    assert (empty.shape, len(empty.storage), empty.stride()) == (
        (2, 0, 3),
        0,
        (0, 0, 0),
    )  # NumPy's strides, as in PyTorch


@part("mytorch.creation:from_numpy")
@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.from_numpy([1]),
        lambda torch: torch.from_numpy(np.arange(3)[::-1]),
        lambda torch: torch.ones(2, requires_grad=True).numpy(),
        lambda torch: torch.tensor([[1, 2], [3]]),
        lambda torch: torch.tensor([1, [2]]),
        lambda torch: torch.zeros(2).item(),
        lambda torch: torch.zeros(2, 3).size(2),
        lambda torch: torch.rand(2, dtype=torch.int64),
        lambda torch: torch.tensor([2]) ** -1,
        lambda torch: torch.tensor([2]) // 0,
        lambda torch: torch.tensor([2]).add(1, alpha=0.5),
        lambda torch: torch.ones(2).masked_fill(torch.tensor([True, False]), torch.tensor([1.0])),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(mytorch: ModuleType, call: Callable[[Any], Any]) -> None:
    same(call, mytorch)
    with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)):
        call(mytorch)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 100])
def test_the_same_seed_gives_the_same_numbers(mytorch: ModuleType, dtype: str, count: int) -> None:
    """The normal numbers as printed, the stream to the last bit: what comes after them shows it."""

    def drawn(torch: Any) -> Any:
        torch.manual_seed(count)
        normal = torch.randn(count, dtype=getattr(torch, dtype))
        return normal, torch.rand(count, dtype=getattr(torch, dtype)).tolist(), torch.randperm(5)

    same(drawn, mytorch)


@pytest.mark.parametrize(("low", "high"), [(0, 10), (-3, 3), (0, 2**40)])
def test_the_same_seed_gives_the_same_integers(mytorch: ModuleType, low: int, high: int) -> None:
    same(lambda torch: (torch.manual_seed(2**32 + 1), torch.randint(low, high, (4,)), torch.rand(1))[1:], mytorch)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.linspace(0, 1, 5),
        lambda torch: torch.isnan(torch.tensor([1.0, float("nan")])),
        lambda torch: torch.tensor([[0.0, 0.0], [0.0, 2.0]]).any(1),
        lambda torch: torch.allclose(torch.ones(2), torch.ones(2) + 1e-9),
        lambda torch: torch.equal(torch.ones(2), torch.ones(1, 2)),
        lambda torch: (torch.ones(2, 3).dim(), torch.ones(2, 3).element_size(), torch.ones(2, 3).nbytes),
        lambda torch: (float(torch.tensor([2.5])), [1, 2, 3][torch.tensor(1)]),
        lambda torch: torch.rand(2, generator=torch.Generator().manual_seed(3)),
        lambda torch: torch.rand(2, generator=torch.Generator()),
        lambda torch: (torch.randn(3, generator=torch.Generator()), torch.randperm(5, generator=torch.Generator())),
    ],
)
def test_small_functions_of_a_tensor(mytorch: ModuleType, call: Callable[[Any], Any]) -> None:
    same(call, mytorch)
