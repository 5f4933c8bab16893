"""The names that packages built on PyTorch import: those that work, and those that raise when they are used."""

from __future__ import annotations

import importlib
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import minitorch
from tests.same import errors, same

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

REFUSED = {
    "distributed.tensor": "DTensor distribute_tensor",
    "distributed.tensor.parallel": "ColwiseParallel parallelize_module",
    "distributed.device_mesh": "DeviceMesh init_device_mesh",
    "distributed.fsdp": "FullyShardedDataParallel fully_shard MixedPrecision",
    "distributed.nn": "all_reduce all_gather",
    "nn.attention.flex_attention": "flex_attention create_block_mask BlockMask",
    "utils.flop_counter": "FlopCounterMode",
    "nested": "nested_tensor as_nested_tensor to_padded_tensor nested_tensor_from_jagged narrow masked_select",
    "ao.quantization": "QuantStub FakeQuantizeBase QConfig prepare_qat convert quantize_dynamic get_default_qconfig",
    "quasirandom": "SobolEngine",
    "autograd.profiler": "emit_nvtx",
    "jit": "ScriptModule",
    "_C": "PyTorchFileReader ScriptFunction",
}
PRESENT = {
    "": "SymInt torch uint16 float8_e4m3fn ScriptModule DisableTorchFunctionSubclass",
    "serialization": "MAP_LOCATION",
    "utils.checkpoint": "get_device_states set_device_states",
    "utils.data._utils.collate": "np_str_obj_array_pattern",
    "jit": "interface",
    "types": "Device Number FileLike",
    "_dynamo": "mark_static_address",
    "_dynamo.eval_frame": "OptimizedModule",
    "_subclasses.fake_tensor": "is_fake FakeTensor",
    "fx.experimental.proxy_tensor": "get_proxy_mode",
    "_C": "_log_api_usage_once _TensorMeta _get_tracing_state TensorBase",
    "profiler": "kineto_available",
}


def names(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(module, name) for module, each in table.items() for name in each.split()]


@pytest.mark.parametrize(("module", "name"), names(REFUSED))
def test_a_name_whose_use_is_not_supported_says_so_when_it_is_used(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(f"torch.{module}"), name)
    with pytest.raises(NotImplementedError, match=name):
        getattr(importlib.import_module(f"minitorch.{module}"), name)()


@pytest.mark.parametrize(("module", "name"), names(PRESENT))
def test_a_name_is_where_packages_look_for_it(module: str, name: str) -> None:
    for library in ("torch", "minitorch"):
        assert hasattr(importlib.import_module(f"{library}.{module}".rstrip(".")), name)


@same
def test_placements_describe(torch: Any) -> Any:
    tensor = importlib.import_module(f"{torch.__name__}.distributed.tensor")
    shard = tensor.Shard(1)
    return shard.dim, shard == tensor.Shard(1), tensor.Replicate() == tensor.Replicate(), tensor.Partial().reduce_op


@same
def test_the_arguments_of_to_are_parsed(torch: Any) -> Any:
    parse = torch._C._nn._parse_to
    return [repr(each) for each in (parse("cpu", torch.float64), parse(torch.ones(1)), parse(device="cpu")[:2])]


@same
def test_numbers_that_seed_numpy_in_a_worker(torch: Any) -> Any:
    worker = importlib.import_module(f"{torch.__name__}.utils.data._utils.worker")
    return [int(each) for each in worker._generate_state(12345678901234, 3)]


@same
def test_an_assertion_about_a_tensor(torch: Any) -> Any:
    ask = torch._assert_async
    return errors(
        lambda: ask(torch.tensor(1)), lambda: ask(torch.tensor(0.0)), lambda: ask(torch.tensor(False), "none"),
        lambda: ask(torch.ones(2)),
    )  # fmt: skip


@same
def test_a_complex_type_to_compare_with(torch: Any) -> Any:
    return repr(torch.complex32), torch.chalf is torch.complex32, torch.complex32 == torch.complex64


def test_there_are_no_tensors_of_complex32() -> None:
    with pytest.raises(NotImplementedError, match="complex32"):
        minitorch.zeros(2, dtype=minitorch.complex32)


DTYPES = "uint16 uint32 uint64 float8_e4m3fn float8_e4m3fnuz float8_e5m2"


@pytest.mark.parametrize("name", DTYPES.split())
@same
def test_stored_types(torch: Any, name: str) -> Any:
    kind = getattr(torch, name)
    x = torch.tensor([1, 2, 3], dtype=kind)
    limits = (torch.iinfo if name[0] == "u" else torch.finfo)(kind)
    mixed = errors(lambda: x + torch.ones(3))
    described = repr(kind), kind.itemsize, kind.is_floating_point, kind.is_signed, repr(limits)
    return repr(x), x.tolist(), x[1:].clone().to(torch.float32), mixed, described, errors(lambda: x.numpy().sum())


@pytest.mark.parametrize("name", [name for name in DTYPES.split() if "float" in name])
@same
def test_what_a_cast_beyond_the_range_gives(torch: Any, name: str) -> Any:
    kind = getattr(torch, name)
    x = torch.tensor([1e9, -500.0, 465.0, 5.0, float("inf"), float("nan")])
    cast = [x.to(kind), x.double().to(kind), x.to(torch.bfloat16).to(kind), torch.tensor([500, -1000, 3]).to(kind)]
    written = torch.zeros(6, dtype=kind), torch.zeros(6, dtype=kind)
    written[0].copy_(x)
    written[1][2:] = x[:4]
    return [each.float() for each in (*cast, *written, torch.tensor([500.0, -1e3, 3.0], dtype=kind))]


Point = namedtuple("Point", "x y")


class Pair:
    def __init__(self, one: Any, other: Any) -> None:
        self.one, self.other = one, other


@same
def test_trees_of_registered_classes(torch: Any) -> Any:
    trees = importlib.import_module(f"{torch.__name__}.utils._pytree")
    if Pair not in trees.SUPPORTED_NODES:
        trees.register_pytree_node(Pair, lambda pair: ([pair.one, pair.other], None), lambda each, _: Pair(*each))
    again = errors(lambda: trees.register_pytree_node(Pair, lambda pair: ([], None), lambda each, _: None))
    leaves, spec = trees.tree_flatten([Pair(1, {"a": 2}), 3])
    doubled = trees.tree_map(lambda leaf: leaf * 2, Pair(1, [2]))
    node = trees.SUPPORTED_NODES[dict]
    parts = node.flatten_fn({"b": 1, "a": 2}), node.unflatten_fn([3, 4], ["b", "a"])
    mismatch = errors(lambda: trees.tree_unflatten([1], spec))[0][0]
    return leaves, spec.num_leaves, spec.num_children, (doubled.one, doubled.other), again, parts, mismatch


@same
def test_paths_in_trees(torch: Any) -> Any:
    trees = importlib.import_module(f"{torch.__name__}.utils._pytree")
    tree = {"a": [1, Point(2, 3)], "b": OrderedDict(c=(4,))}
    pairs, _ = trees.tree_flatten_with_path(tree)
    mapped = trees.tree_map_with_path(lambda path, leaf: f"{trees.keystr(path)}={leaf}", tree)
    return [(trees.keystr(path), leaf) for path, leaf in pairs], mapped, isinstance(trees.LeafSpec(), trees.TreeSpec)


def test_the_library_has_itself_as_torch() -> None:
    assert minitorch.torch is minitorch
