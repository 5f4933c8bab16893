"""Small modules that programs import beside the tensors: torch.hub, jit's marks, nn.attention, utils._pytree."""

from __future__ import annotations

import hashlib
import importlib
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path
from typing import Any

import pytest

import minitorch
import minitorch.utils._pytree

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

Point = namedtuple("Point", "x y")
TREES = [
    1,
    None,
    [1, (2, 3), {"b": 4, "a": [5]}],
    Point(1, [2]),
    OrderedDict(b=1, a=(2,)),
    defaultdict(list, {"a": [1, 2]}),
    [],
    {"a": ()},
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_trees(tree: Any) -> None:
    ours, theirs = minitorch.utils._pytree, torch.utils._pytree
    leaves, spec = ours.tree_flatten(tree)
    assert leaves == theirs.tree_leaves(tree) == ours.tree_leaves(tree)
    assert spec.num_leaves == len(leaves)
    again = ours.tree_unflatten(leaves, spec)
    assert (again, type(again)) == (tree, type(tree))
    for library in (ours, theirs):
        assert library.tree_any(lambda leaf: leaf == 5, tree) == (5 in leaves)
    assert ours.tree_map(str, tree) == theirs.tree_map(str, tree)
    assert ours.tree_map_only(int, lambda leaf: -leaf, tree) == theirs.tree_map_only(int, lambda leaf: -leaf, tree)


def test_weights_from_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made.pth"
    torch.save({"weight": torch.arange(3)}, made)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    good, bad = tmp_path / f"net-{digest[:8]}.pth", tmp_path / "net-00000000.pth"
    for path in (good, bad):
        path.write_bytes(made.read_bytes())
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert minitorch.hub.get_dir() == torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    state = minitorch.hub.load_state_dict_from_url(good.as_uri(), check_hash=True)
    assert state["weight"].tolist() == [0, 1, 2]
    good.unlink()  # it is kept
    assert minitorch.hub.load_state_dict_from_url(good.as_uri(), check_hash=True).keys() == {"weight"}
    messages = []
    for library in (torch, minitorch):
        with pytest.raises(RuntimeError) as refused:
            library.hub.load_state_dict_from_url(
                bad.as_uri(), tmp_path / library.__name__, check_hash=True, progress=False
            )
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert not list((tmp_path / "minitorch").iterdir())


def test_marks_for_the_compiler_of_scripts_change_nothing() -> None:
    for jit in (torch.jit, minitorch.jit):

        @jit.ignore
        def plain(x: int) -> int:
            return x + 1

        @jit.ignore(drop=True)
        def called(x: int) -> int:
            return x + 1

        marked = [plain, called, jit.unused(lambda x: x + 1), jit.export(lambda x: x + 1)]
        assert [each(1) for each in marked] == [2] * 4
        assert (jit.is_scripting(), jit.is_tracing(), jit.annotate(int, 3)) == (False, False, 3)
    with pytest.warns(UserWarning, match="compiles nothing"):
        assert minitorch.jit.script(plain) is plain
    assert (
        importlib.import_module("minitorch.jit.annotations").List
        is importlib.import_module("torch.jit.annotations").List
    )
    with pytest.raises(NotImplementedError, match=r"torch\.jit\.trace"):
        minitorch.jit.trace(plain, 1)


def test_attention_kernels_are_named_as_in_torch() -> None:
    theirs = torch.nn.attention.SDPBackend
    for each in minitorch.nn.attention.SDPBackend:
        assert int(getattr(theirs, each.name)) == each.value
    outputs = []
    for library in (torch, minitorch):
        attention = library.nn.attention
        with attention.sdpa_kernel([attention.SDPBackend.MATH]):
            x = library.arange(6.0).reshape(1, 3, 2)
            outputs.append(library.nn.functional.scaled_dot_product_attention(x, x, x).flatten().tolist())
    assert outputs[0] == pytest.approx(outputs[1])
    with pytest.raises(TypeError), minitorch.nn.attention.sdpa_kernel("math"):
        pass
