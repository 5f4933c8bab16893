"""Small changes to an answer, one at a time: what a check that looks at every line must see.

A mutant that passes shows a promise that no input tests, unless it means the same as the answer.
"""

import ast
import copy
import difflib
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from course.parsed import parsed
from course.source.cells import SOLUTION, plain, solved

_COPIES = {"clone", "detach", "contiguous", "copy", "list", "dict", "deepcopy"}
_WRITES = {"add", "sub", "mul", "div", "neg", "exp", "log", "clamp", "copy", "fill", "zero", "requires_grad", "detach"}
_COMPARED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_COMPUTED: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Div(),
    ast.Mod: ast.FloorDiv(),
    ast.Pow: ast.Mult(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
    ast.LShift: ast.RShift(),
    ast.RShift: ast.LShift(),
}


@dataclass(frozen=True)
class Mutation:
    """An answer with one change; `was` and `becomes` are the lines that differ."""

    text: str
    was: str
    becomes: str

    def __str__(self) -> str:
        signed = [*(f"- {line}" for line in self.was.split("\n")), *(f"+ {line}" for line in self.becomes.split("\n"))]
        return "\n".join(signed)


def mutants(solution: str) -> Iterator[Mutation]:
    """The mutants of a solution cell, each different from the answer and from the others.

    Only what stands between `### BEGIN SOLUTION` and `### END SOLUTION` is changed, docstrings and annotations aside.
    """
    answer = plain(solved(solution))
    written = [
        range(answer.count("\n", 0, block.start()) + 1, answer.count("\n", 0, block.end()) + 2)
        for block in SOLUTION.finditer(answer)
    ]
    tree = parsed(answer)
    seen = {ast.dump(tree)}
    decorators = {each for node in ast.walk(tree) for each in getattr(node, "decorator_list", [])}
    for node in _nodes(tree):
        if not any(node.lineno in lines for lines in written):
            continue
        for new in ["(lambda each: each)"] if node in decorators else _changes(node):
            text = _replaced(answer, node, new)
            try:
                shape = ast.dump(parsed(text))
            except SyntaxError:
                continue
            if shape not in seen:
                seen.add(shape)
                yield Mutation(text, *_difference(answer, text))


