"""Files that torch reads and files that torch has written, and what a file may not do."""

from __future__ import annotations

import collections
import io
import os
import pickle
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import minitorch
from minitorch import serialization
from tests.same import attempt, exactly_the_same, same

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def oracle() -> Any:
    return pytest.importorskip("torch", reason="torch is the oracle of the file format: pip install torch==2.13.0")


def save_of(lib: Any) -> Any:
    return lib.save if lib is not minitorch else serialization.save


def load_of(lib: Any) -> Any:
    return lib.load if lib is not minitorch else serialization.load


def transferred(writer: Any, reader: Any, value: Any, **options: Any) -> Any:
    """What one library loads of what the other has saved."""
    buffer = io.BytesIO()
    save_of(writer)(value, buffer)
    buffer.seek(0)
    return load_of(reader)(buffer, **options)


def arange(lib: Any, count: int = 12, dtype: str = "float32") -> Any:
    if dtype == "bfloat16":
        array = np.arange(count).astype(ml_dtypes.bfloat16)
        if lib is minitorch:
            return lib.from_numpy(array)
        return lib.from_numpy(array.view(np.int16)).view(lib.bfloat16)
    return lib.from_numpy(np.arange(count).astype(dtype))


def numbers(tensor: Any) -> Any:
    return tensor.detach().tolist()


def nested(lib: Any) -> Any:
    x = arange(lib)
    return {
        "whole": x,
        "view": x.reshape(3, 4).t()[1:],
        "again": x,
        "list": [1, 2.5, True, None, "text", b"bytes", 2**70, -5, 1j, (1, (2,)), {3, 4}],
        "ordered": collections.OrderedDict(a=arange(lib, 3, "int64"), b=lib.zeros(0)),
        "dtype": lib.bfloat16,
        "size": x.reshape(3, 4).shape,
        "device": x.device,
        "leaf": arange(lib, 2).requires_grad_(),
        "scalar": arange(lib, 1).reshape(()),
    }


