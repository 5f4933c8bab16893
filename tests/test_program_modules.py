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
from tests.same import errors, same

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
@same
def test_trees(torch: Any, tree: Any) -> Any:
    trees = importlib.import_module(f"{torch.__name__}.utils._pytree")
    leaves, spec = trees.tree_flatten(tree)
    again = trees.tree_unflatten(leaves, spec)
    assert (again, type(again)) == (tree, type(tree))
    mapped = trees.tree_map(str, tree), trees.tree_map_only(int, lambda leaf: -leaf, tree)
    return leaves, trees.tree_leaves(tree), spec.num_leaves, trees.tree_any(lambda leaf: leaf == 5, tree), mapped


def test_weights_from_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made.pth"
    torch.save({"weight": torch.arange(3)}, made)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    path = made.rename(tmp_path / f"net-{digest[:8]}.pth")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert minitorch.hub.get_dir() == torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    state = minitorch.hub.load_state_dict_from_url(path.as_uri(), check_hash=True)
    assert state["weight"].tolist() == [0, 1, 2]
    path.unlink()  # it is kept
    assert minitorch.hub.load_state_dict_from_url(path.as_uri(), check_hash=True).keys() == {"weight"}


@same
def test_a_file_with_another_digest_is_refused(torch: Any, tmp_path: Path) -> Any:
    path, folder = tmp_path / "net-00000000.pth", tmp_path / torch.__name__
    path.write_bytes(b"anything")
    load = torch.hub.load_state_dict_from_url
    refused = errors(lambda: load(path.as_uri(), folder, check_hash=True, progress=False))
    return refused, list(folder.iterdir())


@same
def test_marks_for_the_compiler_of_scripts_change_nothing(torch: Any) -> Any:
    jit = torch.jit

    @jit.ignore
    def plain(x: int) -> int:
        return x + 1

    @jit.ignore(drop=True)
    def called(x: int) -> int:
        return x + 1

    marked = [plain, called, jit.unused(lambda x: x + 1), jit.export(lambda x: x + 1)]
    return [each(1) for each in marked], jit.is_scripting(), jit.is_tracing(), jit.annotate(int, 3)


def test_scripts_stay_what_they_are() -> None:
    with pytest.warns(UserWarning, match="compiles nothing"):
        assert minitorch.jit.script(len) is len
    assert (
        importlib.import_module("minitorch.jit.annotations").List
        is importlib.import_module("torch.jit.annotations").List
    )
    with pytest.raises(NotImplementedError, match=r"torch\.jit\.trace"):
        minitorch.jit.trace(len, 1)


def test_attention_kernels_are_named_as_in_torch() -> None:
    theirs = torch.nn.attention.SDPBackend
    for each in minitorch.nn.attention.SDPBackend:
        assert int(getattr(theirs, each.name)) == each.value
    with pytest.raises(TypeError), minitorch.nn.attention.sdpa_kernel("math"):
        pass


@same
def test_a_kernel_of_attention_is_chosen(torch: Any) -> Any:
    attention = torch.nn.attention
    with attention.sdpa_kernel([attention.SDPBackend.MATH]):
        x = torch.arange(6.0).reshape(1, 3, 2)
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)