def _nodes(tree: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """What may be changed, from top to bottom."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.stmt | ast.expr):
                yield node
            is_strict = isinstance(node, ast.keyword) and node.arg == "strict"  # of `zip`: lengths are equal anyway
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr) and not is_strict:
                yield from _nodes(node)


def _changes(node: ast.stmt | ast.expr) -> Iterator[str]:
    """What takes the place of a statement or an expression."""
    match node:
        case ast.stmt():
            yield from _changed_statement(node)
        case ast.Call():
            yield from _changed_call(node)
        case ast.Constant():
            yield from _changed_constant(node.value)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield _unparsed(ast.Compare(left, [_COMPARED[type(operator)]], [right]))
        case ast.Compare(left=left, ops=[first, second], comparators=[middle, right]):
            yield _unparsed(ast.Compare(left, [_COMPARED[type(first)], second], [middle, right]))
            yield _unparsed(ast.Compare(left, [first, _COMPARED[type(second)]], [middle, right]))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _COMPUTED:
            yield _unparsed(ast.BinOp(left, _COMPUTED[type(operator)], right))
            yield from (_unparsed(left), _unparsed(right))
        case ast.BoolOp(op=operator, values=values):
            other = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            yield _unparsed(ast.BoolOp(other, values))
            for value in values:
                rest = [each for each in values if each is not value]
                yield _unparsed(ast.BoolOp(operator, rest) if len(rest) > 1 else rest[0])
        case ast.UnaryOp(operand=operand):
            yield _unparsed(operand)
        case ast.IfExp(body=body, orelse=orelse):
            yield from (_unparsed(body), _unparsed(orelse))
        case ast.Name(id="dim", ctx=ast.Load()):
            yield "(dim + 1)"
        case ast.Slice(lower=lower, upper=upper, step=step):
            for kept in ((None, upper, step), (lower, None, step), (lower, upper, None)):
                yield ":".join(_unparsed(each) if each else "" for each in kept)
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            for place, loop in enumerate(node.generators):
                for number in range(len(loop.ifs)):
                    copied = copy.deepcopy(node)
                    del copied.generators[place].ifs[number]
                    yield ast.unparse(copied)


def _changed_statement(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return
        case ast.Expr() | ast.Raise() | ast.Delete() | ast.Assert() | ast.Continue() | ast.Break() | ast.AugAssign():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript() | ast.Tuple()]):
            yield "pass"
        case ast.Return(value=ast.expr()):
            yield "pass"
        case ast.If(body=body, orelse=orelse):
            yield _block("if False:", body, orelse)
            yield _block("if True:", body, orelse)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield _block("if True:", body)
        case ast.Try(body=body, orelse=orelse, finalbody=last):
            yield _block("if True:", [*body, *orelse, *last])
        case ast.For() | ast.While() if not isinstance(node.body[-1], ast.Return | ast.Raise | ast.Break):
            once = copy.deepcopy(node)
            once.body.append(ast.Break())
            yield ast.unparse(once)
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left), op=operator, right=right)):
            if name == left:
                yield ast.unparse(ast.AugAssign(ast.Name(name, ast.Store()), operator, right))
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in _COMPUTED:
            yield ast.unparse(ast.AugAssign(target, _COMPUTED[type(operator)], value))


def _changed_call(node: ast.Call) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _COPIES:
            yield _unparsed(node.args[0] if isinstance(owner, ast.Name) and owner.id == "copy" and node.args else owner)
        case ast.Call(func=ast.Name(id=name), args=[only]) if name in _COPIES:
            yield _unparsed(only)
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[first, second], keywords=[]):
            other = "min" if name == "max" else "max"
            yield from (_unparsed(first), _unparsed(second))
            yield f"{other}({ast.unparse(first)}, {ast.unparse(second)})"
    match node.func:
        case ast.Attribute(value=owner, attr=name, ctx=context) if name in _WRITES:
            yield ast.unparse(ast.Call(ast.Attribute(owner, f"{name}_", context), node.args, node.keywords))
        case ast.Attribute(value=owner, attr=name, ctx=context) if name.removesuffix("_") in _WRITES:
            yield ast.unparse(ast.Call(ast.Attribute(owner, name[:-1], context), node.args, node.keywords))
    for place in range(len(node.args) - 1):
        swapped = [*node.args]
        swapped[place : place + 2] = swapped[place + 1], swapped[place]
        if type(swapped[place]) is type(swapped[place + 1]) and not isinstance(swapped[place], ast.Starred):
            yield ast.unparse(ast.Call(node.func, swapped, node.keywords))
    for keyword in node.keywords:
        if keyword.arg not in (None, "strict"):
            rest = [each for each in node.keywords if each is not keyword]
            yield ast.unparse(ast.Call(node.func, node.args, rest))


def _changed_constant(value: object) -> Iterator[str]:
    match value:
        case bool():
            yield str(not value)
        case 0:
            yield "1"
        case 1:
            yield "0"
        case int():
            yield str(value + 1)
        case float():
            yield repr(value * 2 or 1.0)


def _unparsed(node: ast.expr) -> str:
    """The text of an expression, in parentheses where it may need them."""
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript) else f"({text})"


def _block(head: str, body: Iterable[ast.stmt], orelse: Iterable[ast.stmt] = ()) -> str:
    """A compound statement with this first line."""

    def inner(statements: Iterable[ast.stmt]) -> list[str]:
        return [f"    {line}" for each in statements for line in ast.unparse(each).split("\n")]

    otherwise = inner(orelse)
    return "\n".join([head, *inner(body), *(["else:", *otherwise] if otherwise else [])])


def _replaced(text: str, node: ast.stmt | ast.expr, new: str) -> str:
    """The text with another text in the place of a node."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    lines = text.split("\n")
    first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
    before, after = first[: node.col_offset].decode(), last[node.end_col_offset :].decode()
    if first[node.col_offset :].startswith(b"elif "):
        before += "el"
    indent = " " * (len(before) - len(before.lstrip())) if isinstance(node, ast.stmt) else ""
    lines[node.lineno - 1 : node.end_lineno] = (before + new.replace("\n", f"\n{indent}") + after).split("\n")
    return "\n".join(lines)


def _difference(before: str, after: str) -> tuple[str, str]:
    """The lines that one text has, and those that the other has in their place."""
    lines = list(difflib.ndiff(before.split("\n"), after.split("\n")))
    was, becomes = (
        textwrap.dedent("\n".join(line[2:] for line in lines if line.startswith(sign))) for sign in ("- ", "+ ")
    )
    return was, becomes
