"""Which names there are; old tensor types, shared memory, and switches: each line runs on torch and on minitorch."""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.surface_exclusions import EXCLUDED

torch = pytest.importorskip("torch", reason="the expected values are torch's")

Line = Callable[[Any], Any]


def outcome(line: Line, module: Any) -> str:
    """What a line gives, as text: its value's repr, or the type and message of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(line(module))
        except Exception as error:
            return f"{type(error).__name__}: {error}"


TENSOR_TYPES: list[Line] = [
    lambda t: t.FloatTensor,
    lambda t: t.FloatTensor([1, 2]),
    lambda t: t.FloatTensor(2, 3).shape,
    lambda t: t.FloatTensor(t.Size([2, 3])).shape,
    lambda t: t.FloatTensor((2, 3)),
    lambda t: t.FloatTensor(),
    lambda t: t.FloatTensor(t.ones(2)),
    lambda t: t.FloatTensor(np.ones(2)),
    lambda t: t.LongTensor([1.7, 2]),
    lambda t: t.BoolTensor([1, 0]),
    lambda t: t.HalfTensor([1]),
    lambda t: t.FloatTensor.dtype,
    lambda t: isinstance(t.ones(2), t.FloatTensor),
    lambda t: isinstance(t.ones(2, dtype=t.int32), t.FloatTensor),
    lambda t: issubclass(t.FloatTensor, t.Tensor),
    lambda t: t.FloatTensor(2, device="cuda"),
    lambda t: t.FloatTensor(3.5),
    lambda t: t.Tensor(3.5),
    lambda t: t.Tensor("a"),
    lambda t: t.Tensor(2, 3.0),
    lambda t: t.Tensor([[1, 2], [3, 4]]),
    lambda t: t.Tensor(2, 0).shape,
    lambda t: t.Tensor,
    lambda t: type(t.ones(2)),
    lambda t: t.set_default_tensor_type("torch.LongTensor"),
    lambda t: t.tensor([1]).type("torch.FloatTensor"),
    lambda t: np.array([2.0, 3.0]) / t.ones(2),
    lambda t: np.array(2.0) / t.ones(2),
    lambda t: t.ones(2) == np.array([1.0, 3.0]),
    lambda t: np.array([1, 3]) == t.ones(2, requires_grad=True),
    lambda t: t.ones(2) == [1, 1],
    lambda t: t.ones(2) < np.array([1.0, 3.0]),
    lambda t: None / t.ones(2),
    lambda t: t.ones(2).add_(1, alpha=t.tensor(2.0)),
    lambda t: t.ones(2).add_(3, t.ones(2)),
    lambda t: t.sub(t.ones(2), 3, t.ones(2)),
    lambda t: t.ones(2).addcmul_(3, t.ones(2), t.full((2,), 2.0)),
    lambda t: t.addcdiv(t.ones(2), 3, t.ones(2), t.full((2,), 2.0)),
    lambda t: t.sub(t.ones(2), t.ones(2), alpha=t.tensor(2)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor([2.0])),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor(2.0, requires_grad=True)),
    lambda t: t.tensor([1]).type(t.FloatTensor),
    lambda t: t.tensor([1]).type(t.Tensor),
    lambda t: t.tensor([1]).type("torch.Tensor"),
    lambda t: t.tensor([1.5]).type(t.ByteTensor),
    lambda t: t.tensor([1.5]).type(t.long),
    lambda t: t.tensor([1.5]).type("FloatTensor"),
    lambda t: t.tensor([1.5]).type(t.nn.Parameter),
    lambda t: t.tensor([1.5]).type(float),
    lambda t: t.tensor([1.5]).type(3),
    lambda t: t.nn.Linear(1, 1).type(t.DoubleTensor).weight.dtype,
    lambda t: (lambda x: x.type(t.FloatTensor) is x)(t.ones(2)),
    lambda t: t.tensor([1]).type(),
]

MEMORY: list[Line] = [
    lambda t: t.frombuffer(bytearray(8), dtype=t.float32),
    lambda t: t.frombuffer(bytearray(b"12345678"), dtype=t.int32),
    lambda t: t.frombuffer(bytearray(8), dtype=t.int16, count=2, offset=2),
    lambda t: t.frombuffer(bytearray(7), dtype=t.int32),
    lambda t: t.frombuffer(bytearray(8), dtype=t.int32, count=3),
    lambda t: t.frombuffer(bytearray(8), dtype=t.int32, offset=9),
    lambda t: t.frombuffer(bytearray(0), dtype=t.int32),
    lambda t: t.frombuffer(3, dtype=t.int32),
    lambda t: t.ones(2, requires_grad=True).__dlpack__(),
    lambda t: tuple(map(int, t.ones(2).__dlpack_device__())),
    lambda t: t.ones(2).__dlpack_device__(),
    lambda t: t.ones(2).__dlpack__(stream=3),
    lambda t: t.ones(2).__dlpack__(stream="a"),
    lambda t: t.ones(2, device="meta").__dlpack__(),
    lambda t: t.utils.dlpack.from_dlpack(t.utils.dlpack.to_dlpack(t.ones(2, requires_grad=True))),
    lambda t: t.from_dlpack(t.ones(2, requires_grad=True)),
    lambda t: t.from_dlpack(t.ones(2, requires_grad=True) * 2),
    lambda t: t.from_dlpack(t.ones(2, dtype=t.complex64).conj()),
    lambda t: t.from_dlpack(t.ones(2, device="meta")),
    lambda t: t.from_dlpack(t.ones(2, dtype=t.bfloat16)),
    lambda t: t.from_dlpack(3),
    lambda t: (lambda capsule: [t.from_dlpack(capsule), t.from_dlpack(capsule)])(t.ones(2).__dlpack__()),
    lambda t: t.from_dlpack(t.ones(2).__dlpack__(), copy=True),
    lambda t: t.from_dlpack(t.ones(2), device="meta"),
    lambda t: t.from_dlpack(t.ones(2), device=3),
    lambda t: t.from_dlpack(t.ones(2), device=t.device("cuda:0"), copy=False),
    lambda t: (lambda x: [t.from_dlpack(x).add_(1), x, x._version])(t.ones(3, 2).t()),
    lambda t: t.from_dlpack(np.arange(3, dtype=">i4")),
    lambda t: t.from_dlpack(np.array(["a"])),
    lambda t: t.from_dlpack(np.arange(3)),
    lambda t: np.from_dlpack(t.ones(2, 3).t()).strides,
    lambda t: t.from_dlpack(t.ones(2)),
    lambda t: memoryview(t.ones(2)),
    lambda t: t.empty_permuted((2, 3, 4), (2, 0, 1)).stride(),
    lambda t: t.empty_permuted(size=(2, 3), physical_layout=(1, 0), dtype=t.int64).dtype,
    lambda t: t.empty_permuted((2, 3), (0,)),
    lambda t: t.empty_permuted((2, 3), (0, 2)),
    lambda t: t.empty_permuted((2, 3), (0, 0)),
    lambda t: type(t.ones(2).as_subclass(type("Mine", (t.Tensor,), {}))).__name__,
]

CONSTANTS: list[Line] = [lambda t: (t.pi, t.e, t.inf, t.nan, t.newaxis)]

SWITCHES: list[Line] = [
    lambda t: t.set_num_threads(0),
    lambda t: t.set_num_threads("a"),
    lambda t: t.use_deterministic_algorithms(3),
    lambda t: t.are_deterministic_algorithms_enabled(),
    lambda t: t.is_deterministic_algorithms_warn_only_enabled(),
    lambda t: t.get_deterministic_debug_mode(),
    lambda t: t.set_deterministic_debug_mode("x"),
    lambda t: t.get_float32_matmul_precision(),
    lambda t: t.is_tensor(3),
    lambda t: t.is_tensor(t.ones(1)),
    lambda t: t.is_storage(t.ones(2).untyped_storage()),
    lambda t: t.typename(t.ones(2)),
    lambda t: t.typename(t.nn.Linear(1, 1)),
    lambda t: t.typename(3),
    lambda t: t.typename("a"),
]


@pytest.mark.parametrize("line", [*TENSOR_TYPES, *MEMORY, *CONSTANTS, *SWITCHES])
def test_a_line_gives_what_it_gives_in_torch(line: Line) -> None:
    assert outcome(line, minitorch) == outcome(line, torch)


def test_dlpack_and_buffers_share_memory() -> None:
    ours = minitorch.zeros(3)
    np.from_dlpack(ours)[0] = 7
    theirs = torch.from_dlpack(ours)
    theirs[1] = 8
    assert ours.tolist() == [7, 8, 0]
    back = minitorch.from_dlpack(theirs)
    back[2] = 9
    assert theirs.tolist() == [7, 8, 9]
    memory = bytearray(4)
    minitorch.frombuffer(memory, dtype=minitorch.uint8)[3] = 255
    assert memory[3] == 255


def test_switches_remember_and_restore() -> None:
    for module in (torch, minitorch):
        module.use_deterministic_algorithms(True, warn_only=True)
        try:
            assert module.are_deterministic_algorithms_enabled()
            assert module.is_deterministic_algorithms_warn_only_enabled()
            assert module.get_deterministic_debug_mode() == 1
        finally:
            module.use_deterministic_algorithms(False)
        assert module.get_deterministic_debug_mode() == 0


def test_deterministic_algorithms_fill_new_memory() -> None:
    def made(module: Any) -> list[str]:
        grown, kinds = module.ones(2), (module.bool, module.uint8, module.int64, module.complex64, module.bfloat16)
        tensors = [module.empty(2, dtype=kind) for kind in kinds]
        tensors += [module.empty_strided((2, 2), (4, 1)), module.empty_permuted((2, 3), (1, 0)), grown.new_empty(2)]
        return [repr(each) for each in (*tensors, module.empty_like(module.ones(2, 3).t()), grown.resize_(2, 2))]

    shown = []
    for module in (torch, minitorch):
        module.use_deterministic_algorithms(True)
        try:
            shown.append(made(module))
        finally:
            module.use_deterministic_algorithms(False)
    assert shown[0] == shown[1]


def test_what_has_no_deterministic_implementation_says_so() -> None:
    def put(module: Any, accumulate: bool, warn_only: bool) -> Any:
        module.use_deterministic_algorithms(True, warn_only=warn_only)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                x = module.zeros(3).put_(module.tensor([1]), module.tensor([2.0]), accumulate=accumulate)
            return x.tolist(), [(each.category, str(each.message).partition(" (Triggered")[0]) for each in caught]
        except RuntimeError as error:
            return str(error)
        finally:
            module.use_deterministic_algorithms(False)

    for accumulate in (False, True):
        for warn_only in (False, True):
            assert put(minitorch, accumulate, warn_only) == put(torch, accumulate, warn_only)


def test_new_memory_is_filled_unless_the_switch_says_no() -> None:
    for module in (torch, minitorch):
        deterministic = module.utils.deterministic
        assert deterministic.fill_uninitialized_memory
        with pytest.raises(RuntimeError, match="expected a bool, but got int"):
            deterministic.fill_uninitialized_memory = 1
        deterministic.fill_uninitialized_memory = False
        try:
            assert not deterministic.fill_uninitialized_memory
        finally:
            deterministic.fill_uninitialized_memory = True
    minitorch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert minitorch.empty(2).isnan().all()
        minitorch.utils.deterministic.fill_uninitialized_memory = False
        assert not minitorch.settings.fills_uninitialized_memory()
    finally:
        minitorch.utils.deterministic.fill_uninitialized_memory = True
        minitorch.use_deterministic_algorithms(False)
    assert not minitorch.settings.fills_uninitialized_memory()


NAMESPACES = {
    "torch": "",
    "Tensor": "Tensor",
    "linalg": "linalg",
    "special": "special",
    "fft": "fft",
    "nn.functional": "nn.functional",
}


def namespace(root: Any, path: str) -> Any:
    found = root
    for part in path.split(".") if path else ():
        if inspect.ismodule(found):
            importlib.import_module(f"{root.__name__}.nn")
        found = getattr(found, part)
    return found


def exists(holder: Any, name: str) -> bool:
    try:
        getattr(holder, name)
    except (AttributeError, ModuleNotFoundError):
        return False
    return True


def excluded(label: str) -> set[str]:
    return {name for names in EXCLUDED.values() for name in names.get(label, "").split()}


@pytest.mark.parametrize("label", NAMESPACES)
def test_every_public_name_exists_or_is_left_out_on_purpose(label: str) -> None:
    theirs, ours = (namespace(root, NAMESPACES[label]) for root in (torch, minitorch))
    names = {name for name in dir(theirs) if not name.startswith("_") and exists(theirs, name)}
    names = {name for name in names if not inspect.ismodule(getattr(theirs, name))}
    missing = {name for name in names if not exists(ours, name)}
    assert missing - excluded(label) == set(), "missing"
    assert excluded(label) - missing == set(), "listed as left out, but there, or unknown to torch"


def test_names_are_left_out_once_and_for_the_reasons_that_the_documentation_gives() -> None:
    text = " ".join((Path(__file__).parent.parent / "docs" / "surface.md").read_text("utf-8").split())
    for reason, names in EXCLUDED.items():
        assert reason in text
        assert names.keys() <= NAMESPACES.keys()
    for label in NAMESPACES:
        listed = [name for names in EXCLUDED.values() for name in names.get(label, "").split()]
        assert len(listed) == len(set(listed))


@pytest.mark.parametrize("path", ["nn", "optim", "optim.lr_scheduler", "distributions", "distributions.transforms"])
def test_classes_derive_from_those_that_torchs_do(path: str) -> None:
    """So that `isinstance` tells the same of them."""
    theirs, ours = (vars(importlib.import_module(f"{library}.{path}")) for library in ("torch", "minitorch"))
    names = [
        name
        for name in sorted(theirs.keys() & ours.keys())
        if not name.startswith("_") and inspect.isclass(theirs[name]) and inspect.isclass(ours[name])
    ]
    assert len(names) > 10
    for name in names:
        bases, own = ({each for each in names if issubclass(all_[name], all_[each])} for all_ in (theirs, ours))
        assert own == bases, name


def test_functions_say_which_module_they_are_from() -> None:
    for name in torch.functional.__all__:
        if name not in excluded("torch"):
            expected = getattr(torch, name).__module__
            assert getattr(minitorch, name).__module__.replace("minitorch", "torch") == expected
            assert getattr(minitorch.functional, name) is getattr(minitorch, name)
            assert pickle.loads(pickle.dumps(getattr(minitorch, name))) is getattr(minitorch, name)
