"""Statements of a cell or a file: what they define and use, and where they stand."""

import __future__

import ast
from types import CodeType

CALLS = ("derivative",)  # functions whose calls at a file's top level are parts, named by their first argument
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def named(statement: ast.stmt) -> str:
    """The name of a statement that is a part; empty if it is none."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return name
        case ast.Expr(value=ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(first)), *_])) if (
            function in CALLS
        ):
            return f"{function}.{first}"
    return ""


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, which may be a decorator's."""
    return min([node.lineno, *(decorator.lineno for decorator in decorations(node))])


def last_line(node: ast.stmt) -> int:
    """The last line of a statement."""
    assert node.end_lineno is not None
    return node.end_lineno


def decorations(node: ast.stmt) -> list[ast.expr]:
    """The decorators of a definition; none of any other statement."""
    return node.decorator_list if isinstance(node, Definition) else []


def lookups(code: CodeType) -> set[str]:
    """The names that code looks up when it runs; annotations don't run."""
    return set(code.co_names).union(*(lookups(each) for each in code.co_consts if isinstance(each, CodeType)))


def used_by(statements: list[ast.stmt]) -> set[str]:
    """The names that statements look up when they run, those in their functions among them."""
    return lookups(compile(ast.Module(statements, []), "", "exec", __future__.annotations.compiler_flag))
