"""Answers that break a promise without touching a formula: the reference, and around it what spoils it.

A mutant (`course.authoring.mutate`) changes a line of the answer, so it finds what a check overlooks among the lines
that are there. A spoiler finds what the answer does without a line of its own: it leaves its arguments alone, keeps the
dtype, works twice, and takes None, a batch of one and a transposed input like any other.
"""

import ast
import copy
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from course.authoring.mutate import Mutation
from course.parsed import parsed
from course.source.cells import SOLUTION, plain, solved
from course.source.statements import first_line

Seen = Mapping[str, Mapping[str, str]]
"""By a function's name, an annotation for each of its arguments, and for "return", from calls of it (`seen.py`)."""

Spoiler = Callable[["Function"], Iterator[tuple[str, str]]]
"""Gives what it does to a function, and a body in which ANSWER stands for the call of the reference."""

SPOILERS: list[Spoiler] = []
_HELPERS = """
_kept = []


def _tensor(x):
    return all(hasattr(x, name) for name in ("shape", "dtype"))


def _numbers(x):
    return x.array if hasattr(x, "array") else x.detach().numpy() if hasattr(x, "detach") else x


def _retyped(x):
    import sys

    kind = str(x.dtype).rpartition(".")[2]
    other = {"float32": "float64", "float64": "float32", "int64": "int32"}.get(kind, "int64")
    if hasattr(x, "astype"):
        return x.astype(other)
    return x.to(getattr(sys.modules[type(x).__module__.partition(".")[0]], other))


def _each(result, change):
    if isinstance(result, dict):
        return {key: _each(item, change) for key, item in result.items()}
    if type(result) in (tuple, list):
        return type(result)(_each(item, change) for item in result)
    return change(result) if _tensor(result) else result


def _alike(x):
    if _tensor(x):
        return tuple(x.shape)
    return x if isinstance(x, (int, float, str, bytes, type(None))) else id(x)


def _change(x):
    if _tensor(x):
        numbers = _numbers(x)
        numbers[...] = ~numbers if str(numbers.dtype) == "bool" else numbers * 2 + 7
    elif isinstance(x, list):
        x.append(x[0] if x else 0)
    elif isinstance(x, dict):
        x.clear()
"""
_TENSORS = ("Tensor", "np.ndarray")
_DRAWS = re.compile(r"\b(rand\w*|multinomial|dropout|bernoulli|normal_?|uniform_?|shuffle)\(")
_OWN = {"self", "cls"}
_GRADIENTS = "gradients?|backward|differentiable|autograd|grad_fn|detach(es|ed)?"
_KEPT = "cache[ds]?|masks?|tables?|frequenc(y|ies)"
_EMPTY = "empty (tensor|batch|input|list|array|sequence)s?|no elements|length 0"


