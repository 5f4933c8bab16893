"""minitorch.models: their files run on torch too, with the same numbers; names and sizes are the published ones."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.models import GPT, GPTConfig, LeNet, ResNet18_Weights, gpt, lenet, resnet, resnet18, resnet34, resnet50
from tests.models import train_resnet18


@functools.cache
def on_torch(name: str) -> ModuleType:
    """A file of `minitorch.models`, run with torch in minitorch's place."""
    source = Path(minitorch.__file__).parent / "models" / f"{name}.py"
    text = source.read_text().replace("import minitorch as torch", "import torch")
    text = text.replace("minitorch.nn.functional", "torch.nn.functional").replace(
        "from minitorch import", "from torch import"
    )
    module = ModuleType(f"models_on_torch_{name}")
    module.__file__ = str(source)  # beside which the weights are
    sys.modules[module.__name__] = module  # where dataclasses look for it
    exec(compile(text, str(source), "exec"), module.__dict__)
    return module


def trained(lib: Any, model: Any, batches: list[Any], loss_of: Any) -> list[float]:
    """The losses of a few steps of SGD."""
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(model, *batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def state(model: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(each.shape) for name, each in model.state_dict().items()}


@pytest.mark.turns(4)
@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    ("file", "make", "shape"),
    [
        ("lenet", lambda module: module.LeNet(), (4, 1, 32, 32)),
        ("lenet", lambda module: module.LeNet(3, 7), (4, 3, 32, 32)),
        ("resnet", lambda module: module.resnet18(num_classes=5), (6, 3, 32, 32)),
        ("resnet", lambda module: module.ResNet(module.Bottleneck, [1, 2, 1, 1], 5, True), (4, 3, 32, 32)),
        ("resnet", lambda module: module.ResNet(module.BasicBlock, [1, 1, 1, 1], 5, True), (4, 3, 32, 32)),
    ],
)
def test_image_models_train_with_torchs_numbers(file: str, make: Any, shape: tuple[int, ...]) -> None:
    import torch

    results = []
    for lib, module in ((minitorch, {"lenet": lenet, "resnet": resnet}[file]), (torch, on_torch(file))):
        lib.manual_seed(0)
        model = make(module).double()  # normalizing few numbers magnifies rounding
        batches = [(lib.rand(shape, dtype=lib.float64), lib.randint(5, (shape[0],))) for _ in range(2)]
        losses = trained(lib, model, batches, lambda model, x, y, lib=lib: lib.nn.functional.cross_entropy(model(x), y))
        sums = [each.double().sum().item() for each in model.state_dict().values()]
        results.append((repr(model), state(model), losses, sums))
    (text, names, losses, sums), (expected_text, expected_names, expected_losses, expected_sums) = results
    assert text == expected_text
    assert list(names.items()) == list(expected_names.items())
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-5, atol=1e-7)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("options", [{}, {"bias": False, "n_head": 4}], ids=str)
def test_gpt_trains_and_generates_with_torchs_numbers(options: dict[str, Any]) -> None:
    import torch

    sizes = {"block_size": 8, "vocab_size": 20, "n_layer": 2, "n_head": 2, "n_embd": 16, **options}
    results = []
    for lib, module in ((minitorch, gpt), (torch, on_torch("gpt"))):
        lib.manual_seed(0)
        model = module.GPT(module.GPTConfig(**sizes))
        batches = [(lib.randint(20, (3, 8)), lib.randint(20, (3, 8))) for _ in range(3)]
        losses = trained(lib, model, batches, lambda model, x, y: model(x, y)[1])
        model.eval()
        tokens = model.generate(batches[0][0], 4, temperature=0.8, top_k=5).tolist()
        results.append((repr(model), state(model), losses, tokens, model(batches[0][0])[0].tolist()))
    (text, names, losses, tokens, scores), expected = results
    assert text == expected[0]
    assert list(names.items()) == list(expected[1].items())
    np.testing.assert_allclose(losses, expected[2], rtol=1e-4)
    assert tokens == expected[3]
    np.testing.assert_allclose(scores, expected[4], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "count", "tensors"),
    [(resnet18, 11_689_512, 122), (resnet34, 21_797_672, 218), (resnet50, 25_557_032, 320)],
)
def test_resnets_have_the_published_sizes(make: Any, count: int, tensors: int) -> None:
    model = make()
    assert sum(each.numel() for each in model.parameters()) == count
    assert len(model.state_dict()) == tensors


