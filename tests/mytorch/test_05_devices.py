"""Simulated GPUs, the rule of one device, and the ways between devices.

Where it can, a test compares with minitorch on the CPU, or a GPU with the CPU. The other
expected values are PyTorch's: its fake CUDA tensors (FakeTensorMode), the order of devices in its TensorIterator, and
torch.cuda._parse_visible_devices.
"""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minitorch.arrays.simulated_gpus import SimulatedGPUs
from tests.mytorch.compare import ORACLES, agree, close, pytorch, same

LAYER = ("mytorch.devices:one_device", "mytorch.devices:may_be_brought", "mytorch.devices:common_device")
TO = ("mytorch.devices:to", "mytorch.devices:destination", "mytorch.devices:with_index")


@pytest.fixture(autouse=True)
def three_gpus(mytorch: ModuleType) -> Iterator[None]:
    mytorch.cuda.simulate(3)
    yield
    mytorch.cuda.simulate(0)


def tensors(lib: Any) -> dict[str, Any]:
    """Vectors and tensors without dimensions (s), on the CPU (c) and on GPUs 0 and 1."""
    kinds = {"c": "cpu", "g": "cuda:0", "h": "cuda:1"}
    found = {name: lib.arange(1.0, 4.0).to(where) for name, where in kinds.items()}
    return found | {f"{name}s": lib.tensor(2.0).to(where) for name, where in kinds.items()} | {"torch": lib}


def place(mytorch: ModuleType, text: str) -> str:
    """The device of the result, or the devices that the error names."""
    try:
        return str(eval(text, tensors(mytorch)).device)
    except RuntimeError as error:
        start, found = str(error).rstrip("!").split(", but found at least two devices, ")
        assert start == "Expected all tensors to be on the same device"
        return found


NEEDS_GPU = ["g[torch.tensor([0, 2])]", "g[c > 2]", "c.long()[g.long() - 1]", "g.copy_(h)"]
"""What PyTorch's fake GPUs cannot do, or do not refuse as a kernel does."""


@pytest.mark.part(*LAYER)
@pytest.mark.parametrize(
    ("text", "found"),
    {
        "c + cs": "cpu",
        "g * 2": "cuda:0",
        "h - h": "cuda:1",
        "cs + g": "cuda:0",
        "h ** cs": "cuda:1",
        "cs - gs": "cuda:0",
        "g == cs": "cuda:0",
        "torch.where(g > 2, cs, cs)": "cuda:0",
        "torch.where(cs > 0, h, h)": "cuda:1",
        "g.clamp(cs, cs)": "cuda:0",
        "g.clone().add_(cs)": "cuda:0",
        "c + g": "cuda:0 and cpu",
        "g + c": "cuda:0 and cpu",
        "c + gs": "cuda:0 and cpu",
        "gs.lt(c)": "cuda:0 and cpu",
        "g + c[:1]": "cuda:0 and cpu",
        "g + h": "cuda:0 and cuda:1",
        "h + gs": "cuda:1 and cuda:0",
        "torch.where(c > 2, g, g)": "cuda:0 and cpu",
        "g.masked_fill(c > 2, 0)": "cuda:0 and cpu",
        "g @ c": "cuda:0 and cpu",
        "torch.cat([c, h])": "cuda:1 and cpu",
        "g.gather(0, torch.tensor([0]))": "cuda:0 and cpu",
        "g[torch.tensor([0, 2])]": "cuda:0",
        "g[c > 2]": "cuda:0",
        "c.long()[g.long() - 1]": "cuda:0 and cpu",
        "g.copy_(h)": "cuda:0",
        "c.copy_(h)": "cpu",
        "h.sum()": "cuda:1",
        "torch.ones_like(h)": "cuda:1",
    }.items(),
)
def test_one_device_for_each_call(mytorch: ModuleType, text: str, found: str) -> None:
    assert place(mytorch, text) == found
    if pytorch and text not in NEEDS_GPU:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            assert sorted(place(pytorch, text).split(" and ")) == sorted(found.split(" and "))


# minitorch's simulated GPUs have what CuPy has, and nothing else: what runs here runs on CuPy, as far as that can be
# known without a GPU.