@dataclass(frozen=True)
class Function:
    """A function or method that an answer writes. `promised` is what the task and its docstring say of it.

    `seen` takes the place of the annotations that it lacks.
    """

    node: ast.FunctionDef
    promised: str
    seen: Mapping[str, str] = field(default_factory=dict)

    @property
    def returns(self) -> str:
        """The annotation of the result."""
        return ast.unparse(self.node.returns) if self.node.returns else self.seen.get("return", "")

    @property
    def arguments(self) -> dict[str, str]:
        """The annotation of each argument, empty if nobody knows it; without `self`."""
        given = self.node.args
        named = [each for each in (*given.posonlyargs, *given.args, *given.kwonlyargs) if each.arg not in _OWN]
        return {
            each.arg: ast.unparse(each.annotation) if each.annotation else self.seen.get(each.arg, "") for each in named
        }

    @property
    def defaults(self) -> dict[str, str]:
        """The default of each argument that has one."""
        given = self.node.args
        positional = [*given.posonlyargs, *given.args]
        pairs = [
            *zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True),
            *((each, value) for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value),
        ]
        return {each.arg: ast.unparse(value) for each, value in pairs}

    @property
    def tensors(self) -> list[str]:
        """The arguments that are tensors or arrays, or may be None instead."""
        return [name for name, kind in self.arguments.items() if _is_tensor(kind)]

    @property
    def is_method(self) -> bool:
        """Whether it belongs to an object, which can keep something from call to call."""
        return any(each.arg in _OWN for each in self.node.args.args)

    @property
    def raises(self) -> bool:
        """Whether it raises an exception of its own."""
        return any(isinstance(each, ast.Raise) and each.exc for each in _own_nodes(self.node))

    def says(self, words: str) -> bool:
        """Whether the task or the docstring speaks of something."""
        return bool(re.search(rf"\b({words})\b", self.promised, re.IGNORECASE))

    def spoiled(self, body: str) -> str:
        """Its text with this body around the reference's."""
        given = self.node.args
        passed = [each.arg for each in (*given.posonlyargs, *given.args)]
        passed += [f"*{given.vararg.arg}"] if given.vararg else []
        passed += [f"{each.arg}={each.arg}" for each in given.kwonlyargs]
        passed += [f"**{given.kwarg.arg}"] if given.kwarg else []
        answer, outer = copy.deepcopy(self.node), copy.deepcopy(self.node)
        answer.name, answer.decorator_list, answer.returns = "answer", [], None
        answer.args.defaults, answer.args.kw_defaults = [], [None] * len(given.kwonlyargs)
        lines = [ast.unparse(answer), body.replace("ANSWER", f"answer({', '.join(passed)})")]
        outer.body = [ast.Pass()]
        head = ast.unparse(outer).rpartition("\n")[0]
        return "\n".join([head, textwrap.indent("\n".join(lines), "    ")])


