"""Chapter 20 of mytorch: its files open in PyTorch, PyTorch's in mytorch, and nothing that a file names is run."""

from __future__ import annotations

import gc
import io
import json
import os
import pickle
import signal
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch

ROOT = Path(__file__).parents[2]

part = pytest.mark.part
pickling = "mytorch.pickling:"
serialization = "mytorch.serialization:"
FILE = ROOT / "notebooks" / "files" / "from_pytorch.pt"


def libraries() -> list[Any]:
    """Who else must read and write the files: minitorch, and PyTorch where it is installed."""
    try:
        import torch
    except ImportError:
        return [minitorch]
    return [minitorch, torch]


others = pytest.mark.parametrize("other", libraries(), ids=lambda library: library.__name__)


def passed(value: Any, writer: Any, reader: Any, **options: Any) -> Any:
    """A value as it comes out of a file."""
    file = io.BytesIO()
    writer.save(value, file)
    file.seek(0)
    return reader.load(file, **options)


def state(library: Any) -> OrderedDict[str, Any]:
    """The state of a model with buffers, in which all numbers are known."""
    model = library.nn.Sequential(library.nn.Linear(3, 2), library.nn.BatchNorm1d(2))
    found: OrderedDict[str, Any] = model.state_dict()
    for number, x in enumerate(found.values()):
        x.copy_(library.arange(number, number + x.numel()).reshape(x.shape))
    return found


VALUES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda torch: {
        "a": [1, -1, 255, 256, 65536, 2**31, -(2**40)],
        "b": (True, False, None),
        "c": 0.1,
        "d": "ä",
    },
    "tuples": lambda torch: [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "nested": lambda torch: {"x": [{}, [], [[torch.ones(2)]], {1: {2: torch.zeros(1)}}], "only": {"one": 1}, "l": [7]},
    "state": state,
    "parameter": lambda torch: torch.nn.Parameter(torch.tensor([1.0, 2.0])),
    "leaf": lambda torch: torch.ones(2, requires_grad=True),
    "scalar and empty": lambda torch: [torch.tensor(3), torch.zeros(0, 3)],
    "views": lambda torch: [torch.arange(6).reshape(2, 3).t(), torch.arange(6)[1::2], torch.ones(1).expand(3)],
    "types": lambda torch: [torch.float32, torch.bfloat16, torch.int64],
    "many": lambda torch: {f"{number}": torch.tensor([number]) for number in range(300)},  # long memo and keys
    **{
        name: lambda torch, name=name: torch.tensor([0, 1, 1]).to(getattr(torch, name))  # type: ignore[misc]
        for name in ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
    },
}


@part(pickling + "unpickle", pickling + "Pickler", serialization + "records_of", serialization + "storage_reader")
@others
@pytest.mark.parametrize("name", VALUES)
def test_a_file_goes_from_one_to_the_other(mytorch: ModuleType, other: Any, name: str) -> None:
    make = VALUES[name]
    assert repr(passed(make(mytorch), mytorch, mytorch)) == repr(make(mytorch))
    assert repr(passed(make(other), other, mytorch)) == repr(make(mytorch))
    assert repr(passed(make(mytorch), mytorch, other)) == repr(make(other))


@part(serialization + "records_of", serialization + "storage_reader")
@others
def test_what_shared_memory_still_does(mytorch: ModuleType, other: Any) -> None:
    for writer, reader in ((mytorch, mytorch), (other, mytorch), (mytorch, other)):
        x = writer.arange(12).reshape(3, 4)
        loaded = passed({"x": x, "row": x[1], "t": [x.t()], "again": x, "copy": x.clone()}, writer, reader)
        assert loaded["t"][0].stride() == (1, 4)
        assert loaded["again"] is loaded["x"]
        loaded["row"][0] = 100
        assert [loaded["x"][1, 0].item(), loaded["t"][0][0, 1].item(), loaded["copy"][1, 0].item()] == [100, 100, 4]


@part(serialization + "records_of")
def test_a_storage_is_saved_once_and_whole(mytorch: ModuleType) -> None:
    x = mytorch.arange(12)
    file = io.BytesIO()
    mytorch.save([x[:1], x.reshape(3, 4), x.clone()], file)
    with zipfile.ZipFile(file) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist() if "/data/" in each.filename}
    assert sizes == {"archive/data/0": 96, "archive/data/1": 96}