@pytest.mark.parametrize(
    "text",
    [
        "x + x * 2",
        "x.exp().sum(0)",
        "x @ x.t()",
        "x.t().reshape(6)",
        "x[:, [-1]]",
        "x.gather(1, (x > 2).long())",
        "x.clone().masked_fill_(x > 2, 0)",
        "torch.cat([x, x.t().reshape(2, 3)], 1)",
        "x.mean(1, keepdim=True).expand(2, 3)",
        "x.var(0)",
        "x.argmax(1)",
        "torch.where(x > 2, x, -x)",
        "x.sort(1)[0]",
        "torch.nn.functional.embedding((x > 2).long()[0], x)",
        "torch.nn.functional.max_pool2d(x.reshape(1, 1, 2, 3), 2)",
    ],
)
def test_results_do_not_depend_on_the_device(mytorch: ModuleType, text: str) -> None:
    x = mytorch.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]])
    there = eval(text, {"x": x.to("cuda:2"), "torch": mytorch})
    assert str(there.device) == "cuda:2"
    assert type(there.storage.flat).__module__.startswith("minitorch.arrays.simulated")
    for torch in [mytorch, *ORACLES]:
        here = eval(text, {"x": torch.tensor(x.tolist()), "torch": torch})
        assert (repr(there.dtype), there.stride()) == (repr(here.dtype), here.stride())
        close([there], [here], rtol=1e-6, atol=0)


@pytest.mark.parametrize("kind", ["convolution", "transformer", "recurrent"])
def test_training_does_not_depend_on_the_device(mytorch: ModuleType, kind: str) -> None:
    def losses(torch: Any, device: str = "cpu") -> list[float]:
        torch.manual_seed(0)
        nn = torch.nn
        model = {
            "convolution": [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()],
            "transformer": [nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), nn.LayerNorm(6), nn.Flatten()],
            "recurrent": [nn.GRU(6, 6, batch_first=True)],
        }[kind]
        last = nn.Linear({"convolution": 16, "transformer": 36, "recurrent": 6}[kind], 3)
        layers = nn.Sequential(*model, last).to(device)
        data = torch.randn(6, 6, 6).to(device)
        labels = (torch.arange(6) % 3).to(device)
        optimizer, found = torch.optim.Adam(layers.parameters(), lr=0.01), []
        for _ in range(3):
            optimizer.zero_grad()
            x = data.reshape(6, 1, 6, 6) if kind == "convolution" else data
            for layer in model:
                x = layer(x)[0][:, -1] if kind == "recurrent" else layer(x)
            loss = nn.functional.cross_entropy(last(x), labels)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(mytorch, "cuda:1") == pytest.approx(losses(mytorch), rel=1e-4)
    if kind != "transformer":  # with `batch_first` PyTorch's dropout draws in another order
        agree(losses, mytorch)


def test_numbers_of_the_cpu_go_into_a_tensor_of_a_gpu(mytorch: ModuleType) -> None:
    x, number = mytorch.zeros(4, device=1), mytorch.tensor(5.0)
    x[0] = number
    x[mytorch.tensor([1])] = number
    x[x == 0] = mytorch.tensor(6.0)
    assert repr(x) == "tensor([5., 5., 6., 6.], device='cuda:1')"
    assert x.masked_fill(x == 6, number).tolist() == [5.0] * 4
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:1 and cpu"):
        x[mytorch.tensor([1])] = mytorch.ones(1)


@pytest.mark.parametrize("index", ["[0, 2, 0]", "[True, False, True]"])
def test_an_index_of_the_cpu_has_a_gradient_on_the_gpu(mytorch: ModuleType, index: str) -> None:
    found = []
    for device in ("cpu", "cuda:1"):
        x = mytorch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
        (slope,) = mytorch.autograd.grad((x[mytorch.tensor(eval(index))] ** 3).sum(), [x], create_graph=True)
        (slope * slope).sum().backward()
        found.append((slope.tolist(), x.grad.tolist(), slope.device == x.grad.device == x.device))
    assert found[0] == found[1]


