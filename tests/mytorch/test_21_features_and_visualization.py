"""Chapter 21 of mytorch: hooks that keep features, attributions, principal components, LoRA, TensorBoard's files."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import minitorch
from minitorch.models import resnet
from tests.mytorch.compare import ORACLES, close, numbers, outcome

part = pytest.mark.part
utils, lora, board = "mytorch.utils.", "mytorch.nn.lora:LoRALinear.", "mytorch.utils.tensorboard:"


def model_of(torch: Any) -> Any:
    """Convolutions and batch norms with the same numbers in every library, in evaluation mode."""
    nn = torch.nn
    first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4))
    model = nn.Sequential(first, nn.Sequential(nn.Conv2d(4, 6, 3, stride=2), nn.ReLU()), nn.AdaptiveAvgPool2d(1))
    model.add_module("flat", nn.Flatten())
    model.add_module("last", nn.Linear(6, 5))
    state = {name: torch.tensor(numbers(*each.shape, seed=place)) for place, (name, each) in enumerate(names_of(model))}
    model.load_state_dict(state | {"0.1.running_var": torch.tensor([0.5, 1.0, 2.0, 3.0])})
    return model.eval()


def names_of(model: Any) -> list[tuple[str, Any]]:
    return list(model.state_dict().items())


IMAGES, CLASSES = numbers(3, 3, 9, 8, seed=40), [4, 0, 2]


def hooked(torch: Any, names: list[str]) -> list[Any]:
    """What the modules of these names give, kept by a hook that clones."""
    model, kept = model_of(torch), {}
    for name in names:
        model.get_submodule(name).register_forward_hook(
            lambda module, args, result, name=name: kept.update({name: result.detach().clone()})
        )
    model(torch.tensor(IMAGES))
    return [kept[name] for name in names]


@part(utils + "inspection:features")
@pytest.mark.parametrize("oracle", ORACLES)
def test_features_are_what_the_modules_give(mytorch: ModuleType, oracle: ModuleType) -> None:
    names = ["0.1", "1", "flat"]
    model = model_of(mytorch)
    with mytorch.utils.features(model, names) as found:
        assert found == {}
        scores = model(mytorch.tensor(IMAGES))
    assert list(found) == names
    assert not any(each.requires_grad for each in found.values())
    close([found[name] for name in names], hooked(oracle, names))
    assert scores.requires_grad
    model(mytorch.zeros(1, 3, 9, 8))
    assert found["flat"].shape == (3, 6)


@part(utils + "inspection:features")
def test_features_stay_as_they_were(mytorch: ModuleType) -> None:
    nn = mytorch.nn

    class Writing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            y = self.first(x)
            before.append(y.tolist())
            return y.mul_(0)

    before: list[Any] = []
    model = Writing()
    with mytorch.utils.features(model, ["first"]) as found:
        model(mytorch.ones(3, 2)).sum().backward()
        close([found["first"]], before)
        model(mytorch.zeros(3, 2))
        close([found["first"]], before[1:])


@part(utils + "inspection:features")
@pytest.mark.parametrize("fault", ["in the block", "a wrong name"])
def test_features_leave_no_hook(mytorch: ModuleType, fault: str) -> None:
    model = model_of(mytorch)
    if fault == "in the block":
        with pytest.raises(ZeroDivisionError), mytorch.utils.features(model, ["0", "last"]):
            raise ZeroDivisionError
    else:
        with pytest.raises(AttributeError, match="Sequential has no attribute `9`"):
            mytorch.utils.features(model, ["0", "9"]).__enter__()
    assert [module for module in model.modules() if module._forward_hooks] == []


def slopes_of(torch: Any, layer: str) -> tuple[Any, Any, Any]:
    """The pixels' gradient, a layer's maps and their gradient, by `retain_grad` and one backward pass."""
    model, kept = model_of(torch), []
    model.get_submodule(layer).register_forward_hook(lambda module, args, result: kept.append(result))
    pixels = torch.tensor(IMAGES, requires_grad=True)
    scores = model(pixels)
    kept[0].retain_grad()
    sum(scores[row, column] for row, column in enumerate(CLASSES)).backward()
    return tuple(np.array(each.detach().tolist()) for each in (pixels.grad, kept[0], kept[0].grad))


@part(utils + "attribution:saliency", utils + "attribution:grad_cam")
@pytest.mark.parametrize("layer", ["0", "0.0", "1"])
@pytest.mark.parametrize("oracle", ORACLES)
def test_attributions_follow_their_formulas(mytorch: ModuleType, oracle: ModuleType, layer: str) -> None:
    pixels, maps, slopes = slopes_of(oracle, layer)
    model, images, classes = model_of(mytorch), mytorch.tensor(IMAGES), mytorch.tensor(CLASSES)
    close([mytorch.utils.saliency(model, images, classes)], [np.abs(pixels).max(1)])
    heat = np.maximum((slopes.mean((2, 3), keepdims=True) * maps).sum(1), 0)
    assert (heat > 0).any()
    found = mytorch.utils.grad_cam(model, layer, images, classes)
    close([found], [heat])
    assert not found.requires_grad
    assert not images.requires_grad
    assert all(each.grad is None for each in model.parameters())
    assert not model.get_submodule(layer)._forward_hooks


@part(utils + "attribution:grad_cam")
def test_grad_cam_where_the_next_layer_writes_and_nothing_is_trained(mytorch: ModuleType) -> None:
    net = resnet_on(mytorch)["ResNet"](resnet_on(mytorch)["BasicBlock"], [1, 1, 1, 1], 4, width=2).eval()
    images, classes = mytorch.tensor(numbers(2, 3, 16, 16)), mytorch.tensor([0, 3])
    trained = mytorch.utils.grad_cam(net, "bn1", images, classes)
    frozen = mytorch.utils.grad_cam(net.requires_grad_(False), "bn1", images, classes)
    close([trained], [frozen])
    assert trained.shape == (2, 8, 8)


@part(utils + "attribution:grad_cam")
def test_grad_cam_leaves_no_hook_after_an_error(mytorch: ModuleType) -> None:
    model = model_of(mytorch)
    with pytest.raises(RuntimeError):
        mytorch.utils.grad_cam(model, "0", mytorch.zeros(1, 2, 9, 8), mytorch.tensor([0]))
    assert not model[0]._forward_hooks


@part(utils + "components:pca")
def test_principal_components_are_scikit_learns(mytorch: ModuleType) -> None:
    rows = numbers(60, 5) * np.array([0.5, 9.0, 1.0, 4.0, 2.0]) @ numbers(5, 5, seed=1) + 3
    expected = PCA(3).fit(rows)
    directions, variances = mytorch.utils.pca(mytorch.tensor(rows), 3)
    close([directions, variances], [expected.components_, expected.explained_variance_])
    assert directions.dtype is mytorch.float64


def both(torch: Any, x: Any, weight: Any, bias: Any, a: Any, b: Any, scaling: float) -> Any:
    x, weight, a, b = (torch.tensor(each) for each in (x, weight, a, b))
    whole = weight + scaling * b @ a
    return torch.nn.functional.linear(x, whole, None if bias is None else torch.tensor(bias))


@part(lora + "__init__", lora + "forward", lora + "merge")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("oracle", ORACLES)
def test_lora_is_a_sum_of_two_layers(mytorch: ModuleType, oracle: ModuleType, bias: bool) -> None:
    base = mytorch.nn.Linear(5, 4, bias=bias, dtype=mytorch.float64)
    adapted = mytorch.nn.LoRALinear(base, r=2, alpha=6)
    x = numbers(3, 5).astype("float64")
    assert adapted.base is base
    close([adapted(mytorch.tensor(x))], [base(mytorch.tensor(x))], rtol=0, atol=0)
    trained = {name: tuple(each.shape) for name, each in adapted.named_parameters() if each.requires_grad}
    assert trained == {"lora_A": (2, 5), "lora_B": (4, 2)}
    adapted(mytorch.tensor(x)).sum().backward()
    assert not adapted.lora_A.grad.any()
    assert adapted.lora_B.grad.any()
    assert base.weight.grad is None
    with mytorch.no_grad():
        adapted.lora_B.copy_(mytorch.tensor(numbers(4, 2, seed=1)))
    lists = [base.weight, base.bias, adapted.lora_A, adapted.lora_B]
    expected = both(oracle, x.tolist(), *(None if each is None else each.tolist() for each in lists), 3.0)
    before = base.weight.tolist()
    merged = adapted.merge()
    close([adapted(mytorch.tensor(x)), merged(mytorch.tensor(x))], [expected, expected])
    assert type(merged) is mytorch.nn.Linear
    assert base.weight.tolist() == before
    assert all(each.requires_grad for each in merged.parameters())


@part(lora + "__init__")
def test_lora_begins_as_a_linear_layer_does(mytorch: ModuleType) -> None:
    """A is drawn as a linear layer's weight is: uniform in ±1 / √in."""
    mytorch.manual_seed(0)
    drawn = mytorch.nn.LoRALinear(mytorch.nn.Linear(400, 3), 50, 1).lora_A.abs()
    assert 0.049 < drawn.max().item() <= 0.05
    assert drawn.mean().item() == pytest.approx(0.025, rel=0.02)


