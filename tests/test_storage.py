"""Storage: one flat memory under all views, against torch."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from tests.same import exactly_the_same

torch = pytest.importorskip("torch", reason="the expected values are torch's")

VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda t: t,
    "row": lambda t: t[1],
    "column": lambda t: t[:, 1],
    "steps": lambda t: t[::2, 1::2],
    "transposed": lambda t: t.t(),
    "expanded": lambda t: t[:, :1].expand(3, 4),
    "reshaped": lambda t: t.view(2, 6),
    "diagonal": lambda t: t.diagonal(),
    "as_strided": lambda t: t.as_strided((2, 2), (5, 1), 2),
    "view of a view": lambda t: t.t()[1:, 1:][0],
    "detached": lambda t: t[1:].detach(),
    "data": lambda t: t[1:].data,
    "unfolded": lambda t: t.unfold(1, 2, 1),
}


def make(module: Any) -> Any:
    return module.arange(12, dtype=module.float32).view(3, 4)


@pytest.mark.parametrize("name", VIEWS)
@exactly_the_same
def test_a_view_shares_the_storage_and_has_torchs_geometry(module: Any, name: str) -> Any:
    base = make(module)
    view = VIEWS[name](base)
    pointers = view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    offset = view.data_ptr() - base.data_ptr()
    geometry = tuple(view.shape), view.stride(), view.storage_offset(), view.is_contiguous()
    return pointers, offset, geometry, view.tolist(), view._base is base, view._is_view()


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "expanded" and name != "unfolded"])
@exactly_the_same
def test_a_write_through_a_view_is_seen_and_counted(module: Any, name: str) -> Any:
    base = make(module)
    view = VIEWS[name](base)
    view.mul_(-1)
    base[0, 0] = 99.0
    return base.tolist(), view.tolist(), base._version, view._version


@exactly_the_same
def test_the_storage_itself(module: Any) -> Any:
    storage = module.tensor([1, 2, 3], dtype=module.uint8).untyped_storage()
    storage[1] = 200
    texts = repr(storage), len(storage), storage.nbytes(), list(storage), storage[1], str(storage.device)
    return texts, module.ones(0).untyped_storage().nbytes(), module.ones(2, 3)[1:].untyped_storage().nbytes()


@exactly_the_same
def test_numpy_shares_memory_both_ways(module: Any) -> Any:
    array = np.arange(6.0).reshape(2, 3)
    tensor = module.from_numpy(array[:, 1:])
    array[0, 1] = 50
    tensor.numpy()[1, 1] = 70
    return tensor, array.tolist(), tensor.stride(), tensor.storage_offset()


@exactly_the_same
def test_numpy_refuses_a_tensor_that_requires_grad_only_where_gradients_are_recorded(module: Any) -> Any:
    x = module.ones(2, requires_grad=True)
    results = []
    for modes in ([], [module.no_grad], [module.inference_mode], [module.inference_mode, module.enable_grad]):
        with ExitStack() as stack:
            for mode in modes:
                stack.enter_context(mode())
            try:
                x.numpy()[0] += 1
                results.append("shared")
            except RuntimeError as error:
                results.append(str(error))
    return results, x.tolist()


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda t: pickle.loads(pickle.dumps(t))])
@exactly_the_same
def test_copies(module: Any, again: Callable[[Any], Any]) -> Any:
    original = make(module).requires_grad_()
    (original * 2).sum().backward()
    copied = again(original)
    return copied.tolist(), copied.requires_grad, copied.data_ptr() == original.data_ptr()


@exactly_the_same
def test_set_and_data_change_what_a_tensor_looks_at(module: Any) -> Any:
    tensor, other = module.zeros(2), make(module)
    tensor.data = other[1]
    tensor.data[0] = -1
    return tensor.tolist(), other.tolist(), tensor.data_ptr() == other[1].data_ptr()