def test_the_gradient_of_a_number_of_the_cpu_is_on_the_cpu(mytorch: ModuleType) -> None:
    number = mytorch.tensor([2.0, 3.0], requires_grad=True)
    (number.sum() * mytorch.ones(3, device=1)).sum().backward()
    assert repr(number.grad) == "tensor([3., 3.])"


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """CuPy with two GPUs, played by minitorch's."""
    gpus = SimulatedGPUs([0, 1], 1 << 20)
    runtime = SimpleNamespace(getDeviceCount=gpus.count, getDevice=gpus.current)
    names = {name: getattr(gpus.xp, name) for name in ("asarray", "lib", "ndarray")}
    cuda = SimpleNamespace(runtime=runtime, Device=type(gpus.on(0)))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, **names))  # type: ignore[arg-type]
    yield
    del sys.modules["minitorch.arrays.cupy"]  # which has imported this one


def test_where_cupy_finds_gpus_they_are_used(mytorch: ModuleType, cupy: None) -> None:
    assert mytorch.cuda.use_cupy()
    x = mytorch.arange(3.0, device="cuda:1")
    assert [str(each.device) for each in (x.cuda(), x.cpu(), x * 2, x.to("cuda:0").copy_(x))] == [
        "cuda:0", "cpu", "cuda:1", "cuda:0",
    ]  # fmt: skip
    assert repr(x) == "tensor([0., 1., 2.], device='cuda:1')"
    assert x[1:].data_ptr() == x.data_ptr() + 4
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:1 and cuda:0"):
        x + x.cuda()


def test_without_cupy_the_gpus_stay_as_they_are(mytorch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "minitorch.arrays.cupy", raising=False)
    assert not mytorch.cuda.use_cupy()
    assert mytorch.cuda.device_count() == 3


TARGETS = ["", "x", "'cpu'", "torch.device('cpu')", "device='cpu'", "torch.float32", "torch.float64"]
TARGETS += ["torch.zeros(2, dtype=torch.int64)", "None, torch.float64", "'cpu', torch.float16"]
TARGETS += ["'cpu', copy=True", "dtype=torch.int64, copy=True"]


@pytest.mark.part(*TO)
@pytest.mark.parametrize("args", TARGETS)
def test_to_on_one_device(mytorch: ModuleType, args: str) -> None:
    found = []
    for lib in (mytorch, *ORACLES):
        x = lib.tensor([1.5, 2.0])
        y = eval(f"x.to({args})", {"x": x, "torch": lib})
        found.append((y.tolist(), repr(y.dtype), y is x, y.data_ptr() == x.data_ptr()))
    assert found == found[:1] * len(found)


@pytest.mark.part(*TO)
def test_to_another_device(mytorch: ModuleType) -> None:
    mytorch.cuda.set_device(1)
    x = mytorch.ones(2)
    there = x.to("cuda", mytorch.float64)
    assert (str(there.device), there.dtype, x.device.type) == ("cuda:1", mytorch.float64, "cpu")
    assert there.to("cuda") is there is there.cuda() is there.to(1) is there.to("cuda:1")
    assert str(there.to(mytorch.zeros(1, device=2)).device) == "cuda:2"
    assert str(there.cuda(0).device) == "cuda:0"
    mytorch.cuda.set_device(2)
    assert str(there.cuda().device) == "cuda:2"
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        x.to("cuda:3")
    mytorch.cuda.simulate(0)
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        x.to("cuda")


@pytest.mark.parametrize(
    "argument", ["'cuda:1'", "'cuda', 1", "'cpu'", "'cpu', 0", "1", "-1", "'cuda', -1", "'cuda:x'"]
)
def test_spellings_of_a_device(mytorch: ModuleType, argument: str) -> None:
    names_no_gpu = argument != "1"  # PyTorch looks for GPU 1 here
    same(lambda lib: eval(f"device({argument})", {"device": lib.device}), mytorch, beside_pytorch=names_no_gpu)


