"""An interpreter of Python's bytecode on values of which capture knows enough.

It does what Python does, except that tensor operations become nodes of a graph. It has no side effects: writes to
outside objects are noted (`effects`), and what it can't do without a tensor's data, or without being seen, raises
`Break`. PyTorch's is torch/_dynamo/symbolic_convert.py.
"""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING, Any

from minitorch._dynamo.exc import Break
from minitorch._dynamo.stack import instructions, refused
from minitorch._dynamo.values import (
    NULL,
    Bound,
    Cell,
    Context,
    Function,
    Items,
    Known,
    Mapping,
    Null,
    Steps,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from minitorch._dynamo.capture import Capture

BINARY = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and_", "|": "or_", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARISONS = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
UNARY = {"UNARY_NEGATIVE": "neg", "UNARY_POSITIVE": "pos", "UNARY_INVERT": "invert"}
MOST_STEPS = 200_000
SET_CELL = "{0}.cell_contents = {1}"


class Frame:
    """One call of a function: its variables, its stack, and where it is."""

    def __init__(self, capture: Capture, function: Function, variables: dict[str, Value]) -> None:
        reason = refused(function.code)
        if reason:
            raise Break(reason)
        self.capture, self.function, self.code = capture, function, function.code
        self.variables = variables
        self.cells: dict[str, Cell] = dict(zip(function.code.co_freevars, function.cells, strict=True))
        self.stack: list[Value] = []
        self.at = 0
        self.names: tuple[str, ...] = ()
        self.result: Value | None = None

    def run(self) -> Value:
        """The value that the function returns."""
        steps, self.places = instructions(self.code)
        while self.result is None:
            step = steps[self.at]
            self.before(step)
            self.at += 1
            try:
                self.capture.count(MOST_STEPS)
                handler = getattr(self, step.opname, None)
                if handler is None:
                    raise Break(f"the instruction {step.opname}")
                handler(step)
            except Break as error:
                raise self.located(error, step) from None
        return self.result

    def before(self, step: dis.Instruction) -> None:
        """What happens before an instruction runs."""

    def located(self, error: Break, step: dis.Instruction) -> Break:
        """The break, which says where the user's code causes it."""
        if not error.where:
            positions = step.positions
            line = positions.lineno if positions is not None and positions.lineno else self.code.co_firstlineno
            error.where = f'File "{self.code.co_filename}", line {line}, in {self.code.co_name}'
        return error

    # The stack

    def push(self, value: Value) -> None:
        self.stack.append(value)

    def pop(self) -> Value:
        return self.stack.pop()

    def taken(self) -> Value:
        """The value on top, looked at."""
        return self.capture.looked_at(self.stack.pop())

    def several(self, count: int) -> list[Value]:
        if not count:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def jump(self, step: dis.Instruction) -> None:
        self.at = self.places[step.argval]

    def nothing(self, step: dis.Instruction) -> None:
        """Instructions that are of no concern."""

    RESUME = NOP = PRECALL = COPY_FREE_VARS = nothing

    def POP_TOP(self, step: dis.Instruction) -> None:
        self.pop()

    def PUSH_NULL(self, step: dis.Instruction) -> None:
        self.push(NULL)

    def COPY(self, step: dis.Instruction) -> None:
        self.push(self.stack[-step.argval])

    def SWAP(self, step: dis.Instruction) -> None:
        self.stack[-1], self.stack[-step.argval] = self.stack[-step.argval], self.stack[-1]

    # Variables

    def LOAD_CONST(self, step: dis.Instruction) -> None:
        self.push(self.capture.constant(step.argval))

    def LOAD_FAST(self, step: dis.Instruction) -> None:
        if step.argval not in self.variables:
            raise Break(f"the variable {step.argval} is not bound")
        self.push(self.variables[step.argval])

    def STORE_FAST(self, step: dis.Instruction) -> None:
        self.variables[step.argval] = self.pop()

    def DELETE_FAST(self, step: dis.Instruction) -> None:
        del self.variables[step.argval]

    def MAKE_CELL(self, step: dis.Instruction) -> None:
        self.cells[step.argval] = Cell(self.variables.get(step.argval))

    def LOAD_CLOSURE(self, step: dis.Instruction) -> None:
        self.push(self.cells[step.argval])

    def LOAD_DEREF(self, step: dis.Instruction) -> None:
        content = self.cells[step.argval].content
        if content is None:
            raise Break(f"the variable {step.argval} is not bound")
        self.push(content)

    def STORE_DEREF(self, step: dis.Instruction) -> None:
        cell, value = self.cells[step.argval], self.pop()
        self.capture.effects.change(f"assigns to the outer variable {step.argval}", SET_CELL, cell, value)
        cell.content = value

    def LOAD_GLOBAL(self, step: dis.Instruction) -> None:
        if step.arg is not None and step.arg & 1:
            self.push(NULL)
        self.push(self.capture.global_of(self.function.scope, step.argval))

    def LOAD_ATTR(self, step: dis.Instruction) -> None:
        self.push(self.capture.attribute(self.taken(), step.argval))

    def LOAD_METHOD(self, step: dis.Instruction) -> None:
        self.push(NULL)
        self.push(self.capture.attribute(self.taken_below(), step.argval))

    def taken_below(self) -> Value:
        """The value below the null that was pushed."""
        null = self.stack.pop()
        value = self.taken()
        self.push(null)
        return value

    def STORE_ATTR(self, step: dis.Instruction) -> None:
        owner = self.taken()
        self.capture.set_attribute(owner, step.argval, self.taken())

    def STORE_GLOBAL(self, step: dis.Instruction) -> None:
        self.capture.set_global(self.function.scope, step.argval, self.taken())

    # Operators

    def BINARY_OP(self, step: dis.Instruction) -> None:
        other, value = self.taken(), self.taken()
        sign = step.argrepr
        name = BINARY[sign.removesuffix("=")]
        in_place = sign.endswith("=")
        self.push(self.capture.operator(f"i{name.rstrip('_')}" if in_place else name, value, other))

    def BINARY_SUBSCR(self, step: dis.Instruction) -> None:
        index, value = self.taken(), self.taken()
        self.push(self.capture.item(value, index))

    def STORE_SUBSCR(self, step: dis.Instruction) -> None:
        index, target, value = self.taken(), self.taken(), self.taken()
        self.capture.set_item(target, index, value)

    def COMPARE_OP(self, step: dis.Instruction) -> None:
        other, value = self.taken(), self.taken()
        self.push(self.capture.operator(COMPARISONS[step.argval], value, other))

    def IS_OP(self, step: dis.Instruction) -> None:
        other, value = self.taken(), self.taken()
        self.push(Known(self.capture.identical(value, other) is not bool(step.argval)))

    def CONTAINS_OP(self, step: dis.Instruction) -> None:
        container, value = self.taken(), self.taken()
        self.push(Known(self.capture.contains(container, value) is not bool(step.argval)))

    def unary(self, step: dis.Instruction) -> None:
        self.push(self.capture.operator(UNARY[step.opname], self.taken()))

    UNARY_NEGATIVE = UNARY_POSITIVE = UNARY_INVERT = unary

    def UNARY_NOT(self, step: dis.Instruction) -> None:
        self.push(Known(not self.capture.truth(self.taken())))

    # Jumps

    def JUMP_FORWARD(self, step: dis.Instruction) -> None:
        self.jump(step)

    JUMP_BACKWARD = JUMP_BACKWARD_NO_INTERRUPT = JUMP_FORWARD

    def if_true(self, step: dis.Instruction) -> None:
        if self.capture.truth(self.taken()):
            self.jump(step)

    def if_false(self, step: dis.Instruction) -> None:
        if not self.capture.truth(self.taken()):
            self.jump(step)

    def if_none(self, step: dis.Instruction) -> None:
        if self.capture.is_none(self.taken()):
            self.jump(step)

    def if_not_none(self, step: dis.Instruction) -> None:
        if not self.capture.is_none(self.taken()):
            self.jump(step)

    POP_JUMP_FORWARD_IF_TRUE = POP_JUMP_BACKWARD_IF_TRUE = if_true
    POP_JUMP_FORWARD_IF_FALSE = POP_JUMP_BACKWARD_IF_FALSE = if_false
    POP_JUMP_FORWARD_IF_NONE = POP_JUMP_BACKWARD_IF_NONE = if_none
    POP_JUMP_FORWARD_IF_NOT_NONE = POP_JUMP_BACKWARD_IF_NOT_NONE = if_not_none

    def JUMP_IF_TRUE_OR_POP(self, step: dis.Instruction) -> None:
        if self.capture.truth(self.capture.looked_at(self.stack[-1])):
            self.jump(step)
        else:
            self.pop()

    def JUMP_IF_FALSE_OR_POP(self, step: dis.Instruction) -> None:
        if self.capture.truth(self.capture.looked_at(self.stack[-1])):
            self.pop()
        else:
            self.jump(step)

    def GET_ITER(self, step: dis.Instruction) -> None:
        self.push(self.capture.iterator(self.taken()))

    def FOR_ITER(self, step: dis.Instruction) -> None:
        steps = self.stack[-1]
        assert isinstance(steps, Steps)
        found = steps.next()
        if found is not None:
            self.push(found)
        else:
            self.pop()
            self.jump(step)

    # Containers

    def BUILD_TUPLE(self, step: dis.Instruction) -> None:
        self.push(Items(tuple, self.several(step.argval)))

    def BUILD_LIST(self, step: dis.Instruction) -> None:
        self.push(Items(list, self.several(step.argval)))

    def BUILD_SLICE(self, step: dis.Instruction) -> None:
        self.push(self.capture.slice(self.several(step.argval)))

    def BUILD_MAP(self, step: dis.Instruction) -> None:
        pairs = self.several(2 * step.argval)
        keys = [self.capture.key(each) for each in pairs[::2]]
        self.push(Mapping(dict(zip(keys, pairs[1::2], strict=True))))

    def BUILD_CONST_KEY_MAP(self, step: dis.Instruction) -> None:
        keys = self.taken()
        values = self.several(step.argval)
        self.push(Mapping(dict(zip(self.capture.plain(keys), values, strict=True))))

    def MAP_ADD(self, step: dis.Instruction) -> None:
        value, key = self.pop(), self.taken()
        target = self.stack[-step.argval]
        assert isinstance(target, Mapping)
        target.items[self.capture.key(key)] = value

    def DICT_UPDATE(self, step: dis.Instruction) -> None:
        value = self.taken()
        target = self.stack[-step.argval]
        if not isinstance(target, Mapping) or not isinstance(value, Mapping):
            raise Break("a dict of something that is no dict")
        target.items.update(value.items)

    def DICT_MERGE(self, step: dis.Instruction) -> None:
        value, target = self.capture.looked_at(self.stack[-1]), self.stack[-1 - step.argval]
        if isinstance(value, Mapping) and isinstance(target, Mapping) and value.items.keys() & target.items.keys():
            raise Break("a keyword argument is given twice")
        self.DICT_UPDATE(step)

    def LIST_APPEND(self, step: dis.Instruction) -> None:
        value = self.pop()
        target = self.stack[-step.argval]
        assert isinstance(target, Items)
        target.items.append(value)

    def LIST_EXTEND(self, step: dis.Instruction) -> None:
        value = self.taken()
        target = self.stack[-step.argval]
        assert isinstance(target, Items)
        target.items += self.capture.iterator(value).rest()

    def LIST_TO_TUPLE(self, step: dis.Instruction) -> None:
        value = self.pop()
        assert isinstance(value, Items)
        self.push(Items(tuple, list(value.items)))

    def UNPACK_SEQUENCE(self, step: dis.Instruction) -> None:
        items = self.capture.iterator(self.taken()).rest()
        if len(items) != step.argval:
            raise Break("unpacks a sequence of another length")
        self.stack += reversed(items)

    def FORMAT_VALUE(self, step: dis.Instruction) -> None:
        conversion, has_spec = step.argval
        spec = self.capture.plain(self.taken()) if has_spec else ""
        value = self.capture.plain(self.taken())
        self.push(Known(format(conversion(value) if conversion else value, spec)))

    def BUILD_STRING(self, step: dis.Instruction) -> None:
        parts = [self.capture.plain(self.capture.looked_at(each)) for each in self.several(step.argval)]
        self.push(Known("".join(parts)))

    # Calls

    def KW_NAMES(self, step: dis.Instruction) -> None:
        self.names = self.code.co_consts[step.arg or 0]

    def CALL(self, step: dis.Instruction) -> None:
        names, self.names = self.names, ()
        args = self.several(step.argval)
        second, first = self.pop(), self.pop()
        if isinstance(first, Null):
            function = second
        else:
            function, args = first, [second, *args]
        count = len(args) - len(names)
        kwargs = dict(zip(names, args[count:], strict=True))
        self.push(self.capture.call(self.capture.looked_at(function), args[:count], kwargs))

    def CALL_FUNCTION_EX(self, step: dis.Instruction) -> None:
        kwargs = self.taken() if step.argval & 1 else Mapping({})
        args = self.capture.iterator(self.taken()).rest()
        function = self.taken()
        self.pop()
        if not isinstance(kwargs, Mapping):
            raise Break("** of something that is no dict")
        self.push(self.capture.call(function, args, dict(kwargs.items)))

    def MAKE_FUNCTION(self, step: dis.Instruction) -> None:
        code = self.capture.plain(self.taken())
        cells: tuple[Any, ...] = ()
        flags = step.argval
        if flags & 8:
            closure = self.pop()
            assert isinstance(closure, Items)
            cells = tuple(closure.items)
        annotations = self.pop() if flags & 4 else None
        kwdefaults = self.pop() if flags & 2 else Mapping({})
        defaults = self.taken() if flags & 1 else Items(tuple, [])
        assert isinstance(kwdefaults, Mapping)
        values = self.capture.iterator(defaults).rest()
        named = dict(kwdefaults.items)
        self.push(Function(code, self.function.scope, tuple(values), named, cells, annotations=annotations))

    def RETURN_VALUE(self, step: dis.Instruction) -> None:
        self.result = self.pop()

    def RAISE_VARARGS(self, step: dis.Instruction) -> None:
        raise Break("raises an exception")

    def BEFORE_WITH(self, step: dis.Instruction) -> None:
        context = self.taken()
        if not isinstance(context, Context):
            raise Break("a `with` block other than no_grad, enable_grad and set_grad_enabled")
        self.push(Bound("__exit__", context))
        context.enter()
        self.push(Known(None))
