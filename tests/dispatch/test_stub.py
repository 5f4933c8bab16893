"""The signatures that editors see of tensors' methods are those that ops declare."""

from __future__ import annotations

import ast

from minitorch.dispatch import stub
from minitorch.dispatch.declaration import METHODS


def test_the_stub_is_as_it_would_be_written_now() -> None:
    assert stub.FILE.read_text(encoding="utf-8") == stub.text(), "run python -m minitorch.dispatch.stub"


def test_every_method_that_an_op_declares_has_a_signature() -> None:
    body = ast.parse(stub.text()).body[-1]
    assert isinstance(body, ast.ClassDef)
    found = {each.name: ast.unparse(each) for each in body.body if isinstance(each, ast.FunctionDef)}
    of_instances = {name for name, each in METHODS.items() if not isinstance(each, (classmethod, staticmethod))}
    assert of_instances - found.keys() == {"__reduce_ex__"}  # which `object` has
    assert found["sum"].startswith("def sum(self, dim: Any=..., keepdim: _bool=..., *, dtype: Any=...) -> Tensor:")
    assert found["permute"].startswith("def permute(self, *dims: Any) -> Tensor:")
    assert found["__add__"].startswith("def __add__(self, other: Any) -> Tensor:")