def test_the_names_of_resnets_are_those_of_their_checkpoints() -> None:
    names = list(resnet18(num_classes=10).state_dict())
    assert names[:3] == ["conv1.weight", "bn1.weight", "bn1.bias"]
    block = ["conv1.weight", "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var", "bn1.num_batches_tracked"]
    block += [each.replace("1", "2", 1) for each in block]
    down = ["downsample.0.weight", *(f"downsample.1.{each.partition('.')[2]}" for each in block[1:6])]
    assert [each for each in names if each.startswith("layer1.0.")] == [f"layer1.0.{each}" for each in block]
    assert [each for each in names if each.startswith("layer2.0.")] == [f"layer2.0.{each}" for each in block + down]
    assert names[-2:] == ["fc.weight", "fc.bias"]
    state_of_50 = resnet50().state_dict()
    assert tuple(state_of_50["layer2.0.conv2.weight"].shape) == (128, 128, 3, 3)
    assert tuple(state_of_50["layer1.0.downsample.0.weight"].shape) == (256, 64, 1, 1)
    assert tuple(state_of_50["layer4.2.conv3.weight"].shape) == (2048, 512, 1, 1)


def test_gpt_2_has_its_published_size() -> None:
    """Counted without memory for the numbers: a small model of every width has the same formula."""
    model = GPT(GPTConfig(vocab_size=100, n_layer=2))
    per_layer = 12 * 768**2 + 13 * 768
    assert model.get_num_params(non_embedding=False) == 100 * 768 + 1024 * 768 + 2 * per_layer + 2 * 768
    assert model.get_num_params() == 100 * 768 + 2 * per_layer + 2 * 768
    assert 50257 * 768 + 1024 * 768 + 12 * per_layer + 2 * 768 == 124_439_808
    assert model.transformer.wte.weight is model.lm_head.weight
    names = [name for name, _ in model.named_parameters()]
    inside = ["ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight"]
    inside += ["attn.c_proj.bias", "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight"]
    inside += ["mlp.c_proj.bias"]
    expected = ["wte.weight", "wpe.weight", *(f"h.{i}.{name}" for i in range(2) for name in inside)]
    assert names == [f"transformer.{name}" for name in [*expected, "ln_f.weight", "ln_f.bias"]]


def test_what_gpt_refuses() -> None:
    with pytest.raises(ValueError, match="length 5, block size is only 4"):
        GPT(GPTConfig(block_size=4, vocab_size=3, n_layer=1, n_head=1, n_embd=2))(
            minitorch.zeros(1, 5, dtype=minitorch.long)
        )
    with pytest.raises(ValueError, match="n_embd 3 is not a multiple of n_head 2"):
        GPT(GPTConfig(n_embd=3, n_head=2))


def test_lenet_has_61706_parameters() -> None:
    assert sum(each.numel() for each in LeNet().parameters()) == 61_706


def test_first_weights_of_resnets() -> None:
    """He et al. (2015): normal, with variance 2 / (outputs · kernel size)."""
    minitorch.manual_seed(0)
    state = resnet18(zero_init_residual=True).state_dict()
    for name, outgoing in (("conv1", 64 * 49), ("layer2.0.conv1", 128 * 9), ("layer2.0.downsample.0", 128)):
        assert state[f"{name}.weight"].std().item() == pytest.approx((2 / outgoing) ** 0.5, rel=0.03)
    assert not state["layer3.1.bn2.weight"].any()
    assert state["layer3.1.bn1.weight"].eq(1).all()
    assert resnet18().layer3[1].bn2.weight.eq(1).all()


def test_first_weights_of_gpt() -> None:
    """Radford et al. (2019): 0.02, and for the weights that end a residual branch 0.02 / √(number of branches)."""
    minitorch.manual_seed(0)
    state = GPT(GPTConfig(block_size=64, vocab_size=200, n_layer=8, n_head=2, n_embd=64)).state_dict()
    for name in ("wte", "wpe", "h.3.attn.c_attn", "h.3.mlp.c_fc"):
        assert state[f"transformer.{name}.weight"].std().item() == pytest.approx(0.02, rel=0.05)
    for name in ("h.3.attn.c_proj", "h.3.mlp.c_proj"):
        assert state[f"transformer.{name}.weight"].std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert not state["transformer.h.3.attn.c_attn.bias"].any()


def test_what_temperature_and_top_k_do() -> None:
    """A very cold GPT, and one that chooses from one token, take the likeliest; a hot one takes all."""
    minitorch.manual_seed(0)
    model = GPT(GPTConfig(block_size=4, vocab_size=6, n_layer=1, n_head=1, n_embd=8)).eval()
    with minitorch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(10)  # so that its choices are clear
    start = minitorch.tensor([[3], [1]])
    likeliest = start
    for _ in range(6):
        likeliest = minitorch.cat([likeliest, model(likeliest[:, -4:])[0].argmax(-1)], dim=1)
    assert model.generate(start, 6, temperature=1e-4).tolist() == likeliest.tolist()
    assert model.generate(start, 6, top_k=1).tolist() == likeliest.tolist()
    assert model.generate(start.expand(2, 1).repeat(50, 1), 1, temperature=1e6)[:, 1].unique().numel() == 6
    assert model.generate(start[:1].repeat(50, 1), 1, temperature=1e6, top_k=2)[:, 1].unique().numel() == 2