def resnet_on(mytorch: ModuleType) -> dict[str, Any]:
    """minitorch/models/resnet.py, run on mytorch."""
    names = {"__name__": "resnet_on_mytorch", "__file__": resnet.__file__}
    exec(inspect.getsource(resnet).replace("minitorch", mytorch.__name__), names)
    return names


@part(utils + "inspection:features")
def test_the_features_of_a_trained_resnet_are_minitorchs(mytorch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, mytorch.__name__, mytorch)
    digits = load_digits().images[:4].astype("float32")
    names = ["bn1", "layer1", "layer2.1.conv2", "layer3", "layer4", "fc"]
    mine = resnet_on(mytorch)["resnet18"](weights="DIGITS_V1").eval()
    with mytorch.utils.features(mine, names) as found:
        mine(resnet_on(mytorch)["digit_images"](digits))
    theirs, expected = resnet.resnet18(weights="DIGITS_V1").eval(), []
    for name in names:
        theirs.get_submodule(name).register_forward_hook(lambda module, args, result: expected.append(result.clone()))
    theirs(resnet.digit_images(digits))
    close(list(found.values()), expected, rtol=1e-3, atol=1e-4)


@part(board + "crc32c", board + "table")
def test_checksums_of_the_standard(mytorch: ModuleType) -> None:
    """RFC 3720, B.4, and the check value of the catalogues of checksums."""
    crc32c = mytorch.utils.tensorboard.crc32c
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


