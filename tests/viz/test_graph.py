"""Pictures of graphs: every box and arrow that there must be, in valid Mermaid."""

from __future__ import annotations

import re
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, viz
from minitorch.autograd import node


class Picture:
    """What a diagram shows. Reading it fails where it is not a flowchart that Mermaid could draw."""

    def __init__(self, diagram: viz.Mermaid) -> None:
        first, *lines = diagram.source.splitlines()
        assert first == "flowchart TD"
        self.boxes: dict[str, str] = {}
        self.styles: dict[str, str] = {}
        self.frames: dict[str, list[str]] = {}
        arrows: list[tuple[str, str, str]] = []
        known: set[str] = set()
        open_frames: list[str] = []
        for line in map(str.strip, lines):
            if match := re.fullmatch(r'(n\d+)(?:\(\["|\["|\[\[")([^"]*)(?:"\]\)|"\]|"\]\]):::(\w+)', line):
                name, text, style = match.groups()
                assert name not in self.boxes
                self.boxes[name], self.styles[name], self.frames[name] = text, style, list(open_frames)
            elif match := re.fullmatch(r'subgraph g\d+\["([^"]+)"\]', line):
                open_frames.append(match[1])
            elif line == "end":
                open_frames.pop()
            elif match := re.fullmatch(r"(n\d+) (?:-- ([^ ]+) -->|-->|-\.-) (n\d+)", line):
                arrows.append((match[1], match[2] or "", match[3]))
            else:
                assert line.startswith("classDef "), line
                known.add(line.split()[1])
        assert open_frames == []
        assert set(self.styles.values()) <= known
        self.arrows = {(self.boxes[start], label, self.boxes[end]) for start, label, end in arrows}

    def texts(self, style: str) -> list[str]:
        return sorted(text for name, text in self.boxes.items() if self.styles[name] == style)

    def frames_of(self, text: str) -> list[list[str]]:
        return [self.frames[name] for name in self.boxes if self.boxes[name] == text]


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.relu(self.conv(x) + x)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 2, 3)
        self.layer = nn.Sequential(Block(), Block())
        self.head = nn.Linear(2, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(self.stem(x)).mean((2, 3)))


def test_leaves_ops_and_result_with_shapes() -> None:
    w = torch.ones(2, 3, requires_grad=True)
    loss = (w * torch.ones(3)).exp().sum()
    picture = Picture(viz.graph(loss, names={"w": w, "loss": loss}))
    assert picture.texts("leaf") == ["w<br/>(2, 3) float32"]
    assert picture.texts("result") == ["loss<br/>() float32"]
    assert picture.texts("op") == ["ExpBackward0", "MulBackward0", "SumBackward0<br/>→ loss"]
    assert picture.arrows == {
        ("w<br/>(2, 3) float32", "2×3", "MulBackward0"),
        ("MulBackward0", "2×3", "ExpBackward0"),
        ("ExpBackward0", "2×3", "SumBackward0<br/>→ loss"),
        ("SumBackward0<br/>→ loss", "", "loss<br/>() float32"),
    }


def test_every_node_once_and_every_edge() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    out = (y * y + y.sin()).sum()
    picture = Picture(viz.graph(out))
    assert picture.texts("op") == ["AddBackward0", "ExpBackward0", "MulBackward0", "SinBackward0", "SumBackward0"]
    assert ("ExpBackward0", "2", "SinBackward0") in picture.arrows
    assert len(picture.arrows) == 1 + 1 + 2 + 2 + 1  # into the result, sum, +, × and sin, and exp


def test_saved_tensors_hang_on_their_nodes() -> None:
    x = torch.ones(2, requires_grad=True)
    picture = Picture(viz.graph(x.exp() * x, names={"x": x}, saved=True))
    assert picture.texts("saved") == ["saved<br/>(2,) float32"] * 2 + ["x<br/>(2,) float32"]
    assert ("x<br/>(2,) float32", "", "MulBackward0") in picture.arrows


def test_what_a_function_of_the_user_saved() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

    x = torch.ones(2, requires_grad=True)
    picture = Picture(viz.graph(Square.apply(x), names={"x": x}, saved=True))
    assert picture.texts("op") == ["SquareBackward"]
    assert picture.texts("saved") == ["x<br/>(2,) float32"]


def test_several_outputs() -> None:
    x = torch.ones(2, requires_grad=True)
    picture = Picture(viz.graph(x.exp(), x.sin()))
    assert len(picture.texts("result")) == 2
    assert picture.texts("leaf") == ["leaf<br/>(2,) float32"]


def test_names_of_parameters() -> None:
    model = small()
    out = model(torch.ones(1, 4))
    picture = Picture(viz.graph(out, names=model.named_parameters()))
    assert [text.partition("<")[0] for text in picture.texts("leaf")] == ["0.bias", "0.weight", "2.bias", "2.weight"]