def spoilers(solution: str, task: str, seen: Seen | None = None) -> Iterator[Mutation]:
    """The spoiled answers of a solution cell; `was` is the function, and `becomes` what is done to it.

    Args:
        solution: the cell, of which what stands between `### BEGIN SOLUTION` and `### END SOLUTION` is an answer.
        task: what is asked for, beside the docstrings.
        seen: what arguments without an annotation are.
    """
    answer = plain(solved(solution))
    written = {
        line
        for block in SOLUTION.finditer(answer)
        for line in range(answer.count("\n", 0, block.start()) + 1, answer.count("\n", 0, block.end()) + 2)
    }
    lines = answer.split("\n")
    for name, node in functions(parsed(answer)):
        if node.body[-1].lineno not in written or any(
            isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node)
        ):
            continue
        function = Function(node, f"{task}\n{ast.get_docstring(node) or ''}", (seen or {}).get(name, {}))
        start, end = first_line(node) - 1, node.end_lineno
        for spoiler in SPOILERS:
            for does, body in spoiler(function):
                own = textwrap.indent(function.spoiled(body), " " * node.col_offset)
                first = next(
                    place for place, line in enumerate(lines) if line and not line.startswith(("#", "from __future__"))
                )
                text = "\n".join([*lines[:first], _HELPERS, *lines[first:start], own, *lines[end:]])
                yield Mutation(text, name, does)


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions and methods of an answer, each by its name or Class.name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, ast.FunctionDef))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What a function itself runs, without the functions that it defines."""
    for each in ast.iter_child_nodes(node):
        if not isinstance(each, ast.FunctionDef | ast.Lambda):
            yield from (each, *_own_nodes(each))


def _is_tensor(annotation: str) -> bool:
    return annotation.removesuffix(" | None").removeprefix("torch.") in _TENSORS


def _spoils(spoiler: Spoiler) -> Spoiler:
    SPOILERS.append(spoiler)
    return spoiler


def _if(condition: str) -> str:
    """A body that refuses some inputs."""
    return f'if {condition}:\n    raise RuntimeError("spoiled")\nreturn ANSWER'


@_spoils
def _result(of: Function) -> Iterator[tuple[str, str]]:
    """The right values in another form."""
    if any(name in of.returns for name in _TENSORS):
        yield "gives another dtype", "return _each(ANSWER, _retyped)"
        yield "gives one more dimension", "return _each(ANSWER, lambda x: x.reshape(1, *x.shape))"
        yield "gives lists", "return _each(ANSWER, lambda x: x.tolist())"
        if "Tensor" in of.returns:
            yield "gives arrays", "return _each(ANSWER, _numbers)"
            if of.says(_GRADIENTS) and not of.says("(without|no) gradients?"):
                yield "gives what is detached", "return _each(ANSWER, lambda x: x.detach())"
        if of.says("views?|shares (its |the )?memory|no copy|not copied"):
            copy = "x.clone() if hasattr(x, 'clone') else x.copy()"
            yield "gives a copy", f"return _each(ANSWER, lambda x: {copy})"


@_spoils
def _arguments(of: Function) -> Iterator[tuple[str, str]]:
    """The right result, and an argument that is another one afterwards."""
    for name, kind in of.arguments.items():
        if name in of.tensors or kind.startswith(("list", "dict")):
            yield f"changes {name}", f"_result = ANSWER\n_change({name})\nreturn _result"
        if kind == "nn.Module":
            yield (
                f"leaves {name} in the other mode",
                f"_result = ANSWER\n{name}.train(not {name}.training)\nreturn _result",
            )


@_spoils
def _ignored(of: Function) -> Iterator[tuple[str, str]]:
    """An argument that plays no role."""
    for name, kind in of.arguments.items():
        values = []
        if name in of.defaults:
            values = [of.defaults[name]]
        elif kind.endswith("| None"):
            values = ["None"]
        elif kind == "bool":
            values = ["False", "True"]
        elif kind in ("int", "float"):
            values = ["1", "0"] if kind == "int" else ["1.0", "0.0"]
            values += ["-1"] if name in ("dim", "axis") else []
        for value in values:
            yield f"takes {value} for {name}", f"{name} = {value}\nreturn ANSWER"


@_spoils
def _swapped(of: Function) -> Iterator[tuple[str, str]]:
    """Two arguments of one type, each in the other's place."""
    for (name, kind), (other, same) in itertools.pairwise(of.arguments.items()):
        if kind == same and kind not in ("", "Any"):
            yield (
                f"takes {name} for {other} and {other} for {name}",
                f"{name}, {other} = {other}, {name}\nreturn ANSWER",
            )