def test_the_current_gpu_and_the_default_device(mytorch: ModuleType) -> None:
    x = mytorch.ones(2, device="cuda:2")
    with mytorch.cuda.device(1), pytest.raises(ZeroDivisionError):
        assert str(mytorch.ones(2, device="cuda").device) == "cuda:1"
        assert str((x + 1).device) == "cuda:2"
        assert mytorch.ones(2).device.type == "cpu"
        raise ZeroDivisionError
    assert mytorch.cuda.current_device() == 0
    with mytorch.device("cuda:1"):
        assert [each.get_device() for each in (mytorch.ones(2), mytorch.arange(2), mytorch.tensor(1))] == [1, 1, 1]
        assert mytorch.from_numpy(np.ones(2)).get_device() == -1
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        mytorch.cuda.set_device("cpu")


def test_a_gpu_starts_when_something_needs_it(mytorch: ModuleType) -> None:
    assert mytorch.cuda.device_count() == 3
    assert mytorch.cuda.memory_allocated() == 0
    assert not mytorch.cuda.is_initialized()
    mytorch.ones(1, device="cuda")
    assert mytorch.cuda.is_initialized()


VISIBLE = [(None, [0, 1, 2]), ("", []), ("2,0", [2, 0]), (" 1 , 2", [1, 2]), ("0,-1,1", [0]), ("0,x,1", [0])]
VISIBLE += [("0,,1", [0]), ("1,1", []), ("0,7,1", [0]), ("0,7,0", []), ("0,x,0", [0]), ("7", []), ("2,", [2])]


@pytest.mark.part("mytorch.cuda:visible_devices")
@pytest.mark.parametrize(("text", "visible"), VISIBLE)
def test_visible_devices(mytorch: ModuleType, text: str | None, visible: list[int]) -> None:
    assert mytorch.cuda.visible_devices(text, 3) == visible
    mytorch.cuda.simulate(3, visible=text)
    names = [mytorch.cuda.get_device_name(each) for each in range(mytorch.cuda.device_count())]
    assert names == [f"Simulated GPU {each}" for each in visible]


def test_memory_is_that_of_living_storages(mytorch: ModuleType) -> None:
    """In blocks of 512 bytes, as PyTorch's allocator gives them."""
    x = mytorch.ones(1000, device=2)
    view = (x * 2)[:10]
    assert mytorch.cuda.memory_allocated(2) == 2 * 4096
    view = view.clone()
    assert mytorch.cuda.memory_allocated(2) == 4096 + 512
    assert mytorch.cuda.memory_allocated(1) == 0
    del x, view
    assert mytorch.cuda.memory_allocated(2) == 0


def test_a_full_gpu_raises(mytorch: ModuleType) -> None:
    mytorch.cuda.simulate(2, memory=10_000)
    x = mytorch.ones(1000, device=1)
    y = x + 1
    with pytest.raises(mytorch.cuda.OutOfMemoryError, match="10000 bytes of which 1808 bytes is free"):
        x * y
    with pytest.raises(mytorch.cuda.OutOfMemoryError):
        mytorch.ones(1000, device=1)
    del x
    assert (y - 1).sum().item() == 1000


def test_tensors_outlive_a_simulation(mytorch: ModuleType) -> None:
    x = mytorch.ones(2, device=2)
    mytorch.cuda.simulate(1)
    assert (x[1:] + 1).tolist() == [2.0]


def test_numpy_cannot_read_a_gpu(mytorch: ModuleType) -> None:
    x = mytorch.ones(2, device=1)
    with pytest.raises(TypeError, match="can't convert cuda:1 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(TypeError):
        np.asarray(x.array)
    assert repr(x) == "tensor([1., 1.], device='cuda:1')"


def test_a_device_context_fills_in_a_missing_device(mytorch: ModuleType) -> None:
    # As PyTorch does within torch.device("meta"): what takes a device= moves a tensor of the CPU, the others don't.
    x, w = mytorch.ones(2), mytorch.ones(2, requires_grad=True)
    with mytorch.device("cuda:1"):
        moved = [mytorch.tensor(x), mytorch.as_tensor(x), mytorch.as_tensor(w, dtype=mytorch.float64)]
        left = [mytorch.ones_like(x), mytorch.from_numpy(np.ones(2)), x + 1]
    assert [str(each.device) for each in moved] == ["cuda:1"] * 3
    assert [str(each.device) for each in left] == ["cpu"] * 3
    assert (moved[2].dtype, moved[2].requires_grad) == (mytorch.float64, True)
    assert mytorch.as_tensor(x) is x