def test_a_model_has_a_frame_for_each_module() -> None:
    picture = Picture(viz.graph(small(), torch.ones(1, 4)))
    assert picture.frames_of("ReluBackward0") == [["Sequential", "1: ReLU"]]
    assert picture.frames_of("0.bias<br/>(3,) float32") == [["Sequential", "0: Linear"]]
    assert sorted(picture.frames_of("AddmmBackward0")) == [["Sequential", "0: Linear"], ["Sequential", "2: Linear"]]
    assert picture.frames_of("input<br/>(1, 4) float32") == [[]]


def test_modules_without_children_are_boxes() -> None:
    picture = Picture(viz.graph(small(), torch.ones(1, 4), depth=1))
    assert picture.texts("op") == []
    assert picture.arrows == {
        ("input<br/>(1, 4) float32", "1×4", "0<br/>Linear<br/>15 parameters"),
        ("0<br/>Linear<br/>15 parameters", "1×3", "1<br/>ReLU"),
        ("1<br/>ReLU", "1×3", "2<br/>Linear<br/>8 parameters"),
        ("2<br/>Linear<br/>8 parameters", "", "output<br/>(1, 2) float32"),
    }


@pytest.mark.parametrize(
    "depth, modules, ops",
    [
        (0, ["Residual<br/>147 parameters"], []),
        (1, ["head", "layer", "stem"], ["MeanBackward1"]),
        (2, ["head", "layer.0", "layer.1", "stem"], ["MeanBackward1"]),
        (
            3,
            ["head", "layer.0.conv", "layer.0.relu", "layer.1.conv", "layer.1.relu", "stem"],
            ["AddBackward0", "AddBackward0", "MeanBackward1"],
        ),
    ],
)
def test_depth(depth: int, modules: list[str], ops: list[str]) -> None:
    picture = Picture(viz.graph(Residual(), torch.ones(1, 3, 6, 6), depth=depth))
    shown = picture.texts("module")
    assert shown == modules if depth == 0 else [text.partition("<")[0] for text in shown] == modules
    assert picture.texts("op") == ops
    assert picture.texts("leaf") == ["input<br/>(1, 3, 6, 6) float32"]


def test_the_residual_connection_is_drawn() -> None:
    picture = Picture(viz.graph(Residual(), torch.ones(1, 3, 6, 6), depth=3))
    into_first_sum = {start for start, _, end in picture.arrows if end == "AddBackward0"}
    assert "stem<br/>Conv2d<br/>56 parameters" in into_first_sum
    assert "layer.0.conv<br/>Conv2d<br/>38 parameters" in into_first_sum
    assert picture.frames_of("AddBackward0") == [
        ["Residual", "layer: Sequential", "layer.1: Block"],
        ["Residual", "layer: Sequential", "layer.0: Block"],
    ]


def test_a_module_called_twice_and_a_shared_weight() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x: Any) -> Any:
            return self.second(self.first(self.first(x)))

    picture = Picture(viz.graph(Tied(), torch.ones(1, 2), depth=1))
    assert [text.partition("<")[0] for text in picture.texts("module")] == ["first", "first", "second"]
    assert picture.frames_of("first.weight<br/>(2, 2) float32") == [["Tied"]]


def test_an_accumulator_that_was_there_before() -> None:
    model = small()
    kept = model(torch.ones(1, 4))
    picture = Picture(viz.graph(model, torch.ones(1, 4)))
    assert picture.frames_of("0.weight<br/>(3, 4) float32") == [["Sequential", "0: Linear"]]
    assert kept.grad_fn is not None


def test_inputs_that_are_no_tensors_and_several_outputs() -> None:
    class Two(nn.Module):
        def forward(self, x: Any, scale: float, index: Any) -> Any:
            return x * scale, 5, x[index]

    picture = Picture(viz.graph(Two(), torch.ones(3), 2.0, torch.tensor([0])))
    assert picture.texts("leaf") == ["input 0<br/>(3,) float32"]
    assert len(picture.texts("result")) == 2


def test_nothing_is_left_of_the_run() -> None:
    model = small()
    hooks = [dict(each._forward_hooks) for each in model.modules()]
    viz.graph(model, torch.ones(1, 4))
    with pytest.raises(RuntimeError):
        viz.graph(model, torch.ones(1, 5))
    assert [dict(each._forward_hooks) for each in model.modules()] == hooks
    assert all(not each._forward_pre_hooks for each in model.modules())
    assert all(each.grad is None for each in model.parameters())
    assert isinstance(next(node.numbering), int)


def test_quotes_in_names() -> None:
    x = torch.ones(1, requires_grad=True)
    assert 'a #quot;b#quot;<br/>(1,) float32"' in viz.graph(x * 2, names={'a "b"': x}).source


def test_notebooks_get_mermaid() -> None:
    x = torch.ones(1, requires_grad=True)
    diagram = viz.graph(x * 2)
    assert diagram._repr_mimebundle_() == {"text/vnd.mermaid": diagram.source, "text/plain": diagram.source}
    assert repr(diagram) == diagram.source


def test_errors() -> None:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="no grad_fn"):
        viz.graph(x)
    with pytest.raises(TypeError, match="depth is for"):
        viz.graph(x * 2, depth=1)