def test_loaded_tensors_share_versions(mytorch: ModuleType) -> None:
    x = mytorch.arange(3.0)
    first, second = passed([x, x[1:]], mytorch, mytorch)
    before = second._version
    first.add_(1)
    assert second._version == before + 1


@part(pickling + "unpickle")
def test_a_file_of_the_real_pytorch(mytorch: ModuleType) -> None:
    loaded = mytorch.load(FILE)
    x, row, t = loaded["views"]
    row[0] = 100
    assert (x[1, 0].item(), t[0, 1].item(), t.stride()) == (100, 100, (1, 4))
    assert list(loaded["model"])[:2] == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert loaded["model"]._metadata["_orig_mod.1"] == {"version": 2}
    assert (
        repr(loaded["types"])
        == "(tensor([ 1.5000, -2.0000], dtype=torch.bfloat16), tensor([ True, False]), torch.float16)"
    )
    assert repr(loaded["parameter"]) == "Parameter containing:\ntensor([3.], requires_grad=True)"
    rest = [loaded[name] for name in ("epoch", "done", "note", "best", "large", "rate")]
    assert rest == [7, False, "naïve", None, 2**40, 0.125]
    assert loaded["optimizer"]["param_groups"][0]["betas"] == (0.9, 0.999)
    model = mytorch.nn.Sequential(mytorch.nn.Linear(3, 2), mytorch.nn.BatchNorm1d(2))
    model.load_state_dict({name.removeprefix("_orig_mod."): x for name, x in loaded["model"].items()})
    optimizer = mytorch.optim.Adam(model.parameters(), lr=1)
    optimizer.load_state_dict(loaded["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.25


# What a file must not do

RAN: list[str] = []


class Naming:
    """Pickled as a call of a function that a file should not be able to call."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


@part(pickling + "unpickle", pickling + "find_allowed")
@others
@pytest.mark.parametrize(
    "function", [print, eval, RAN.append, minitorch.nn.Linear], ids=lambda function: function.__name__
)
def test_a_name_that_is_not_allowed_is_refused(mytorch: ModuleType, other: Any, function: Any) -> None:
    errors = []
    for library in (mytorch, other):
        with pytest.raises(pickle.UnpicklingError) as error:
            passed({"w": Naming(function, "ran")}, minitorch, library)
        errors.append(str(error.value))
    assert RAN == []
    assert errors[0].startswith("Weights only load failed. ")
    if "Unsupported global" in errors[1]:
        sentence = errors[1][errors[1].index("Unsupported global") :].partition("\n")[0]
        assert sentence in errors[0]


@part(pickling + "AnyUnpickler")
def test_without_weights_only_anything_runs(mytorch: ModuleType) -> None:
    assert passed({"w": Naming(len, "four")}, mytorch, mytorch, weights_only=False) == {"w": 4}
    x = passed([mytorch.arange(3.0), mytorch.float16], mytorch, mytorch, weights_only=False)
    assert (x[0].tolist(), x[1]) == ([0.0, 1.0, 2.0], mytorch.float16)


@part(pickling + "unpickle")
@pytest.mark.parametrize(
    "program",
    [
        pickle.dumps({"a": 1}, 4),
        pickle.dumps({1, 2}, 4),
        b"\x80\x02ctorch\nfloat32\n}X\x04\x00\x00\x00nameX\x01\x00\x00\x00xsb.",  # would rename the type
        b"\x80\x02(I1\no.",
    ],
)
def test_other_operations_are_refused(mytorch: ModuleType, program: bytes) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", program)
    with pytest.raises(pickle.UnpicklingError, match="Unsupported operand"):
        mytorch.load(file)
    assert mytorch.float32.name == "float32"


def test_a_file_that_is_cut_off_is_refused(mytorch: ModuleType) -> None:
    file = io.BytesIO()
    mytorch.save(state(mytorch), file)
    data = file.getvalue()
    for length in range(0, len(data), 61):
        with pytest.raises(RuntimeError, match="PytorchStreamReader failed reading zip archive"):
            mytorch.load(io.BytesIO(data[:length]))


@part(pickling + "unpickle")
def test_a_program_that_is_cut_off_is_refused(mytorch: ModuleType) -> None:
    with pytest.raises(EOFError, match="ends before it stops"):
        mytorch.pickling.unpickle(b"\x80\x02}", None, None)


# Devices


@part(serialization + "where_to")
def test_a_file_from_a_gpu(mytorch: ModuleType) -> None:
    mytorch.cuda.simulate(2)
    try:
        x = mytorch.tensor([1.0, 2.0], device="cuda:1")
        assert str(passed(x, mytorch, mytorch).device) == "cuda:1"
        assert str(passed(x, mytorch, mytorch, map_location="cuda:0").device) == "cuda:0"
        file = io.BytesIO()
        mytorch.save({"x": x, "row": x[:1]}, file)
    finally:
        mytorch.cuda.State.gpus = None
    for library in (mytorch, *libraries()):
        with pytest.raises(RuntimeError) as error:
            library.load(io.BytesIO(file.getvalue()))
        assert str(error.value) == (
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
        loaded = library.load(io.BytesIO(file.getvalue()), map_location="cpu")
        assert loaded["x"].tolist() == [1.0, 2.0]


# A writer that is killed


def at_event(number: int | None, call: Callable[[], Any], seen: list[Any]) -> None:
    """Run a call, and kill this process just before its event of this number; `seen` gets what each event is about."""

    def profile(frame: Any, event: str, about: Any) -> None:
        if len(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        seen.append((event, about))

    gc.disable()  # a collection would be an event here and none there
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()


@pytest.mark.turns(8)
@part(serialization + "replacing")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes as POSIX has them")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("form", ["pt", "safetensors"])
def test_a_checkpoint_whose_writer_is_killed_is_not_lost(mytorch: ModuleType, tmp_path: Path, form: str) -> None:
    path, other = tmp_path / f"model.{form}", tmp_path / f"other.{form}"
    save, load = (
        (mytorch.save, mytorch.load) if form == "pt" else (mytorch.safetensors.save_file, mytorch.safetensors.load_file)
    )
    old, new = ({"w": mytorch.full((1000,), value), "b": mytorch.full((3,), value)} for value in (1.0, 2.0))
    events: list[Any] = []
    save(new, other)
    at_event(None, lambda: save(new, other), events)
    calls = {event: number for number, (event, about) in enumerate(events) if about is os.replace}
    points = {int(number) for number in np.linspace(0, calls["c_return"], 23)}
    points |= {calls["c_call"], calls["c_call"] + 1, calls["c_return"], calls["c_return"] + 1}
    assert len(points) >= 25
    kept = []
    for point in sorted(points):
        save(old, path)
        child = os.fork()
        if child == 0:
            try:
                at_event(point, lambda: save(new, path), [])
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        values = {x: set(values.tolist()) for x, values in load(path).items()}
        assert values in ({"w": {1.0}, "b": {1.0}}, {"w": {2.0}, "b": {2.0}})
        kept.append(values["w"].pop())
    assert kept == sorted(kept)
    assert set(kept) == {1.0, 2.0}


@part(serialization + "replacing")
def test_an_error_while_saving_leaves_the_old_file(mytorch: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    mytorch.save({"w": 1}, path)
    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        mytorch.save({"w": lambda: 0}, path)
    with pytest.raises(ZeroDivisionError), mytorch.serialization.replacing(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert mytorch.load(path) == {"w": 1}
    assert [each.name for each in tmp_path.iterdir()] == ["model.pt"]


def test_records_are_named_as_the_file_and_aligned(mytorch: ModuleType, tmp_path: Path) -> None:
    mytorch.save([mytorch.ones(3), mytorch.ones(5)], tmp_path / "some.model.pt")
    with zipfile.ZipFile(tmp_path / "some.model.pt") as archive:
        names = archive.namelist()
        data = (tmp_path / "some.model.pt").read_bytes()
        starts = [data.index(np.ones(count, np.float32).tobytes()) for count in (3, 5)]
    assert names == [f"some.model/{name}" for name in ("data.pkl", "byteorder", "data/0", "data/1", "version")]
    assert [start % 64 for start in starts] == [0, 0]


# safetensors


def tensors(library: Any) -> dict[str, Any]:
    """A tensor of each type, one without dimensions and one without elements."""
    made = {
        name: library.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(library, name))
        for name in ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
    }
    return made | {"scalar": library.tensor(2.5), "empty": library.zeros(0, 2)}


@part("mytorch.safetensors:save_file", "mytorch.safetensors:load_file")
def test_safetensors_both_ways(mytorch: ModuleType, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    pytorch = pytest.importorskip("torch")
    from safetensors import torch as beside_pytorch

    mytorch.safetensors.save_file(tensors(mytorch), tmp_path / "mine", {"format": "pt"})
    loaded = beside_pytorch.load_file(tmp_path / "mine")
    assert {name: repr(x) for name, x in loaded.items()} == {name: repr(x) for name, x in tensors(pytorch).items()}
    with safetensors.safe_open(tmp_path / "mine", "pt") as file:
        assert file.metadata() == {"format": "pt"}
    beside_pytorch.save_file(tensors(pytorch), tmp_path / "theirs", {"format": "pt"})
    loaded = mytorch.safetensors.load_file(tmp_path / "theirs")
    assert {name: repr(x) for name, x in loaded.items()} == {name: repr(x) for name, x in tensors(mytorch).items()}
    loaded["float32"][0, 0] = 5  # its own memory


@part("mytorch.safetensors:save_file")
def test_the_header_of_safetensors(mytorch: ModuleType, tmp_path: Path) -> None:
    x = mytorch.arange(6.0).reshape(2, 3)
    mytorch.safetensors.save_file({"t": x.t(), "b": mytorch.tensor([True])}, tmp_path / "file")
    data = (tmp_path / "file").read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    assert json.loads(data[8 : 8 + length]) == {
        "t": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]},
        "b": {"dtype": "BOOL", "shape": [1], "data_offsets": [24, 25]},
    }
    assert np.frombuffer(data[8 + length : -1], np.float32).tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]


@part("mytorch.safetensors:refuse_shared")
def test_safetensors_refuses_what_shares_memory(mytorch: ModuleType, tmp_path: Path) -> None:
    x = mytorch.ones(3)
    with pytest.raises(RuntimeError, match=r"Some tensors share memory, .*: \[\['a', 'c'\]\]\."):
        mytorch.safetensors.save_file({"a": x, "b": x.clone(), "c": x[1:]}, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@part("mytorch.safetensors:load_file")
def test_safetensors_go_to_a_device(mytorch: ModuleType, tmp_path: Path) -> None:
    mytorch.cuda.simulate(2)
    try:
        mytorch.safetensors.save_file({"a": mytorch.ones(2, device="cuda:1")}, tmp_path / "file")
        assert str(mytorch.safetensors.load_file(tmp_path / "file")["a"].device) == "cpu"
        assert str(mytorch.safetensors.load_file(tmp_path / "file", "cuda:0")["a"].device) == "cuda:0"
    finally:
        mytorch.cuda.State.gpus = None


# What the lesson says of PyTorch


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes as POSIX has them")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_real_torch_save_writes_in_place(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "model.pt"
    torch.save({"w": torch.ones(3)}, path)
    child = os.fork()
    if child == 0:
        # the storages' bytes are on their way when the process ends
        torch._C.PyTorchFileWriter.write_end_of_file = lambda self: os._exit(1)
        try:
            torch.save({"w": torch.zeros(3)}, path)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises((EOFError, RuntimeError)):
        torch.load(path)


def test_what_the_real_safetensors_refuses(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    save_file = pytest.importorskip("safetensors.torch").save_file
    x = torch.ones(4, 2)
    with pytest.raises(ValueError, match="non contiguous"):
        save_file({"a": x.t()}, tmp_path / "file")
    with pytest.raises(RuntimeError, match="share memory"):
        save_file({"a": x[:3], "b": x[2:]}, tmp_path / "file")
    save_file({"a": x[:2], "b": x[2:]}, tmp_path / "file")  # one storage, and no element in both


@others
def test_numpys_random_state_is_refused_with_weights_only(other: Any) -> None:
    state = np.random.default_rng(0).bit_generator.state | {"legacy": np.random.RandomState(0).get_state()}
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        passed(state, other, other)
    assert passed([int(each) for each in state["legacy"][1]], other, other) == state["legacy"][1].tolist()


@others
def test_assign_unties_weights_and_leaves_buffers_on_meta(other: Any) -> None:
    with other.device("meta"):
        tied = other.nn.Sequential(other.nn.Linear(2, 2, bias=False), other.nn.Linear(2, 2, bias=False))
        tied[1].weight = tied[0].weight
        tied.register_buffer("mask", other.ones(2), persistent=False)
    keys = tied.load_state_dict({name: other.ones(2, 2) for name in ("0.weight", "1.weight")}, assign=True)
    assert str(keys) == "<All keys matched successfully>"
    assert tied[0].weight is not tied[1].weight
    assert (str(tied.mask.device), str(tied[1].weight.device)) == ("meta", "cpu")