@_spoils
def _narrow(of: Function) -> Iterator[tuple[str, str]]:
    """Inputs that are refused."""
    if of.tensors:
        given = f"[x for x in ({', '.join(of.tensors)},) if _tensor(x)]"
        yield "refuses a length of 1", _if(f"any(1 in x.shape for x in {given})")
        if any("Tensor" in kind for kind in of.arguments.values()):
            if of.says("contiguous|transpose|stride|slice|views?"):
                yield "refuses what isn't contiguous", _if(f"any(not x.is_contiguous() for x in {given})")
            if of.says(_GRADIENTS):
                yield "refuses what requires grad", _if(f"any(getattr(x, 'requires_grad', False) for x in {given})")
        if of.says(_EMPTY):
            yield "refuses what is empty", _if(f"any(0 in x.shape for x in {given})")
        if of.says("0-d|any shape"):
            yield "refuses 0-d inputs", _if(f"any(not len(x.shape) for x in {given})")
        if of.says("any (number of dimensions|shape|dims)|leading") or re.search(r"\((…|\.\.\.)", of.promised):
            dims = f"tuple(len(x.shape) for x in {given})"
            yield "refuses another number of dimensions", f"_kept.append({dims})\n" + _if("_kept[0] != _kept[-1]")
        if of.says("float64|double precision|b?float16|(any|every|each|other|its|the) dtypes?"):
            dtypes = f"tuple(str(x.dtype) for x in {given})"
            yield "refuses another dtype", f"_kept.append({dtypes})\n" + _if("_kept[0] != _kept[-1]")
        if of.says("(even|may be|if it is|are|or) (nan|-?inf|infinite)"):
            yield "refuses NaN and inf", _if(f"any((_numbers(x) * 0 != 0).any() for x in {given})")
    for name, kind in of.arguments.items():
        if kind.endswith("| None") or of.defaults.get(name) == "None":
            yield f"refuses {name} of None", _if(f"{name} is None")
        if kind == "int":
            yield f"refuses {name} of 1", _if(f"{name} == 1")
            if name in ("dim", "axis"):
                yield f"refuses a negative {name}", _if(f"{name} < 0")
        if kind.startswith(("list", "Sequence", "Iterable")):
            if not kind.startswith("Iterable"):
                yield f"refuses {name} of one", _if(f"len({name}) == 1")
            if of.says(_EMPTY):
                yield f"refuses an empty {name}", _if(f"not {name}")
        if kind.startswith("Iterable"):
            yield f"refuses {name} that is no list", _if(f"not isinstance({name}, list)")
        if kind.startswith("tuple") and "list" in kind:
            yield f"refuses {name} that is no tuple", _if(f"not isinstance({name}, tuple)")


@_spoils
def _remembered(of: Function) -> Iterator[tuple[str, str]]:
    """What an earlier call leaves to a later one."""
    yield "works once", "_kept.append(1)\n" + _if("len(_kept) > 1")
    if of.returns not in ("", "None") and of.tensors and (of.is_method or of.says(_KEPT)):
        key = f"[{', '.join(f'_alike({each.arg})' for each in (*of.node.args.args, *of.node.args.kwonlyargs))}]"
        yield (
            "remembers what it gave for these shapes",
            f"""\
_key = {key}
for _known, _result in _kept:
    if _known == _key:
        return _result
_kept.append((_key, ANSWER))
return _kept[-1][1]""",
        )


@_spoils
def _switches(of: Function) -> Iterator[tuple[str, str]]:
    """A global state that is another one afterwards."""
    if "torch." in (text := ast.unparse(of.node)):
        if of.says(_GRADIENTS) or "grad" in text:
            off = "torch.set_grad_enabled(False)"
            yield "leaves gradients switched off", f"_result = ANSWER\n{off}\nreturn _result"
        if _DRAWS.search(text):
            yield "draws one number more", "_result = ANSWER\ntorch.rand(1)\nreturn _result"
            yield "sets the seed", "torch.manual_seed(0)\nreturn ANSWER"
    for name in of.arguments:
        if name in ("generator", "rng"):
            draws = f"{name}.random() if hasattr({name}, 'random') else torch.rand(1, generator={name})"
            yield f"draws one number more from {name}", f"_result = ANSWER\n{draws}\nreturn _result"


@_spoils
def _exceptions(of: Function) -> Iterator[tuple[str, str]]:
    """Another exception, or none."""
    if of.raises:
        caught = "try:\n    return ANSWER\nexcept Exception as error:\n    "
        other = "RuntimeError if isinstance(error, (ValueError, TypeError, LookupError)) else ValueError"
        yield "raises another type", f"{caught}raise ({other})(str(error)) from None"
        if any(isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call) for each in _own_nodes(of.node)):
            yield "raises with another message", f"{caught}raise type(error)('spoiled') from None"
        yield "raises nothing", f"{caught}return None"
        changed = [
            name for name, kind in of.arguments.items() if name in of.tensors or kind.startswith(("list", "dict"))
        ]
        if changed and of.says("unchanged|before anything|nothing (is|was|has)? ?(changed|written)"):
            does = "; ".join(f"_change({name})" for name in changed)
            yield "raises after a change", f"{caught}{does}\n    raise"