def test_gpt_sees_nothing_of_the_future() -> None:
    minitorch.manual_seed(0)
    model = GPT(GPTConfig(block_size=4, vocab_size=6, n_layer=2, n_head=2, n_embd=8)).eval()
    one, other = minitorch.tensor([[1, 2, 3, 4]]), minitorch.tensor([[1, 2, 3, 5]])
    scores = [model(tokens, tokens)[0] for tokens in (one, other)]
    assert scores[0][:, :3].tolist() == scores[1][:, :3].tolist()
    assert scores[0][:, 3].tolist() != scores[1][:, 3].tolist()


def test_the_trained_resnet_reads_digits() -> None:
    """As `meta` says: on the digits it wasn't trained on, each at a random place."""
    weights = ResNet18_Weights.DEFAULT
    model = resnet18(weights=weights)
    assert sum(each.numel() for each in model.parameters()) == weights.meta["num_params"]
    assert all(each.dtype in (minitorch.float32, minitorch.int64) for each in model.state_dict().values())
    assert model.fc.out_features == len(weights.meta["categories"]) == 5
    assert train_resnet18.accuracy(model, 48) == pytest.approx(weights.meta["acc@1"] / 100, abs=0.006)  # a digit: 0.005
    assert train_resnet18.accuracy(resnet18(num_classes=5, width=8), 48) < 0.5


@pytest.mark.needs("torch")
def test_the_trained_resnet_is_the_same_on_torch() -> None:
    import torch

    digits, _ = train_resnet18.known_digits()
    corners = np.random.default_rng(0).integers(0, 25, (8, 2))
    shown = []
    for lib, module in ((minitorch, resnet), (torch, on_torch("resnet"))):
        model = module.resnet18(weights="DEFAULT").eval()
        images = module.ResNet18_Weights.DEFAULT.transforms()(digits[:8], 48, corners)
        assert images.dtype is lib.float32
        shown.append((images.numpy(), model(images).detach().numpy()))
    np.testing.assert_array_equal(shown[0][0], shown[1][0])
    np.testing.assert_allclose(shown[0][1], shown[1][1], rtol=1e-3, atol=1e-4)


def test_a_digit_is_drawn_at_its_corner() -> None:
    digit = np.arange(64.0).reshape(1, 8, 8) / 4
    image = resnet.digit_images(digit, 30, [(2, 5)])
    assert tuple(image.shape) == (1, 3, 30, 30)
    expected = np.zeros((30, 30))
    expected[2:26, 5:29] = np.kron(digit[0] / 16, np.ones((3, 3)))
    for channel in image[0]:
        np.testing.assert_allclose(channel.numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(
        resnet.digit_images(digit, 30).numpy(), resnet.digit_images(digit, 30, [(3, 3)]).numpy()
    )


@pytest.mark.parametrize(
    "weights",
    ["DEFAULT", "DIGITS_V1", "ResNet18_Weights.DIGITS_V1", ResNet18_Weights.DEFAULT, ResNet18_Weights["DEFAULT"]],
)
def test_weights_can_be_named_in_several_ways(weights: Any) -> None:
    model = resnet18(weights=weights, zero_init_residual=True, progress=False)
    assert (model.conv1.weight.shape[0], model.layer3[1].bn2.weight.any().item()) == (8, True)


def test_what_torchvisions_enum_shows() -> None:
    """torchvision 0.28: `ResNet18_Weights.DEFAULT` is an alias of the only member, and its repr is its name."""
    assert repr(ResNet18_Weights.DEFAULT) == str(ResNet18_Weights.DEFAULT) == "ResNet18_Weights.DIGITS_V1"
    assert list(ResNet18_Weights) == [ResNet18_Weights.DIGITS_V1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"weight": "DEFAULT"}, TypeError, "ResNet.__init__() got an unexpected keyword argument 'weight'"),
        ({"weights": "IMAGENET1K_V2"}, KeyError, "'IMAGENET1K_V2'"),
        (
            {"weights": 3.5},
            TypeError,
            "Invalid Weight class provided; expected ResNet18_Weights but received float.",
        ),
        (
            {"weights": "DEFAULT", "num_classes": 7},
            ValueError,
            "The parameter 'num_classes' expected value 5 but got 7 instead.",
        ),
        ({"weights": "DEFAULT", "width": 64}, ValueError, "The parameter 'width' expected value 8 but got 64 instead."),
    ],
)
def test_what_resnet18_refuses(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """In torchvision 0.28's words; its `weights=3.5` is taken for the old `pretrained=` and only warned of."""
    with pytest.raises(error) as caught:
        resnet18(**options)
    assert str(caught.value) == message


def test_the_weights_are_small_and_in_the_wheel() -> None:
    assert train_resnet18.FILE.parent == Path(minitorch.__file__).parent / "models"
    assert train_resnet18.FILE.stat().st_size < 400_000
