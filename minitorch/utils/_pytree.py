"""Nested containers as their leaves and their shape, which programs import from PyTorch although it is private.

A container is an object of a registered type: lists, tuples, named tuples and dicts are, and packages add their own
with `register_pytree_node`. Everything else is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "SUPPORTED_NODES",
    "Context",
    "DumpableContext",
    "FlattenFunc",
    "FromDumpableContextFn",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFunc",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]  # fmt: skip

PyTree: TypeAlias = Any
Context: TypeAlias = Any
DumpableContext: TypeAlias = Any
KeyEntry: TypeAlias = Any
KeyPath = tuple[Any, ...]
FlattenFunc = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], PyTree]
FlattenWithKeysFunc = Callable[[PyTree], tuple[list[tuple[Any, Any]], Context]]
ToDumpableContextFn: TypeAlias = Callable[[Any], Any]
FromDumpableContextFn: TypeAlias = Callable[[Any], Any]


class SequenceKey(NamedTuple):
    """The place of a child in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class MappingKey(NamedTuple):
    """The place of a child in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class GetAttrKey(NamedTuple):
    """The place of a child in a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


class NodeDef(NamedTuple):
    """How containers of a type are taken apart and put together."""

    type: type
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: FlattenWithKeysFunc | None = None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
"""The registered types."""


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: FlattenWithKeysFunc | None = None,
) -> None:
    """Makes objects of a class containers.

    `flatten_fn(object)` returns the children and a context, of which `unflatten_fn(children, context)` builds the
    object again. The other arguments are for saved shapes, which minitorch doesn't have.

    Raises:
        ValueError: the class is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def _list_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), None


def _sequence_unflatten(kind: Any, values: Iterable[Any], context: Context) -> PyTree:
    return kind(values)


def _mapping_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _sequence_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(place), each) for place, each in enumerate(d)], None


def _mapping_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), each) for key, each in d.items()], list(d)


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=False))


_dict_flatten, _dict_flatten_with_keys = _mapping_flatten, _mapping_with_keys


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=False))


for _kind in (list, tuple):
    register_pytree_node(
        _kind, _list_flatten, partial(_sequence_unflatten, _kind), flatten_with_keys_fn=_sequence_with_keys
    )
register_pytree_node(
    deque,
    lambda d: (list(d), d.maxlen),
    lambda values, maxlen: deque(values, maxlen),
    flatten_with_keys_fn=lambda d: (_sequence_with_keys(d)[0], d.maxlen),
)
register_pytree_node(dict, _mapping_flatten, _dict_unflatten, flatten_with_keys_fn=_mapping_with_keys)
register_pytree_node(
    OrderedDict,
    _mapping_flatten,
    lambda values, keys: OrderedDict(zip(keys, values, strict=False)),
    flatten_with_keys_fn=_mapping_with_keys,
)
register_pytree_node(
    defaultdict,
    _defaultdict_flatten,
    _defaultdict_unflatten,
    flatten_with_keys_fn=lambda d: (_mapping_with_keys(d)[0], [d.default_factory, list(d)]),
)
register_pytree_node(
    namedtuple,  # type: ignore[arg-type]  # PyTorch's key, too, for all named tuples
    lambda d: (list(d), type(d)),
    lambda values, kind: kind(*values),
    flatten_with_keys_fn=lambda d: ([(GetAttrKey(name), getattr(d, name)) for name in d._fields], type(d)),
)


@dataclass(frozen=True)
class TreeSpec:
    """The shape of a tree: the type of its container, what builds it besides its children, and the shapes of these."""

    type: Any
    context: Any = None
    children_specs: tuple[TreeSpec, ...] | list[TreeSpec] = ()

    @property
    def num_leaves(self) -> int:
        """The number of leaves of a tree of this shape."""
        return 1 if self.is_leaf() else sum(each.num_leaves for each in self.children_specs)

    @property
    def num_children(self) -> int:
        """The number of children of its container."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this shape with these leaves."""
        return tree_unflatten(leaves, self)

    def __repr__(self, indent: int = 0) -> str:
        indent += 2
        children = (",\n" + " " * indent).join(each.__repr__(indent) for each in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The shape of a leaf."""

    def __init__(self) -> None:
        super().__init__(None)

    def __repr__(self, indent: int = 0) -> str:
        return "*"


_LEAF = LeafSpec()


def _get_node_type(tree: Any) -> Any:
    """The key in SUPPORTED_NODES for an object, which for a leaf is not there."""
    kind = type(tree)
    return namedtuple if isinstance(tree, tuple) and hasattr(kind, "_fields") and kind not in SUPPORTED_NODES else kind


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the shape."""
    node = None if is_leaf is not None and is_leaf(tree) else SUPPORTED_NODES.get(_get_node_type(tree))
    if node is None:
        return [tree], _LEAF
    children, context = node.flatten_fn(tree)
    parts = [tree_flatten(each, is_leaf) for each in children]
    spec = TreeSpec(_get_node_type(tree), context, tuple(spec for _, spec in parts))
    return [leaf for leaves, _ in parts for leaf in leaves], spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of this shape with these leaves. Raises ValueError for another number of leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves: Iterator[Any], spec: TreeSpec) -> PyTree:
    if spec.is_leaf():
        return next(leaves)
    return SUPPORTED_NODES[spec.type].unflatten_fn(
        [_unflatten(leaves, each) for each in spec.children_specs], spec.context
    )


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves from left to right, one by one."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The shape."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree with `func` of its leaves, and of those of further trees of the same shape."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(each, is_leaf) for each in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Calls `func` with each leaf, and returns the tree as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The tree with `func` of those leaves that are of a type, or of which `kind` says True."""
    chosen = kind if not isinstance(kind, type) and callable(kind) else lambda leaf: isinstance(leaf, kind)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether `pred` holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each with the keys that lead to it, and the shape. Raises ValueError for containers without keys."""
    return list(_with_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def _with_paths(path: KeyPath, tree: PyTree, is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else SUPPORTED_NODES.get(_get_node_type(tree))
    if node is None:
        yield path, tree
    elif node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument "
            "to register_pytree_node."
        )
    else:
        for key, child in node.flatten_with_keys_fn(tree)[0]:
            yield from _with_paths((*path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """The tree with `func` of the path of each leaf, the leaf, and those of further trees of the same shape."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(each, is_leaf) for each in rests]
    return tree_unflatten(
        [func(path, *each) for (path, leaf), *rest in zip(leaves, *others, strict=True) for each in [(leaf, *rest)]],
        spec,
    )


def keystr(kp: KeyPath) -> str:
    """A path as text: "['weights'][0]"."""
    return "".join(map(str, kp))
