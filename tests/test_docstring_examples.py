"""The examples in the docstrings of the installed torch print the same with it and with minitorch.

Each docstring's `>>>` lines run in one namespace with the same seed. An example that torch refuses (many name a
variable that they don't make) must be refused by minitorch with the same error.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import importlib
import io
import random
import re
import textwrap
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.docstring_exclusions import DIFFERENT, LEFT_OUT

torch = pytest.importorskip("torch", reason="the examples and the expected output are torch's")

PLACES = [
    *("Tensor", "Generator", "Size", "nn.Module", "autograd.Function"),  # before the modules that hold them
    *("torch", "linalg", "special", "fft", "random", "amp", "accelerator", "utils.data", "utils.checkpoint"),
    *("nn", "nn.functional", "nn.init", "nn.attention", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize"),
    *("nn.utils.parametrizations", "nn.utils.prune", "nn.utils.stateless", "multiprocessing"),
    *("optim", "optim.lr_scheduler", "optim.swa_utils", "autograd", "autograd.functional", "autograd.graph"),
    *("distributions", "distributions.transforms", "distributions.kl"),
]

NUMBER = re.compile(r"[-+]?\b(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)")


def find(library: Any, path: str) -> Any:
    """What stands at a path below `torch`, None where nothing does; modules are imported."""
    found = library
    for name in () if path == "torch" else path.split("."):
        if not hasattr(found, name) and isinstance(found, types.ModuleType):
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{found.__name__}.{name}")
        found = getattr(found, name, None)
    return found


def documented(place: str) -> Iterator[tuple[str, str]]:
    """Names and docstrings of what a module or class and its classes hold, as far as minitorch has it, too."""
    theirs, ours = find(torch, place), find(minitorch, place)
    if isinstance(theirs, type):
        yield place, theirs.__doc__ or ""
    for name in sorted(dir(theirs)):
        thing = getattr(theirs, name, None)
        if name.startswith("_") or not hasattr(ours, name) or isinstance(thing, types.ModuleType):
            continue
        yield f"{place}.{name}", thing.__doc__ or ""
        if isinstance(thing, type) and thing.__module__.startswith("torch"):
            for method in sorted(vars(thing)):
                if not method.startswith("_") and hasattr(getattr(ours, name), method):
                    yield f"{place}.{name}.{method}", getattr(thing, method, None).__doc__ or ""


@functools.cache
def docstrings() -> dict[str, dict[str, str]]:
    """The docstrings with examples by place and name, each text once."""
    found: dict[str, dict[str, str]] = {}
    seen = set()
    for place in PLACES:
        found[place] = {}
        for name, text in documented(place):
            if isinstance(text, str) and ">>>" in text and text not in seen:
                seen.add(text)
                found[place][name] = text
    return found


def statements(text: str) -> Iterator[ast.stmt]:
    """The statements of a docstring's examples. Some write `>>>` where a statement goes on: whole blocks are parsed."""
    block: list[tuple[str, str]] = []
    for line in [*text.splitlines(), ""]:
        prompt = re.match(r"\s*(>>>|\.\.\.) ?(.*)", line)
        if prompt and (block or prompt[1] == ">>>"):
            block.append((prompt[1], prompt[2]))
        elif block:
            yield from parsed(block)
            block = []


def parsed(block: list[tuple[str, str]]) -> list[ast.stmt]:
    try:
        return ast.parse(textwrap.dedent("\n".join(line for _, line in block))).body
    except SyntaxError:
        starts = [number for number, (prompt, _) in enumerate(block) if prompt == ">>>"]
        parts = [block[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
        return [each for part in parts if len(part) < len(block) for each in parsed(part)]


class ImportsMinitorch(ast.NodeTransformer):
    """`import torch` as `import minitorch as torch`."""

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            if alias.name.partition(".")[0] == "torch":
                if alias.name == "torch":
                    alias.asname = alias.asname or "torch"
                alias.name = "mini" + alias.name
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if (node.module or "").partition(".")[0] == "torch":
            node.module = f"mini{node.module}"
        return node


def printed(library: Any, body: list[ast.stmt]) -> list[str]:
    """What each statement prints, and the error it ends with."""
    names = {"__name__": "__main__", "torch": library, "nn": library.nn, "F": library.nn.functional}
    for seed in (library.manual_seed, random.seed, np.random.seed):
        seed(0)
    outputs = []
    for statement in body:
        with contextlib.redirect_stdout(io.StringIO()) as output, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(ast.Interactive([statement]), "<example>", "single"), names)
            except Exception as error:
                print(f"{type(error).__name__}: {error}")
        text = output.getvalue().replace("minitorch", "torch")
        outputs.append(re.sub(r"<(?:\w+\.)*(\w+ .*?) at 0x\w+>", r"<\1>", text))
    return outputs


def restore_settings() -> None:
    for library in (torch, minitorch):
        library.set_default_dtype(library.float32)
        library.set_default_device(None)
        library.set_printoptions(profile="default")
        library.set_grad_enabled(True)
        library.use_deterministic_algorithms(False)


def alike(expected: str, actual: str) -> bool:
    """Whether two texts are the same but for the last digits of their numbers."""
    if " ".join(NUMBER.sub("#", expected).split()) != " ".join(NUMBER.sub("#", actual).split()):
        return False
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (expected, actual)]
    return bool(np.allclose(*numbers, rtol=1e-4, atol=1.5e-4, equal_nan=True))


def differences(text: str) -> list[str]:
    theirs = list(statements(text))
    ours = [ImportsMinitorch().visit(each) for each in copy.deepcopy(theirs)]
    try:
        outputs = zip(theirs, printed(torch, theirs), printed(minitorch, ours), strict=True)
    finally:
        restore_settings()
    return [
        f">>> {ast.unparse(statement)}\ntorch:\n{expected}\nminitorch:\n{actual}"
        for statement, expected, actual in outputs
        if expected != actual and not alike(expected, actual)
    ]


@pytest.mark.turns(4)
@pytest.mark.parametrize("place", PLACES)
def test_examples(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = {name: differences(text) for name, text in docstrings()[place].items() if name not in LEFT_OUT}
    unexpected = [f"{name}:\n{each}" for name, lines in found.items() if name not in DIFFERENT for each in lines]
    assert not unexpected, "\n\n".join(unexpected)
    assert not [name for name, lines in found.items() if name in DIFFERENT and not lines], "these are the same now"


def test_exclusions_name_docstrings() -> None:
    names = {name for found in docstrings().values() for name in found}
    assert not (DIFFERENT.keys() | LEFT_OUT.keys()) - names