def written(mytorch: ModuleType, folder: Path) -> Path:
    with mytorch.utils.tensorboard.EventWriter(folder / "run") as writer:
        writer.add_scalar("loss/train", mytorch.tensor(0.5), 0, wall_time=1000.5)
        writer.add_scalar("loss/train", 0.25, 300, wall_time=1001.5)
        writer.add_scalar("größe", -3, 2**40)
    (file,) = (folder / "run").iterdir()
    return file


@pytest.mark.turns(8)
@part(board + "record", board + "masked", board + "event", board + "EventWriter.__init__", board + "EventWriter.write")
@part(board + "EventWriter.add_scalar")
@pytest.mark.needs("tensorboard")
def test_tensorboard_reads_the_file(mytorch: ModuleType, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    file = written(mytorch, tmp_path)
    first, *others = EventFileLoader(str(file)).Load()
    assert first.file_version == "brain.Event:2"
    assert [(each.step, each.summary.value[0].tag) for each in others] == [
        (0, "loss/train"),
        (300, "loss/train"),
        (2**40, "größe"),
    ]
    found = EventAccumulator(str(tmp_path / "run")).Reload()
    assert sorted(found.Tags()["scalars"]) == ["größe", "loss/train"]
    points = [(each.step, each.value, each.wall_time) for each in found.Scalars("loss/train")]
    assert points == [(0, 0.5, 1000.5), (300, 0.25, 1001.5)]
    assert found.Scalars("größe")[0].value == -3


@part(board + "record", board + "masked")
@pytest.mark.needs("tensorboard")
@pytest.mark.parametrize("place", [0, 9, 30, -1])
def test_tensorboard_notices_a_byte_that_changed(mytorch: ModuleType, tmp_path: Path, place: int) -> None:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    file = written(mytorch, tmp_path)
    data = bytearray(file.read_bytes())
    whole = len(list(EventFileLoader(str(file)).Load()))
    data[place] ^= 1
    file.write_bytes(data)
    assert len(list(EventFileLoader(str(file)).Load())) < whole == 4


@part(board + "record", board + "masked", board + "event", board + "EventWriter.add_scalar")
@part(board + "EventWriter.__enter__", board + "EventWriter.__exit__", board + "EventWriter.close")
def test_the_file_by_hand(mytorch: ModuleType, tmp_path: Path) -> None:
    """Without TensorBoard: lengths, and the fields of event.proto and summary.proto."""
    with mytorch.utils.tensorboard.EventWriter(tmp_path) as writer:
        writer.add_scalar("a", 1.0, 5, wall_time=2.0)
    assert writer.file.closed
    (file,) = tmp_path.iterdir()
    assert "tfevents" in file.name
    data, records = file.read_bytes(), []
    while data:
        length = int.from_bytes(data[:8], "little")
        records.append(data[12 : 12 + length])
        data = data[16 + length :]
    assert records[0][9:] == b"\x1a\x0dbrain.Event:2"
    time, step, value = b"\x09" + bytes(7) + b"\x40", b"\x10\x05", b"\x0a\x01a\x15\x00\x00\x80\x3f"
    assert records[1] == time + step + b"\x2a" + bytes([len(value) + 2]) + b"\x0a" + bytes([len(value)]) + value


@part(utils + "inspection:features")
@pytest.mark.parametrize("oracle", [minitorch])
def test_a_wrong_name_raises_pytorchs_error(mytorch: ModuleType, oracle: ModuleType) -> None:
    mine = outcome(lambda torch: torch.utils.features(model_of(torch), ["no"]).__enter__(), mytorch)
    assert mine == outcome(lambda torch: model_of(torch).get_submodule("no"), oracle)
