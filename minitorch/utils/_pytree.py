"""Nested lists, tuples and dicts as their leaves and their shape, which programs import from PyTorch although it is
private. A leaf is anything else.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "TreeSpec", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map", "tree_map_only", "tree_unflatten",
]  # fmt: skip

_MAPPINGS = (dict, OrderedDict, defaultdict)


@dataclass(frozen=True)
class TreeSpec:
    """The shape of a tree: what rebuilds a node of its children, and their shapes; None for a leaf."""

    rebuild: Callable[[list[Any]], Any] | None
    children: tuple[TreeSpec, ...] = ()

    @property
    def num_leaves(self) -> int:
        return 1 if self.rebuild is None else sum(each.num_leaves for each in self.children)


def _node(tree: Any) -> tuple[Callable[[list[Any]], Any] | None, list[Any]]:
    """How the tree is made of its children, and these."""
    kind: Any = type(tree)
    if kind in _MAPPINGS:
        keys = list(tree)

        def rebuild(children: list[Any]) -> Any:
            pairs = zip(keys, children, strict=True)
            return defaultdict(tree.default_factory, pairs) if kind is defaultdict else kind(pairs)

        return rebuild, list(tree.values())
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return kind._make, list(tree)
    if kind in (list, tuple):
        return kind, list(tree)
    return None, []


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the shape."""
    rebuild, children = (None, []) if is_leaf is not None and is_leaf(tree) else _node(tree)
    if rebuild is None:
        return [tree], TreeSpec(None)
    parts = [tree_flatten(each, is_leaf) for each in children]
    return [leaf for leaves, _ in parts for leaf in leaves], TreeSpec(rebuild, tuple(spec for _, spec in parts))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this shape with these leaves."""
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> Any:
    if spec.rebuild is None:
        return next(leaves)
    return spec.rebuild([_unflatten(leaves, each) for each in spec.children])


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree with `func` of its leaves, and of those of further trees of the same shape."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(each, is_leaf) for each in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with `func` of those leaves that are of a type."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree)


def tree_all(pred: Callable[[Any], bool], tree: Any) -> bool:
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: Any) -> bool:
    """Whether `pred` holds for a leaf."""
    return any(map(pred, tree_leaves(tree)))
