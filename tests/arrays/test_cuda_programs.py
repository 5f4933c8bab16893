"""Programs that use GPUs, on four simulated ones: what PyTorch prints on real ones."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch as torch
from minitorch.nn.parallel import comm


@pytest.fixture(autouse=True)
def four_gpus() -> Iterator[None]:
    torch.cuda.simulate(4)
    state, seeds = torch.get_rng_state(), dict(torch.random.gpu_generators)
    yield
    torch.set_rng_state(state)
    torch.random.gpu_generators.clear()
    torch.random.gpu_generators.update(seeds)
    gc.collect()
    torch.cuda.simulate(0)


def ones(device: Any) -> Any:
    return torch.ones(2, device=device)


# The old tensor types


def test_the_default_tensor_type_says_where_tensors_are_made_and_what_goes_without_saying() -> None:
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
    try:
        assert str(torch.ones(2).device) == "cuda:0"
        assert [repr(ones(each)) for each in ("cuda", "cuda:1", "cpu")] == [
            "tensor([1., 1.])",
            "tensor([1., 1.], device='cuda:1')",
            "tensor([1., 1.], device='cpu')",
        ]
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert repr(torch.ones(2)) == "tensor([1., 1.])"
    torch.cuda.simulate(0)
    with pytest.raises(TypeError, match=r"type torch.cuda.FloatTensor not available"):
        torch.set_default_tensor_type("torch.cuda.FloatTensor")


def test_types_name_a_dtype_and_a_kind_of_device() -> None:
    x = torch.ones(2)
    assert repr(x.type("torch.cuda.DoubleTensor")) == "tensor([1., 1.], device='cuda:0', dtype=torch.float64)"
    assert str(x.type(torch.cuda.FloatTensor).device) == "cuda:0"
    assert repr(ones("cuda").type(torch.LongTensor)) == "tensor([1, 1])"
    assert ones("cuda").type("torch.FloatTensor").is_cpu
    y = ones("cuda:1")
    assert str(y.type(torch.float64).device) == "cuda:1"
    assert y.type("torch.cuda.FloatTensor") is y.type(torch.cuda.FloatTensor) is y
    assert y.type(torch.float64).type() == "torch.cuda.DoubleTensor"
    with pytest.raises(ValueError, match=r"invalid type: 'torch.xpu.FloatTensor'"):
        x.type("torch.xpu.FloatTensor")


def test_type_objects_know_their_tensors_and_make_some() -> None:
    x = ones("cuda:2")
    assert isinstance(x, torch.cuda.FloatTensor)
    assert isinstance(x.double(), torch.cuda.DoubleTensor)
    assert not isinstance(x, (torch.FloatTensor, torch.cuda.DoubleTensor))
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor)
    assert repr(torch.cuda.FloatTensor) == "<class 'torch.cuda.FloatTensor'>"
    assert repr(torch.cuda.FloatTensor([1.0, 2.0])) == "tensor([1., 2.], device='cuda:0')"
    assert repr(torch.cuda.LongTensor([3])) == "tensor([3], device='cuda:0')"
    made = torch.cuda.FloatTensor(2, 3)
    assert (made.shape, made.dtype) == ((2, 3), torch.float32)
    with torch.cuda.device(1):
        assert repr(torch.cuda.FloatTensor([1, 1])) == "tensor([1., 1.], device='cuda:1')"


# Random numbers


def test_each_gpu_has_a_default_generator() -> None:
    torch.manual_seed(1)
    with torch.cuda.device(1):
        torch.cuda.manual_seed(42)
        assert torch.cuda.initial_seed() == 42
    assert [each.initial_seed() for each in torch.cuda.default_generators] == [1, 42, 1, 1]
    assert torch.cuda.initial_seed() == 1
    torch.cuda.manual_seed_all(7)
    assert [each.initial_seed() for each in torch.cuda.default_generators] == [7, 7, 7, 7]
    torch.cuda.seed_all()
    assert len({each.initial_seed() for each in torch.cuda.default_generators}) == 1
    assert torch.cuda.initial_seed() != 7
    assert torch.initial_seed() == 1
    assert [str(each.device) for each in torch.cuda.default_generators] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]


# What is asked of GPUs, and their memory


def test_a_gpu_that_is_not_there_is_refused() -> None:
    for ask in (torch.cuda.get_device_properties, torch.cuda.get_device_name):
        with pytest.raises(AssertionError, match=r"^Invalid device id$"):
            ask(9)
        with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
            ask("cpu")
    assert isinstance(torch.cuda.can_device_access_peer(0, 1), bool)
    with pytest.raises(AssertionError, match=r"^Invalid peer device id$"):
        torch.cuda.can_device_access_peer(0, 9)
    with pytest.raises(RuntimeError, match=r"cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"):
        ones("cuda").pin_memory()


def test_what_is_said_of_gpus_as_a_whole() -> None:
    assert isinstance(torch.cuda.is_bf16_supported(), bool)
    assert isinstance(torch.cuda.get_arch_list(), list)
    assert not torch.cuda.is_current_stream_capturing()


def test_memory_stats_count_bytes_and_blocks() -> None:
    x = torch.ones(1024, 1024, device="cuda")
    stats = torch.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == stats["allocated_bytes.all.peak"] == x.nbytes == 4194304
    assert stats["allocation.all.current"] == 1
    assert stats["reserved_bytes.all.current"] >= 4194304
    del x
    stats = torch.cuda.memory_stats()
    assert (stats["allocation.all.current"], stats["allocation.all.peak"]) == (0, 1)


def test_too_large_a_tensor_is_out_of_memory_whoever_finds_out() -> None:
    assert torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
    for make in (
        lambda: torch.empty(1 << 50, dtype=torch.uint8, device="cuda"),
        lambda: torch.zeros(1 << 50, dtype=torch.uint8, device="cuda"),
    ):
        with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 1048576.00 GiB. "):
            make()
    assert torch.cuda.memory_allocated() == 0


# Streams


def test_a_stream_is_one_of_a_gpu() -> None:
    s = torch.cuda.Stream()
    assert s.query()
    assert s != torch.cuda.current_stream()
    assert str(s.device) == "cuda:0"
    assert torch.cuda.current_stream().cuda_stream == torch.cuda.default_stream().stream_id == 0
    assert isinstance(s, torch.Stream)
    assert isinstance(torch.Stream("cuda:1"), torch.cuda.Stream)
    again = torch.cuda.Stream("cuda:0", stream_id=s.stream_id)
    assert again == s
    assert hash(again) == hash(s)
    assert (s.device_type, s.device_index) == (1, 0)
    assert repr(s) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={s.cuda_stream:#x}>"


def test_the_stream_of_another_gpu_makes_that_gpu_current() -> None:
    s = torch.cuda.Stream(device=2)
    with torch.cuda.stream(s):
        assert torch.cuda.current_device() == 2
        assert torch.cuda.current_stream() == s
        assert str(ones("cuda").device) == "cuda:2"
    assert torch.cuda.current_device() == 0
    assert torch.cuda.current_stream(2) != s
    torch.cuda.set_stream(s)
    assert (torch.cuda.current_device(), torch.cuda.current_stream()) == (2, s)
    torch.cuda.set_stream(torch.cuda.default_stream(2))
    torch.cuda.set_device(0)


def test_streams_wait_for_one_another_and_for_memory() -> None:
    s, x = torch.cuda.Stream(), ones("cuda")
    assert s.wait_stream(torch.cuda.current_stream()) is None  # type: ignore[func-returns-value]
    event = s.record_event()
    assert isinstance(event, torch.Event)
    assert event.query()
    assert torch.cuda.current_stream().wait_event(event) is None  # type: ignore[func-returns-value]
    assert str(event.device) == "cuda:0"
    waited = []
    s.synchronize = lambda: waited.append("for the stream")  # type: ignore[method-assign]
    x.record_stream(s)
    assert waited == []
    del x
    assert waited == ["for the stream"]
    with pytest.raises(NotImplementedError, match="Could not run 'aten::record_stream'"):
        torch.ones(2).record_stream(s)
    assert repr(torch.cuda.Event()) == "<torch.cuda.Event uninitialized>"


# The accelerator


def test_the_accelerator_is_the_gpus() -> None:
    assert torch.accelerator.is_available()
    assert repr(torch.accelerator.current_accelerator()) == "device(type='cuda')"
    assert (torch.accelerator.device_count(), torch.accelerator.current_device_index()) == (4, 0)
    torch.accelerator.set_device_index(2)
    assert torch.accelerator.current_device_index() == torch.cuda.current_device() == 2
    torch.accelerator.synchronize()
    torch.accelerator.set_device_index("cuda:1")
    assert str(ones("cuda").device) == "cuda:1"
    torch.accelerator.set_device_index(torch.device("cuda:0"))
    with torch.accelerator.device_index(3):
        assert torch.accelerator.current_device_index() == 3
        with torch.accelerator.device_index(None):
            assert torch.accelerator.current_device_index() == 3
    assert torch.accelerator.current_device_index() == 0
    with pytest.raises(ValueError, match="cpu doesn't match the current accelerator cuda"):
        torch.accelerator.set_device_index("cpu")


def test_the_accelerator_has_streams_and_memory() -> None:
    assert str(torch.accelerator.current_stream().device) == "cuda:0"
    assert str(torch.accelerator.current_stream("cuda:1").device) == "cuda:1"
    x = torch.ones(1024, 1024, device="cuda")
    assert torch.accelerator.memory_allocated() == x.nbytes == 4194304
    assert torch.accelerator.memory_allocated(1) == 0
    del x
    assert torch.accelerator.memory_allocated() == 0
    assert torch.accelerator.max_memory_allocated() == 4194304


def test_get_device_module() -> None:
    assert torch.get_device_module() is torch.get_device_module("cuda:1") is torch.cuda
    assert torch.get_device_module(torch.device("cuda")) is torch.cuda
    assert torch.get_device_module("cpu") is torch.cpu
    with pytest.raises(RuntimeError, match=r"Invalid value of device '1', expect torch.device, str, or None"):
        torch.get_device_module(1)
    with pytest.raises(RuntimeError, match="Device 'meta' does not have a corresponding module"):
        torch.get_device_module("meta")


# DataParallel and what it is made of


class FailsOnGPU1(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.get_device() == 1:
            raise ValueError("only here")
        return x


def test_the_error_of_a_replica_names_it_and_brings_its_trace() -> None:
    with pytest.raises(ValueError, match="Caught ValueError in replica 1 on device 1") as caught:
        torch.nn.DataParallel(FailsOnGPU1(), device_ids=[0, 1])(ones("cuda"))
    assert str(caught.value).startswith("Caught ValueError in replica 1 on device 1.\nOriginal Traceback (most recent")
    assert str(caught.value).rstrip().endswith("ValueError: only here")


def test_gather_refuses_tensors_of_the_cpu() -> None:
    with pytest.raises(AssertionError, match="Gather function not implemented for CPU tensors"):
        torch.nn.parallel.gather([ones("cuda"), torch.ones(2)], 0)


def test_mixed_precision_reaches_the_replicas() -> None:
    layer = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0, 1])
    with torch.autocast("cuda"):
        assert layer(torch.ones(4, 2, device="cuda")).dtype is torch.float16
        with torch.autocast("cuda", enabled=False):
            assert layer(torch.ones(4, 2, device="cuda")).dtype is torch.float32


def test_comm_copies_divides_joins_and_adds() -> None:
    assert [repr(each) for each in comm.broadcast(torch.ones(1), [0, 2])] == [
        "tensor([1.], device='cuda:0')",
        "tensor([1.], device='cuda:2')",
    ]
    pieces = comm.scatter(torch.arange(4.0), ["cuda:0", 1], chunk_sizes=[1, 3])
    assert repr(pieces) == "(tensor([0.], device='cuda:0'), tensor([1., 2., 3.], device='cuda:1'))"
    one, other = torch.ones(1, device="cuda:0"), torch.ones(1, device="cuda:1")
    assert repr(comm.gather([one, other], destination=3)) == "tensor([1., 1.], device='cuda:3')"
    assert comm.gather([one, other], destination="cpu").is_cpu
    assert repr(comm.reduce_add([one, other], destination=1)) == "tensor([2.], device='cuda:1')"
    (_, copies) = comm.broadcast_coalesced([torch.ones(1), torch.zeros(2)], [0, 1])
    assert repr(copies) == "[tensor([1.], device='cuda:1'), tensor([0., 0.], device='cuda:1')]"
    (total, _) = comm.reduce_add_coalesced([[one, one], [other, other]], 0)
    assert repr(total) == "tensor([2.], device='cuda:0')"
    out = torch.zeros(2)
    assert comm.gather([one, other], out=out) is out
    assert out.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="reduce_add expects destination to be on the same GPU with one of the"):
        comm.reduce_add([one, other], destination=2)
    with pytest.raises(AssertionError, match="reduce_add expects all inputs to be on GPUs, but input 1 is on CPU"):
        comm.reduce_add([one, torch.ones(1)])
    with pytest.raises(RuntimeError, match="Exactly one of 'devices' and 'out' must be specified"):
        comm.broadcast(one)