def described(value: Any) -> Any:
    if hasattr(value, "requires_grad"):
        place = (tuple(value.shape), value.stride(), value.storage_offset(), value.requires_grad, value.is_leaf)
        return str(value.dtype), place, numbers(value)
    if isinstance(value, dict):
        return type(value).__name__, [(key, described(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(each) for each in value]
    return value if isinstance(value, (int, float, complex, str, bytes, set)) or value is None else str(value)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("direction", ["to torch", "from torch", "alone"])
def test_nested_objects(direction: str, weights_only: bool) -> None:
    writer = oracle() if direction == "from torch" else minitorch
    reader = oracle() if direction == "to torch" else minitorch
    value = nested(writer)
    result = transferred(writer, reader, value, weights_only=weights_only)
    expected = described(value)
    assert described(result) == expected
    assert result["whole"] is result["again"]
    assert result["whole"].data_ptr() + 4 == result["view"].data_ptr()
    assert result["whole"].untyped_storage().data_ptr() == result["view"].untyped_storage().data_ptr()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("direction", ["to torch", "from torch", "alone"])
def test_dtypes(direction: str, dtype: str) -> None:
    writer = oracle() if direction == "from torch" else minitorch
    reader = oracle() if direction == "to torch" else minitorch
    result = transferred(writer, reader, arange(writer, 5, dtype))
    assert str(result.dtype) == f"torch.{dtype}"
    assert numbers(result) == numbers(arange(writer, 5, dtype))


def test_only_the_storage_of_a_view_is_saved_once() -> None:
    x = arange(minitorch, 1000)
    buffer = io.BytesIO()
    serialization.save([x, x[10:20], x.reshape(10, 100)], buffer)
    with zipfile.ZipFile(buffer) as archive:
        assert [each for each in archive.namelist() if "/data/" in each] == ["archive/data/0"]


@same
def test_the_archive_is_laid_out_as_torchs(lib: Any, tmp_path: Path) -> Any:
    path = tmp_path / "model.pt"
    save_of(lib)({"a": arange(lib, 3), "b": arange(lib, 70, "int64")}, path)
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for record in archive.infolist():
            assert record.compress_type == zipfile.ZIP_STORED
            file.seek(record.header_offset + 26)
            lengths = [int.from_bytes(file.read(2), "little") for _ in range(2)]
            assert (record.header_offset + 30 + sum(lengths)) % 64 == 0
        parts = ("data.pkl", ".format_version", "byteorder", "version")
        return archive.namelist(), [archive.read(f"model/{each}") for each in parts]


@pytest.mark.parametrize("direction", ["to torch", "from torch"])
def test_state_dicts(direction: str) -> None:
    torch = oracle()
    nn = pytest.importorskip("minitorch.nn")
    writer, reader = (torch, minitorch) if direction == "from torch" else (minitorch, torch)
    modules = {torch: torch.nn, minitorch: nn}

    def build(lib: Any) -> Any:
        return modules[lib].Sequential(modules[lib].Linear(3, 4), modules[lib].ReLU(), modules[lib].Linear(4, 2))

    source, target = build(writer), build(reader)
    target.load_state_dict(transferred(writer, reader, source.state_dict()))
    for one, other in zip(source.parameters(), target.parameters(), strict=True):
        assert numbers(one) == numbers(other)
    parameters = transferred(writer, reader, list(source.parameters()))
    assert all(type(each).__name__ == "Parameter" and each.requires_grad for each in parameters)


@pytest.mark.parametrize("direction", ["to torch", "from torch"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("Adam", {"amsgrad": True}),
        ("AdamW", {}),
        ("Adagrad", {}),
        ("Adadelta", {}),
        ("Adamax", {}),
        ("NAdam", {}),
        ("RAdam", {}),
        ("ASGD", {}),
        ("RMSprop", {"momentum": 0.9, "centered": True}),
        ("Rprop", {}),
        ("LBFGS", {"history_size": 3, "max_iter": 2}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_checkpoints_of_training(direction: str, name: str, options: dict[str, Any]) -> None:
    """Training goes on in the other library as if nothing had happened: weights, optimizer, schedule and scaler."""
    torch = oracle()
    import minitorch.amp
    import minitorch.optim

    writer, reader = (torch, minitorch) if direction == "from torch" else (minitorch, torch)

    def start(lib: Any) -> dict[str, Any]:
        lib.manual_seed(0 if lib is writer else 1)
        model = lib.nn.Sequential(lib.nn.BatchNorm1d(3), lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1))
        optimizer = getattr(lib.optim, name)(model.parameters(), lr=0.01, **options)
        schedule = lib.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
        return {"model": model, "optimizer": optimizer, "schedule": schedule, "scaler": lib.amp.GradScaler("cpu")}

    def train(lib: Any, parts: dict[str, Any]) -> list[Any]:
        x = arange(lib, 12).reshape(4, 3) / 12

        def closure() -> Any:
            parts["optimizer"].zero_grad()
            loss = parts["model"](x).square().sum()
            loss.backward()
            return loss

        for _ in range(3):
            if name == "LBFGS":
                parts["optimizer"].step(closure)
            else:
                parts["optimizer"].zero_grad()
                parts["scaler"].scale(parts["model"](x).square().sum()).backward()
                parts["scaler"].step(parts["optimizer"])
                parts["scaler"].update()
            parts["schedule"].step()
        return [each.double().numpy() for each in parts["model"].state_dict().values()]

    before, after = start(writer), start(reader)
    train(writer, before)
    saved_states = {part: each.state_dict() for part, each in before.items()}
    for part, state in transferred(writer, reader, saved_states).items():
        after[part].load_state_dict(state)
    for one, other in zip(train(writer, before), train(reader, after), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)


def test_whole_modules() -> None:
    nn = pytest.importorskip("minitorch.nn")
    module = nn.Linear(3, 2)
    copied = transferred(minitorch, minitorch, module, weights_only=False)
    assert numbers(copied.weight) == numbers(module.weight)
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.linear\.Linear was not an allowed global"):
        transferred(minitorch, minitorch, module)


@pytest.mark.parametrize("direction", ["to torch", "from torch", "alone"])
def test_parameters_keep_attributes(direction: str) -> None:
    writer = oracle() if direction == "from torch" else minitorch
    reader = oracle() if direction == "to torch" else minitorch
    parameter = writer.nn.Parameter(arange(writer, 2), requires_grad=False)
    parameter.tag = "mine"
    plain = arange(writer, 2)
    plain.tag = "plain"
    loaded, other = transferred(writer, reader, [parameter, plain])
    assert (loaded.tag, loaded.requires_grad, other.tag) == ("mine", False, "plain")


# Places


def test_paths(tmp_path: Path) -> None:
    for path in (tmp_path / "a.pt", str(tmp_path / "b")):
        serialization.save([1, 2], path)
        assert serialization.load(path) == [1, 2]
        mask = os.umask(0)
        os.umask(mask)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o666 & ~mask


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    serialization.save("old", path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        serialization.save(lambda: 1, path)
    assert serialization.load(path) == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_files_that_start_elsewhere() -> None:
    buffer = io.BytesIO(b"before")
    buffer.seek(6)
    serialization.save([1], buffer)
    buffer.seek(6)
    assert serialization.load(buffer) == [1]


def test_map_location() -> None:
    seen: list[Any] = []
    value = [arange(minitorch, 2), arange(minitorch, 3)]

    def remember(storage: Any, location: str) -> Any:
        seen.append((type(storage).__name__, location))
        return storage if len(seen) == 1 else None

    for location in ("cpu", minitorch.device("cpu"), {"cuda:0": "cpu"}, remember, None):
        result = transferred(minitorch, minitorch, value, map_location=location)
        assert [numbers(each) for each in result] == [numbers(each) for each in value]
    assert seen == [("UntypedStorage", "cpu")] * 2


@pytest.mark.parametrize("weights_only", [True, False])
def test_mapped_files(tmp_path: Path, weights_only: bool) -> None:
    """Torch's file is read in place: what is written to the tensor stays out of it."""
    torch = oracle()
    path = tmp_path / "model.pt"
    torch.save(nested(torch), path)
    before = path.read_bytes()
    for location in (None, "cpu"):
        result = serialization.load(path, map_location=location, mmap=True, weights_only=weights_only)
        assert described(result) == described(nested(torch))
        result["whole"].mul_(2)
        assert numbers(result["whole"]) == numbers(arange(torch) * 2)
        assert numbers(result["view"]) == numbers((arange(torch) * 2).reshape(3, 4).t()[1:])
    assert path.read_bytes() == before


@same
def test_storages_of_files(lib: Any, tmp_path: Path) -> Any:
    path = tmp_path / "bytes"
    path.write_bytes(b"abcdefgh")
    private = lib.UntypedStorage.from_file(str(path), False, 4)
    private[0] = 1
    shared = lib.UntypedStorage.from_file(str(path), shared=True, nbytes=8)
    shared[1] = 2
    part = lib.asarray(shared[4:8], dtype=lib.uint8)
    part[0] = 3
    found = [
        private.tolist(),
        shared.tolist(),
        part.tolist(),
        len(shared[2:5]),
        shared.untyped() is shared,
        lib.asarray(shared[:8], dtype=lib.float32).shape,
        lib.UntypedStorage.from_file(str(path)).nbytes(),
    ]
    del private, shared, part
    return found, path.read_bytes()


# Errors


def saved(value: Any, lib: Any = minitorch) -> io.BytesIO:
    buffer = io.BytesIO()
    save_of(lib)(value, buffer)
    buffer.seek(0)
    return buffer


class Custom:
    """Something that only its own program knows."""

    def __init__(self) -> None:
        self.value = 3


class Evil:
    def __reduce__(self) -> Any:
        return (os.getcwd, ())


ERRORS: list[Callable[[Any], Any]] = [
    lambda lib: load_of(lib)(io.BytesIO(b"garbage")),
    lambda lib: load_of(lib)(3),
    lambda lib: save_of(lib)(1, 3),
    lambda lib: save_of(lib)(1, "/nonexistent/folder/a.pt"),
    lambda lib: load_of(lib)("/nonexistent/folder/a.pt"),
    lambda lib: load_of(lib)(saved(Custom(), lib)),
    lambda lib: load_of(lib)(saved(print, lib)),
    lambda lib: load_of(lib)(saved(Evil(), lib)),
    lambda lib: load_of(lib)(saved(frozenset([1]), lib)),
    lambda lib: load_of(lib)(saved(range(3), lib)),
    lambda lib: load_of(lib)(saved(arange(lib), lib), map_location="cuda"),
    lambda lib: load_of(lib)(saved(arange(lib), lib), map_location="nowhere"),
    lambda lib: load_of(lib)(saved(arange(lib), lib), pickle_module=pickle, weights_only=True),
    lambda lib: load_of(lib)(saved(arange(lib), lib), mmap=True),
    lambda lib: load_of(lib)("/nonexistent/folder/a.pt", mmap=True),
    lambda lib: lib.UntypedStorage.from_file("/nonexistent/file", False, 9),
    lambda lib: lib.UntypedStorage.from_file(__file__, False, 10**9),
    lambda lib: lib.zeros(4).untyped_storage()[0:4:2],
    lambda lib: save_of(lib)(lambda: None, io.BytesIO()),
    lambda lib: load_of(lib)(io.BytesIO(b"PK\x03\x04")),
    lambda lib: load_of(lib)(io.BytesIO(saved(arange(lib), lib).getvalue()[:-30])),
    lambda lib: load_of(lib)(changed(saved(arange(lib), lib), "data.pkl", None)),
    lambda lib: load_of(lib)(changed(saved(arange(lib), lib), "data/0", None)),
    lambda lib: load_of(lib)(changed(saved(arange(lib), lib), "data/0", b"abc")),
    lambda lib: load_of(lib)(io.BytesIO(pickle.dumps({"a": 1}, 2))),
    lambda lib: load_of(lib)(changed(saved(1), "data.pkl", b"\x80\x02]K\x00aK\x00K\x05s.")),  # SETITEM on a list
    lambda lib: load_of(lib)(changed(saved(1), "data.pkl", b"\x80\x02]K\x00a(K\x00K\x05u.")),  # SETITEMS
    lambda lib: load_of(lib)(changed(saved(1), "data.pkl", b"\x80\x02}K\x01a.")),  # APPEND to a dict
    lambda lib: load_of(lib)(changed(saved(1), "data.pkl", b"\x80\x02}(K\x01e.")),  # APPENDS
    lambda lib: load_of(lib)(io.BytesIO(pickle.dumps({"a": 1}, 2)), weights_only=False),
    lambda lib: forced(lib, "TORCH_FORCE_WEIGHTS_ONLY_LOAD", weights_only=False),
    lambda lib: forced(lib, "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"),
    lambda lib: forced(lib, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", weights_only=True),
]


def changed(file: io.BytesIO, name: str, data: bytes | None) -> io.BytesIO:
    """The archive without a record, or with other bytes in it."""
    result = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(result, "w") as new:
        for each in old.namelist():
            if not each.endswith(name):
                new.writestr(each, old.read(each))
            elif data is not None:
                new.writestr(each, data)
    result.seek(0)
    return result


def forced(lib: Any, *switches: str, **options: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for switch in switches:
            patch.setenv(switch, "1")
        return load_of(lib)(saved(Custom(), lib), **options)


def test_switches_of_the_environment() -> None:
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert forced(minitorch, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD").value == 3


def test_strings_of_python_2() -> None:
    def load(lib: Any, **options: Any) -> Any:
        return load_of(lib)(changed(saved(1), "data.pkl", b"\x80\x02}U\x04textK\x01s."), **options)

    assert load(minitorch) == load(oracle()) == {"text": 1}
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        assert load(minitorch, encoding="bytes") == {b"text": 1}


@pytest.mark.parametrize("number", range(len(ERRORS)))
@same
def test_errors_are_torchs(lib: Any, number: int) -> Any:
    with pytest.raises(Exception) as caught:
        ERRORS[number](lib)
    return caught.type.__name__, str(caught.value)


def test_empty_files() -> None:
    with pytest.raises(EOFError):
        serialization.load(io.BytesIO())


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("direction", ["to torch", "from torch", "alone"])
def test_the_format_of_before_torch_1_6(direction: str, weights_only: bool) -> None:
    libraries = (minitorch, minitorch) if direction == "alone" else (minitorch, oracle())
    writer, reader = libraries if direction != "from torch" else libraries[::-1]
    base = arange(writer, 12)
    buffer = io.BytesIO(b"before")
    buffer.seek(6)
    value = {"nested": nested(writer), "base": base, "part": base[2:6]}
    if reader is minitorch:  # PyTorch's own can't read it
        value["storage"] = arange(writer, 2).untyped_storage()
    save_of(writer)(value, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(6)
    loaded = load_of(reader)(buffer, weights_only=weights_only)
    assert described(loaded["nested"]) == described(nested(reader))
    loaded["base"][2] = 100.0
    assert numbers(loaded["part"]) == [100, 3, 4, 5]
    if reader is minitorch:
        assert bytes(loaded["storage"].tolist()) == np.arange(2, dtype=np.float32).tobytes()


def test_broken_files_of_before_torch_1_6() -> None:
    buffer = io.BytesIO()
    serialization.save(arange(minitorch), buffer, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match=r"unexpected EOF, expected 10 more bytes\. The file might be corrupted"):
        serialization.load(io.BytesIO(buffer.getvalue()[:-10]))
    another = buffer.getvalue().replace(pickle.dumps(1001, 2), pickle.dumps(1002, 2), 1)
    with pytest.raises(RuntimeError, match="Invalid protocol version: 1002"):
        serialization.load(io.BytesIO(another))


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("direction", ["to torch", "from torch"])
def test_generators_storages_and_layouts(direction: str) -> None:
    writer, reader = (minitorch, oracle()) if direction == "to torch" else (oracle(), minitorch)
    generator = writer.Generator().manual_seed(3)
    writer.rand(5, generator=generator)
    value = (generator, arange(writer, 2).untyped_storage(), writer.strided)
    loaded, storage, layout = transferred(writer, reader, value, weights_only=False)
    assert loaded.initial_seed() == 3
    assert numbers(reader.rand(2, generator=loaded)) == numbers(writer.rand(2, generator=generator))
    assert bytes(storage.tolist()) == np.arange(2, dtype=np.float32).tobytes()
    assert layout is reader.strided
    assert transferred(writer, reader, writer.strided) is reader.strided
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL torch\._C\.Generator was not an allowed global"):
        transferred(writer, reader, generator)


def test_unsupported_arguments_of_load() -> None:
    with pytest.raises(NotImplementedError, match="pickle_module"):
        serialization.load(saved(1), pickle_module=collections, weights_only=False)


def attack(*operations: bytes) -> io.BytesIO:
    """A file with a pickle of the attacker's making."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02" + b"".join(operations) + b".")
        archive.writestr("a/version", "3\n")
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize(
    "operations",
    [
        [b"cos\nsystem\n", b"X\x04\x00\x00\x00true", b"\x85R"],
        [b"cbuiltins\neval\n", b"X\x01\x00\x00\x001", b"\x85R"],
        [b"c__builtin__\nexec\n"],
        [b"X\x04\x00\x00\x00text", b"X\x01\x00\x00\x001", b"\x85R"],  # calls what is no function
        [b"ctorch\nTensor\n", b"}X\x01\x00\x00\x00aX\x01\x00\x00\x00bsb"],  # writes to a class
        [b"cminitorch.serialization\nload\n"],
        [b"(cos\nsystem\nX\x04\x00\x00\x00trueo"],  # OBJ
        [b"(X\x04\x00\x00\x00trueios\nsystem\n"],  # INST
        [b"\x82\x01"],  # EXT1
        [b"X\x01\x00\x00\x001Q"],
    ],
    ids=lambda operations: repr(operations[0])[:24],
)
def test_files_can_not_run_code(operations: list[bytes]) -> None:
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        serialization.load(attack(*operations))


def test_safe_globals() -> None:
    def load() -> Any:
        return serialization.load(saved(Custom()))

    with serialization.safe_globals([Custom]):
        assert load().value == 3
    with pytest.raises(pickle.UnpicklingError):
        load()
    serialization.add_safe_globals([(Custom, f"{Custom.__module__}.Custom")])
    assert serialization.get_safe_globals() == [(Custom, f"{Custom.__module__}.Custom")]
    assert load().value == 3
    serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        load()


@pytest.mark.parametrize("given", [3, (Custom, "a", "b"), (Custom, 3)], ids=str)
@exactly_the_same
def test_safe_globals_are_looked_at_when_a_file_asks_for_them(lib: Any, given: Any) -> Any:
    def load(value: Any) -> Any:
        file = io.BytesIO()
        lib.save(value, file)
        file.seek(0)
        return lib.load(file)

    lib.serialization.clear_safe_globals()
    with lib.serialization.safe_globals([given]):
        return lib.serialization.get_safe_globals(), load(lib.ones(2)), attempt(load, Custom())


def test_pickle_protocol() -> None:
    for protocol in (2, 3, 4, 5):
        buffer = io.BytesIO()
        serialization.save({"a": arange(minitorch, 3), "b": "text"}, buffer, pickle_protocol=protocol)
        buffer.seek(0)
        assert numbers(serialization.load(buffer)["a"]) == [0, 1, 2]


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="a system without /dev/null")
def test_what_is_no_file_is_written_to_and_not_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def replace(*paths: Any) -> None:
        raise AssertionError("the device would have become a file")

    monkeypatch.setattr(os, "replace", replace)
    minitorch.save(minitorch.ones(1), os.devnull)
    with pytest.raises(EOFError):
        minitorch.load(os.devnull)
    with pytest.raises(RuntimeError, match="Is a directory"):
        minitorch.save(minitorch.ones(1), tmp_path)
