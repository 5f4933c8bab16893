# %% [markdown]
# # Exercises · Saving and loading
# Seven exercises, 18 points, about 80 minutes. Three of them add to your library: once you have solved them, it reads and
# writes PyTorch's files. They run inside files of `mytorch`: what a task or a docstring mentions is there; import
# anything else in the cell.

# %% setup=true
from __future__ import annotations

import io
import json
import pickle
import re
import tempfile
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn

# %% [markdown] exercise="saving_predict_bytes" kind="predict" points=1
# ### Exercise 1 · How many bytes?
# Each line is saved into a file of its own. How many bytes of numbers does each file hold, headers and the pickle aside?
#
# ```python
# x = torch.zeros(1000)                                    # float32
# torch.save(x, a)
# torch.save(x[:10], b)
# torch.save([x, x.clone()], c)
# torch.save([x[:10], x[500:], x.reshape(10, 100)], d)
# torch.save([x[:10].clone(), x[::2].half()], e)
# ```
#
# Set `prediction` to a list of five integers.

# %% solution="saving_predict_bytes"
### BEGIN SOLUTION
prediction = [4000, 4000, 8000, 4000, 1040]
### END SOLUTION

# %% check="saving_predict_bytes"
names = ["x", "x[:10]", "x and a clone", "three views", "a clone and a half"]
answers = [int(each) for each in prediction] + [0] * 5
check.show(dict(zip(names, answers, strict=False)), secret=True)

# %% [markdown] hint="saving_predict_bytes"
# A file holds storages, not tensors. Which of these tensors have a storage of their own?

# %% [markdown] hint="saving_predict_bytes"
# `clone()` and `half()` make new storages, as large as the new tensor. Slices and reshapes of `x` don't.

# %% [markdown] hint="saving_predict_bytes"
# A float32 takes 4 bytes and a float16 takes 2. The whole storage of `x` is 4,000 bytes, and each storage is saved once.

# %% mutant="saving_predict_bytes"
# A slice saves itself
# A slice is a view, and its whole storage is saved: all 1,000 numbers.
prediction = [4000, 40, 8000, 6040, 1040]

# %% mutant="saving_predict_bytes"
# Each view by itself
# Views of one storage refer to one record: it is in the file once.
prediction = [4000, 4000, 8000, 12000, 1040]

# %% mutant="saving_predict_bytes"
# A clone shares
# A clone has memory of its own, so there are two storages.
prediction = [4000, 4000, 4000, 4000, 1040]

# %% mutant="saving_predict_bytes"
# Copies take their storage along
# The copies' storages are as large as the copies: 10 numbers of 4 bytes, 500 of 2.
prediction = [4000, 4000, 8000, 4000, 6000]

# %% mutant="saving_predict_bytes"
# Numbers, not bytes
# A float32 takes 4 bytes, a float16 takes 2.
prediction = [1000, 1000, 2000, 1000, 510]

# %% mutant="saving_predict_bytes"
# Half has four bytes
# `half()` makes float16: 2 bytes for each number.
prediction = [4000, 4000, 8000, 4000, 2040]

# %% [markdown] exercise="saving_unpickle" kind="core" points=4 part="mytorch.pickling:unpickle"
# ### Exercise 2 · The pickle machine
# Write the machine that runs the programs of `torch.save`. It knows 31 operations; three tables of the file do the reading
# for half of them. An operation is one byte, and `pickle` has a constant for each: `pickle.MARK` is `b"("`.
#
# | operation | what it does |
# |---|---|
# | those in `PUSHED` | push `PUSHED[code](file)`, which also reads what belongs to the operation |
# | `PROTO` | read one byte and forget it |
# | `MARK` | remember how high the stack is |
# | `TUPLE1`, `TUPLE2`, `TUPLE3` | replace the last 1, 2 or 3 values by a tuple |
# | `TUPLE` | the same with all values above the last mark, which is gone then |
# | `APPEND`, `APPENDS` | take the last value, or those above the mark, and put them at the end of the list below |
# | `SETITEM`, `SETITEMS` | the same with key, value, key, value and the dict below |
# | those in `PUT`, `GET` | note the value on top under the number `PUT[code](file)`, or push the one noted under it |
# | `GLOBAL` | read two lines, a module and a name, and push `find("module.name")` |
# | `REDUCE` | take a function and a tuple of arguments, push the result |
# | `BUILD` | take a dict, and make its entries attributes of the value below, if that is an `OrderedDict` |
# | `BINPERSID` | take a reference, push `load_storage(reference)` |
# | `STOP` | the value on top is the result |


# %% docstrings="saving_unpickle"
def unpickle():
    """Run a program of protocol 2; the value that it builds.

    `find` is asked for each name, as "collections.OrderedDict", and `load_storage` for each reference. An object that was
    noted in the memo is the same object when it is used again.

    Raises:
        UnpicklingError: `failed("Unsupported operand 99")` makes it, with the number of the first operation
            that isn't in the table; also for BUILD of anything but an OrderedDict.
        EOFError: "the program ends before it stops".
    """


# %% check="saving_unpickle" raises="EOFError UnpicklingError"
generator = check.rng()
numbers = [int(each) for each in generator.integers(-(2**40), 2**40, 3)] + [int(generator.integers(0, 256)), 70000, -1]
words = ["".join(generator.choice(list("abcxyzäö"), 4)) for _ in range(3)]
letter = words[0]


def text(found):
    """The printed form, without addresses: those are others each time."""
    return re.sub(r" at 0x\w+", "", repr(found))


def outcome(program, show=text):
    """What a program builds, as text, or the error; then the names that it asked for."""
    names = []

    def find(path):
        names.append(path)
        return {"collections.OrderedDict": OrderedDict, "some.function": lambda *args: list(args)}[path]

    try:
        return show(mytorch.pickling.unpickle(program, find, lambda reference: f"storage {reference}")), names
    except (pickle.UnpicklingError, EOFError) as error:
        return error
    except Exception as error:  # shown for this program alone
        return text(error)


class Reference(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", *value) if type(value) is range else None


def with_references(value):
    file = io.BytesIO()
    Reference(file, protocol=2).dump(value)
    return file.getvalue()


ordered = OrderedDict([(words[1], 1), (words[2], [2])])
described = OrderedDict(a=1)
described._metadata = {"version": numbers[3]}
shared = numbers[:2]
one_entry, two_entries = {letter: numbers[0]}, {1: numbers[1], 2: numbers[2]}
values = {
    "numbers": numbers,
    "numbers and words": outcome(pickle.dumps([*numbers, 0.5, True, False, None, *words], 2)),
    "tuples": outcome(pickle.dumps([(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, letter)], 2)),
    "nested": outcome(pickle.dumps({letter: {1: [[2, [3]], {}]}, "b": [4], 5: {6: {7: (8, [])}}}, 2)),
    "one entry": outcome(pickle.dumps([{letter: numbers[1]}, [numbers[2]]], 2)),
    "OrderedDict": outcome(pickle.dumps(ordered, 2), lambda found: repr([type(found).__name__, *found.items()])),
    "attributes": outcome(pickle.dumps(described, 2), lambda found: repr(found._metadata)),
    "the same list twice": outcome(
        pickle.dumps([shared, (shared, 1), shared], 2),
        lambda found: repr([found, found[0] is found[1][0], found[0] is found[2]]),
    ),
    "the same dicts twice": outcome(
        pickle.dumps([one_entry, two_entries, one_entry, two_entries], 2),
        lambda found: repr([found, found[0] is found[2], found[1] is found[3]]),
    ),
    "a list noted when empty, then filled": outcome(b"\x80\x02](]q\x07K\x05ah\x07h\x07e."),
    "300 words": outcome(pickle.dumps([str(each) for each in range(300)] * 2, 2), lambda found: repr(found[298:302])),
    "references": outcome(with_references([range(1, 4), range(5)])),
    "a call": outcome(b"\x80\x02csome\nfunction\nK\x02X\x01\x00\x00\x00z\x86R."),
    "attributes of a list": outcome(b"\x80\x02]}X\x01\x00\x00\x00aK\x01sb."),
    "attributes of a dict": outcome(b"\x80\x02}}X\x01\x00\x00\x00aK\x01sb."),
    "attributes of a function": outcome(b"\x80\x02csome\nfunction\n}X\x01\x00\x00\x00aK\x01sb."),
    "protocol 4": outcome(pickle.dumps({letter: 1}, 4)),
    "an instance": outcome(b"\x80\x02(csome\nfunction\no."),
    "a set": outcome(b"\x80\x02\x8f."),
    "cut off": outcome(pickle.dumps([1, [2], {}], 2)[:-1]),
}
check.show(values, text="What each program builds, and the names it asked for.")

# %% [markdown] hint="saving_unpickle"
# Begin with `file = io.BytesIO(program)`, a stack, a list of marks, a dict for the memo, and
# `while (code := file.read(1)) != pickle.STOP:`. Do `PUSHED`, `PROTO` and the memo first.

# %% [markdown] hint="saving_unpickle"
# Five operations take values off the top. A helper `take(count)` that cuts off the last `count` values, in their order, and
# without a count those above the last mark, serves them all.

# %% [markdown] hint="saving_unpickle"
# `values = take(2 if code == pickle.SETITEM else None)`, then `stack[-1].update(zip(values[::2], values[1::2]))`. The mark says
# how high the stack was: `start = marks.pop()`.

# %% [markdown] hint="saving_unpickle"
# `GLOBAL`: `file.readline().decode().rstrip("\n")` twice. `BUILD`: `attributes = stack.pop()`, then
# `vars(stack[-1]).update(attributes)`, after asking `isinstance(stack[-2], OrderedDict)`. At the end of the file `read` gives `b""`.


# %% mutant="saving_unpickle"
# Python's own machine
# It knows all operations of pickle, those that nobody needs for weights too: a program may set attributes of any
# object. Refusing what you don't know is the point of writing your own.
def unpickle(program, find, load_storage):
    class Machine(pickle.Unpickler):
        def find_class(self, module, name):
            return find(f"{module}.{name}")

        def persistent_load(self, reference):
            return load_storage(reference)

    return Machine(io.BytesIO(program)).load()


# %% mutant="saving_unpickle"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def unpickle(program, find, load_storage):
    from minitorch.pickling import WeightsUnpickler

    return WeightsUnpickler(io.BytesIO(program), load_storage, encoding="utf-8").load()


# %% mutant="saving_unpickle"
# Sets attributes of anything
# With BUILD a program can change whatever it can name, a dtype for all of the library too. Allow it for an
# OrderedDict alone.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD:
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


# %% mutant="saving_unpickle"
# Skips what it doesn't know
# An operation that is skipped leaves the stack as it was, and the values after it end in the wrong places. Refuse the
# program.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            if not code:
                raise EOFError("the program ends before it stops")
    return stack.pop()


# %% mutant="saving_unpickle"
# Pops a tuple from its end
# What is popped first was pushed last: short tuples come out in reverse.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(stack.pop() for _ in range(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


# %% mutant="saving_unpickle"
# Keeps copies in the memo
# The memo is how a program says 'the same object again'. Of a copy, later changes are not seen.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1].copy() if isinstance(stack[-1], (list, dict)) else stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


# %% mutant="saving_unpickle"
# A new list in place of the old one
# The memo noted the old one, empty as it was. Fill the list that is there: extend, not +.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1] = stack[-1] + values
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


# %% mutant="saving_unpickle"
# Attributes of a plain dict
# A plain dict has no attributes, so a program that asks for some is refused: BUILD is for an OrderedDict alone.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], dict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


# %% mutant="saving_unpickle"
# All keys, then all values
# Keys and values alternate above the mark: key, value, key, value.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[: len(values) // 2], values[len(values) // 2 :], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


# %% mutant="saving_unpickle"
# Waits for a stop that doesn't come
# A program that is cut off has no STOP: reading at its end gives b"". Say so, and don't return what happens to be on
# the stack.
def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) not in (pickle.STOP, b""):
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


# %% [markdown] exercise="saving_container" kind="core" points="2 2" part="mytorch.serialization:records_of mytorch.serialization:storage_reader"
# ### Exercise 3 · Storages, once
# `save` writes what `records_of` gives into a zip archive. `load` runs the program of such an archive on your machine, and
# `storage_reader` makes its `load_storage`.
#
# `Pickler(file, key_of).dump(obj)` writes the program into a file. Each time it meets a tensor, it calls `key_of(storage)`, and
# what that returns, a text, becomes the key in the reference.


# %% docstrings="saving_container"
def records_of():
    """The records of the archive by name: the program, and the bytes of each storage.

    In this order: "data.pkl" is the program, as bytes; "byteorder" is b"little"; "data/0", "data/1", ... are the
    storages, numbered as the program meets them; "version" is b"3\n".
    A storage that several tensors see has one key and one record, with all its elements: an array of
    bytes, `array.view(np.uint8)`. `library_of(storage.flat).to_numpy(storage.flat)` gives the elements as an
    array of NumPy, from a GPU, too.
    """


def storage_reader():
    """A function that finds the storage of a reference, ("storage", type, key, location, length).

    `read("data/0")` gives the bytes of a record. The storage's elements are of the reference's type (`kind.numpy` for
    NumPy), can be written to, and are on the device `where_to(location, map_location)`: `move(array, device)`
    takes an array there, and `Storage(array)` makes a storage of it. A key that comes again gets the same
    storage, and its record isn't read again.
    """


# %% check="saving_container"
generator = check.rng()
size = int(generator.integers(3, 6))
x = mytorch.tensor(generator.normal(size=(size, 4)).astype(np.float32).round(2))
kinds = [mytorch.float32, mytorch.int64, mytorch.bfloat16, mytorch.bool]


def listing(value):
    """The records of a saved value: name, type of the data, size."""
    records = mytorch.serialization.records_of(value)
    return [f"{name}: {len(memoryview(data).cast('B'))} bytes" for name, data in records.items() if name != "data.pkl"]


def passed(value, **options):
    file = io.BytesIO()
    mytorch.save(value, file)
    return mytorch.load(file, **options)


def moved(reference, **options):
    read = []
    load_storage = mytorch.serialization.storage_reader(
        lambda name: read.append(name) or np.arange(8, dtype=np.uint8).tobytes(), **options
    )
    first, again, other = (
        load_storage(reference),
        load_storage(reference),
        load_storage((*reference[:2], "1", *reference[3:])),
    )
    return [str(first.device), str(first.dtype), len(first), first is again, first is other, read]


views = passed({"x": x, "row": x[1], "t": x.t(), "clone": x.clone(), "equal": x + 0})
views["row"][0] = 100
views["equal"][1, 0] = 200
program = mytorch.serialization.records_of([x, x.clone(), x.t()])["data.pkl"]
references = []
mytorch.pickling.unpickle(
    bytes(program), mytorch.pickling.find_allowed, lambda reference: references.append(reference) or x.storage
)
values = {
    "size": size,
    "the order of the records": list(mytorch.serialization.records_of([x, x[1], mytorch.ones(2)])),
    "records of views": listing([x, x[1], [x.t()], {"again": x}]),
    "records of equal tensors": listing([x, x.clone(), mytorch.ones(3), mytorch.ones(3)]),
    "records of types": listing([mytorch.ones(3).to(kind) for kind in kinds]),
    "the program": type(program).__name__,
    "the references of x, a clone, a view": [[str(kind), *others] for _, kind, *others in references],
    "a write to the row": [views[name][1, 0].item() for name in ("x", "clone", "equal")] + [views["t"][0, 1].item()],
    "values": views["t"],
    "types": [str(passed(mytorch.ones(3).to(kind))) for kind in kinds],
    "a reader of int64": moved(("storage", mytorch.int64, "0", "cpu", 1)),
    "a reader of float16": moved(("storage", mytorch.float16, "0", "cpu", 4)),
}
mytorch.cuda.simulate(2)
on_gpu = mytorch.ones(3, device="cuda:1")
values["records of a GPU"] = listing([on_gpu])
values["from a GPU"] = [
    str(passed(on_gpu).device),
    str(passed(on_gpu, map_location="cpu").device),
    passed(on_gpu).tolist(),
]
values["a reader of a GPU's"] = moved(("storage", mytorch.float32, "0", "cuda:1", 2))
values["to the other GPU"] = moved(("storage", mytorch.float32, "0", "cuda:1", 2), map_location="cuda:0")
mytorch.cuda.State.gpus = None
check.show(values, rtol=1e-6)

# %% [markdown] hint="saving_container"
# `key_of` has to remember which storages it has seen. A storage can be a key of a dict, and is equal only to itself.

# %% [markdown] hint="saving_container"
# `keys.setdefault(storage, str(len(keys)))` is the key of a storage, new or not. After `dump`, `keys` holds all storages in
# their order. The reader keeps a dict from key to storage, too.

# %% [markdown] hint="saving_container"
# The program: `program = io.BytesIO()`, `Pickler(program, key_of).dump(obj)`, `program.getvalue()`. The reader's array:
# `np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)`; the inner function is what `storage_reader` returns.


# %% mutant="saving_container"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def records_of(obj):
    import minitorch

    file = io.BytesIO()
    minitorch.save(obj, file)
    with zipfile.ZipFile(file) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def storage_reader(read, map_location=None):
    import minitorch

    return lambda reference: minitorch.load(reference)


# %% mutant="saving_container"
# A record for each tensor
# The key is asked for once a tensor. Tensors that see one storage have to get one key, or they share nothing when
# they are loaded.
def records_of(obj: Any) -> dict[str, Any]:
    storages = []

    def key_of(storage):
        storages.append(storage)
        return str(len(storages) - 1)

    program = io.BytesIO()
    Pickler(program, key_of).dump(obj)
    arrays = {key: library_of(storage.flat).to_numpy(storage.flat) for key, storage in enumerate(storages)}
    data = {f"data/{key}": array.view(np.uint8) for key, array in arrays.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% mutant="saving_container"
# Keys are numbers
# A key is a text, in the reference too: "0".
def records_of(obj: Any) -> dict[str, Any]:
    keys: dict[Storage, int] = {}
    program = io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, len(keys))).dump(obj)
    arrays = {key: library_of(storage.flat).to_numpy(storage.flat) for storage, key in keys.items()}
    data = {f"data/{key}": array.view(np.uint8) for key, array in arrays.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% mutant="saving_container"
# Equal numbers, one storage
# Two storages may hold the same numbers today. Who writes to one doesn't mean the other: ask whether it is the same
# object.
def records_of(obj: Any) -> dict[str, Any]:
    keys: dict[Storage, str] = {}

    def key_of(storage):
        for other, key in keys.items():
            if np.array_equal(other.flat, storage.flat):
                return key
        return keys.setdefault(storage, str(len(keys)))

    program = io.BytesIO()
    Pickler(program, key_of).dump(obj)
    arrays = {key: library_of(storage.flat).to_numpy(storage.flat) for storage, key in keys.items()}
    data = {f"data/{key}": array.view(np.uint8) for key, array in arrays.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% mutant="saving_container"
# Only what is on the CPU
# A GPU's array isn't in the computer's memory: take it there with to_numpy before its bytes are written.
def records_of(obj: Any) -> dict[str, Any]:
    keys: dict[Storage, str] = {}
    program = io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys)))).dump(obj)
    arrays = {
        key: library_of(storage.flat).to_numpy(storage.flat)
        for storage, key in keys.items()
        if storage.device.type == "cpu"
    }
    data = {f"data/{key}": array.view(np.uint8) for key, array in arrays.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% mutant="saving_container"
# A new storage for each reference
# The second view gets a storage of its own, so that a write to the first is not seen. Keep what was made, by key.
def storage_reader(read: Callable[[str], bytes], map_location: Any = None) -> Callable[[Any], Storage]:
    storages: dict[str, Storage] = {}

    def load_storage(reference: tuple[Any, ...]) -> Storage:
        _, kind, key, location, _ = reference
        if True:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)
            storages[key] = Storage(move(flat, where_to(location, map_location)))
        return storages[key]

    return load_storage


# %% mutant="saving_container"
# Memory that can't be written to
# `np.frombuffer` of bytes is read-only, and training writes to its weights. A bytearray can be written to.
def storage_reader(read: Callable[[str], bytes], map_location: Any = None) -> Callable[[Any], Storage]:
    storages: dict[str, Storage] = {}

    def load_storage(reference: tuple[Any, ...]) -> Storage:
        _, kind, key, location, _ = reference
        if key not in storages:
            flat = np.frombuffer(read(f"data/{key}"), kind.numpy)
            storages[key] = Storage(move(flat, where_to(location, map_location)))
        return storages[key]

    return load_storage


# %% mutant="saving_container"
# Always where it was saved
# `map_location` is there for the machine that lacks that GPU: ask where_to.
def storage_reader(read: Callable[[str], bytes], map_location: Any = None) -> Callable[[Any], Storage]:
    storages: dict[str, Storage] = {}

    def load_storage(reference: tuple[Any, ...]) -> Storage:
        _, kind, key, location, _ = reference
        if key not in storages:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)
            storages[key] = Storage(move(flat, where_to(location, None)))
        return storages[key]

    return load_storage


# %% mutant="saving_container"
# Float32 for all
# The reference says of which type the elements are: its second entry.
def storage_reader(read: Callable[[str], bytes], map_location: Any = None) -> Callable[[Any], Storage]:
    storages: dict[str, Storage] = {}

    def load_storage(reference: tuple[Any, ...]) -> Storage:
        _, _, key, location, _ = reference
        if key not in storages:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), np.float32)
            storages[key] = Storage(move(flat, where_to(location, map_location)))
        return storages[key]

    return load_storage


# %% [markdown] exercise="saving_safetensors" kind="core" points="1 1 1" part="mytorch.safetensors:save_file mytorch.safetensors:refuse_shared mytorch.safetensors:load_file"
# ### Exercise 4 · safetensors
# Write the format that you took apart in the lesson. Where a file holds tensors alone, nobody has to run anything.


# %% docstrings="saving_safetensors"
def save_file():
    """Save tensors by name; `metadata`, if there is any, goes into the header as "__metadata__".

    A file is the header's length as 8 bytes, the lowest first; the header; the tensors' elements, one tensor
    after the other, each row by row (`on_host(x)` is an array of NumPy). The header is JSON:
    {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}, with the begin and end of the
    elements, counted from the end of the header. `NAMES[x.dtype]` is the name of a type. Spaces at the
    end make the header's length a multiple of 8.
    Tensors that share a storage are refused (`refuse_shared`) before anything is written. `with
    replacing(filename) as file` gives a file to write to.
    """


def refuse_shared():
    """Raise if tensors share a storage: each would be saved by itself, and they would not share when loaded.

    Raises:
        RuntimeError: "Some tensors share memory, this will lead to duplicate memory on disk and potential
            differences when loading them again: [['a', 'c']]." with a list of the names for each such
            storage, in the order of `tensors`.
    """


def load_file():
    """The tensors of a file by name, on a device.

    `TYPES["F32"]` is the type of a name, `.numpy` its type in NumPy. `from_array(array)` makes a tensor of an array that
    can be written to, and `move(array, device_type(device))` takes an array to a device first. The elements of
    a tensor may lie anywhere after the header.
    """


# %% check="saving_safetensors"
generator = check.rng()
size = int(generator.integers(3, 6))
w = mytorch.tensor(generator.normal(size=(2, size)).astype(np.float32).round(2))
tensors = {"w": w, "t": w.clone().t(), "mask": w > 0, "half": w.to(mytorch.bfloat16), "count": mytorch.tensor(size)}
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "weights.safetensors"


def parsed(data):
    """Header and elements of a file, read without mytorch."""
    length = int.from_bytes(data[:8], "little")
    return length % 8, json.loads(data[8 : 8 + length]), np.frombuffer(data[8 + length :], np.uint8).tolist()


def refused(tensors):
    return str(check.error(mytorch.safetensors.refuse_shared, tensors))


mytorch.safetensors.save_file(tensors, path)
whole = parsed(path.read_bytes())
mytorch.safetensors.save_file({"w": w[:, 1:]}, path, {"format": "pt"})
part_of_w = parsed(path.read_bytes())
mytorch.safetensors.save_file({"größe": w, "ä": w.clone()}, path, {"möglich": "ß"})
with_umlauts = parsed(path.read_bytes())
mytorch.cuda.simulate(2)
gpu_error = check.error(mytorch.safetensors.save_file, {"w": w.to("cuda:1")}, path)
from_gpu, to_gpu = parsed(path.read_bytes()), []
load_error = check.error(lambda: to_gpu.extend(mytorch.safetensors.load_file(path, "cuda:1").values()))
to_gpu = load_error or [[str(each.device), each.tolist()] for each in to_gpu]
mytorch.cuda.State.gpus = None
mytorch.safetensors.save_file({"w": w[:, 1:]}, path, {"format": "pt"})
error = check.error(mytorch.safetensors.save_file, {"a": w, "b": w[1]}, path)
kept = parsed(path.read_bytes()) == part_of_w
other_name = Path(folder.name) / "same file"  # a file that is replaced goes on under its other name
other_name.hardlink_to(path)
mytorch.safetensors.save_file({"w": w[:1]}, path)
header = {
    "second": {"dtype": "I64", "shape": [2], "data_offsets": [8, 24]},
    "__metadata__": {"format": "pt"},
    "first": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]},
}
text = json.dumps(header).encode()
first, second = np.array([[1, 2], [3, size]], np.float16), np.array([7, -size])
path.write_bytes(len(text).to_bytes(8, "little") + text + first.tobytes() + second.tobytes())
loaded = mytorch.safetensors.load_file(path)
for each in loaded.values():
    each[0] = 5
check.show(
    {
        "w": w,
        "saved": whole,
        "a slice, with metadata": part_of_w,
        "names that aren't ASCII": with_umlauts,
        "from a GPU": gpu_error or from_gpu,
        "to a GPU": to_gpu,
        "views of one storage": str(error),
        "the file is as it was": kept,
        "saved again: a new file, and the old one as it was": [
            parsed(path.read_bytes()),
            parsed(other_name.read_bytes()) == part_of_w,
        ],
        "tied": refused({"wte": w, "bias": w.clone(), "head": w.t(), "other": mytorch.ones(1)}),
        "three and two": refused({"a": w, "b": tensors["t"], "c": w[1], "d": w, "e": tensors["t"]}),
        "equal, but not tied": refused({"a": w, "b": w.clone()}),
        "loaded, and written to": {name: [str(x.dtype), x] for name, x in loaded.items()},
    },
    rtol=1e-6,
)
folder.cleanup()

# %% [markdown] hint="saving_safetensors"
# `array.tobytes()` gives the elements of an array row by row, whatever its strides. Where a tensor begins is how many bytes
# there were before it.

# %% [markdown] hint="saving_safetensors"
# Sharing: a dict from `x.storage` to a list of names. Those lists that are longer than 1 go into the message.

# %% [markdown] hint="saving_safetensors"
# Loading: `length = int.from_bytes(file.read(8), "little")`, `header = json.loads(file.read(length))`, take out
# "__metadata__", and for each tensor `file.seek(8 + length + start)` and `np.frombuffer(bytearray(file.read(end - start)), ...)`.


# %% mutant="saving_safetensors"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def save_file(tensors, filename, metadata=None):
    import minitorch

    minitorch.save(dict(tensors), filename)


def refuse_shared(tensors):
    import minitorch

    minitorch.tensor(0)


def load_file(filename, device="cpu"):
    import minitorch

    return minitorch.load(filename)


# %% mutant="saving_safetensors"
# Ends as lengths
# The second number is where a tensor's bytes end, not how many they are.
def save_file(tensors: Mapping[str, Tensor], filename: Any, metadata: Mapping[str, str] | None = None) -> None:
    refuse_shared(tensors)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        place = [len(data), len(elements)]
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": place}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers begin at a multiple of 8
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% mutant="saving_safetensors"
# Places in the file
# The offsets count from the first byte after the header. Counted from the start of the file they would change with
# the header.
def save_file(tensors: Mapping[str, Tensor], filename: Any, metadata: Mapping[str, str] | None = None) -> None:
    refuse_shared(tensors)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        place = [8 + len(data), 8 + len(data) + len(elements)]
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": place}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers begin at a multiple of 8
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% mutant="saving_safetensors"
# The storage in place of the tensor
# A transposed tensor's elements lie in another order than its storage's: the format has no strides, so write them row
# by row.
def save_file(tensors: Mapping[str, Tensor], filename: Any, metadata: Mapping[str, str] | None = None) -> None:
    refuse_shared(tensors)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, x in tensors.items():
        elements = x.storage.flat[x.offset : x.offset + x.numel()].tobytes()
        place = [len(data), len(data) + len(elements)]
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": place}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers begin at a multiple of 8
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% mutant="saving_safetensors"
# Looks only at neighbours
# The tied weights of a model are rarely next to each other: the first and the last layer share them.
def refuse_shared(tensors: Mapping[str, Tensor]) -> None:
    names = defaultdict(list)
    last = None
    for name, x in tensors.items():
        if last is not None and tensors[last].storage is x.storage:
            names[x.storage] += [last, name]
        last = name
    if shared := [each for each in names.values() if len(each) > 1]:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {shared}."
        )


# %% mutant="saving_safetensors"
# Compares the tensors
# A view is another tensor on the same memory. What counts is the storage.
def refuse_shared(tensors: Mapping[str, Tensor]) -> None:
    names = defaultdict(list)
    for name, x in tensors.items():
        names[x].append(name)
    if shared := [each for each in names.values() if len(each) > 1]:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {shared}."
        )


# %% mutant="saving_safetensors"
# Compares addresses
# A view may begin further on in the same storage. Compare the storages, not where the tensors begin.
def refuse_shared(tensors: Mapping[str, Tensor]) -> None:
    names = defaultdict(list)
    for name, x in tensors.items():
        names[x.data_ptr()].append(name)
    if shared := [each for each in names.values() if len(each) > 1]:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {shared}."
        )


# %% mutant="saving_safetensors"
# Writes in place
# A writer that is killed would leave half a file where a whole one was. `replacing` puts a finished file in its place.
def save_file(tensors: Mapping[str, Tensor], filename: Any, metadata: Mapping[str, str] | None = None) -> None:
    refuse_shared(tensors)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        place = [len(data), len(data) + len(elements)]
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": place}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(filename, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# %% mutant="saving_safetensors"
# Reads one after the other
# The header may list tensors in another order than their bytes lie in, so go to each one's place.
def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    tensors = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        for name, about in header.items():
            start, end = about["data_offsets"]
            elements = np.frombuffer(bytearray(file.read(end - start)), TYPES[about["dtype"]].numpy)
            tensors[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return tensors


# %% mutant="saving_safetensors"
# Flat
# The bytes have no shape; the header does.
def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    tensors = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        for name, about in header.items():
            start, end = about["data_offsets"]
            file.seek(8 + length + start)
            elements = np.frombuffer(bytearray(file.read(end - start)), TYPES[about["dtype"]].numpy)
            tensors[name] = from_array(move(elements, device_type(device)))
    return tensors


# %% [markdown] exercise="saving_repair_prefixes" kind="repair" points=2
# ### Exercise 5 · Names from another program
# `DataParallel` puts `module.` in front of all names, `torch.compile` puts `_orig_mod.` in front of them; with both, a name
# begins `module._orig_mod.` or the other way round. This function is to take such prefixes off, so that the plain model can
# load the state. On a colleague's model it gives `b.weight`, where the model's name is `emb.weight`.
#
# Give back a new dict of the same tensors in the same order. A prefix counts only if *all* names have it: a model may have
# a part of its own called `module`.


# %% solution="saving_repair_prefixes"
def plain_names(state: dict) -> dict:
    """The state without the prefixes "module." and "_orig_mod." that all of its names have, in any order, any number."""
    ### BEGIN SOLUTION
    while state:
        for prefix in ("module.", "_orig_mod."):
            if all(name.startswith(prefix) for name in state):
                state = {name.removeprefix(prefix): value for name, value in state.items()}
                break
        else:
            break
    return dict(state)
    ### END SOLUTION
    ### BEGIN STUB
    # return {name.lstrip("module.").lstrip("_orig_mod."): value for name, value in state.items()}
    ### END STUB


# %% check="saving_repair_prefixes"
generator = check.rng()
layers = [
    str(each)
    for each in generator.permutation(["emb", "model", "head", "submodule.fc", "norm", "dim", "lin.module.up"])
]
plain = {f"{layer}.{kind}": number for number, layer in enumerate(layers) for kind in ("weight", "bias")}
values = {"layers": layers}
prefixes = ["module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.", "module.module.", ""]
for prefix in [*prefixes, "_orig_mod.module." * 3]:
    given = {prefix + name: value for name, value in plain.items()}
    found = plain_names(given)
    values[f"with {prefix!r}"] = [f"{name} {value}" for name, value in found.items()]
    untouched = list(given) == [prefix + name for name in plain]
    values[f"with {prefix!r}: another dict, the given one as it was"] = found is not given and untouched
own = {"module.weight": 1, "head.weight": 2}
values["a part called module"] = list(plain_names(own))
values["compiled, with such a part"] = list(plain_names({f"_orig_mod.{name}": value for name, value in own.items()}))
values["nothing"] = list(plain_names({}))
check.show(values)

# %% [markdown] hint="saving_repair_prefixes"
# Print `"module.emb.weight".lstrip("module.")`. What does `lstrip` take off: a word, or letters?

# %% [markdown] hint="saving_repair_prefixes"
# `removeprefix` takes off a word, once, from the start. `replace` would find it in `submodule.` too.

# %% [markdown] hint="saving_repair_prefixes"
# As long as there is a prefix that `all(name.startswith(prefix) for name in state)`, take it off all names and look again. An
# empty dict has every prefix, so stop there.


# %% mutant="saving_repair_prefixes"
# Replaces it anywhere
# `replace` also finds the word in the middle: submodule.fc becomes subfc.
def plain_names(state):
    return {name.replace("module.", "").replace("_orig_mod.", ""): value for name, value in state.items()}


# %% mutant="saving_repair_prefixes"
# One of each, in one order
# Prefixes come in both orders, and twice: look again until none is left.
def plain_names(state):
    for prefix in ("module.", "_orig_mod."):
        if state and all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return dict(state)


# %% mutant="saving_repair_prefixes"
# Looks twice
# There may be any number of prefixes: look again as long as one was taken off.
def plain_names(state):
    for prefix in ("module.", "_orig_mod.") * 2:
        if state and all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return dict(state)


# %% mutant="saving_repair_prefixes"
# Asks the names one by one
# A model with a part called `module` isn't wrapped: its other names have no such prefix.
def plain_names(state):
    found = {}
    for name, value in state.items():
        while name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = value
    return found


# %% mutant="saving_repair_prefixes"
# Works on the given dict
# The caller's dict is empty afterwards, or has other names. Make a new one.
def plain_names(state):
    while state and (
        all(name.startswith("module.") for name in state) or all(name.startswith("_orig_mod.") for name in state)
    ):
        for name in list(state):
            state[name.partition(".")[2]] = state.pop(name)
    return state


# %% [markdown] exercise="saving_power_failure" kind="build" points=2
# ### Exercise 6 · A checkpoint that survives a power failure
# When the power fails, a file keeps only what was *synced*: the system writes to the disk when it has time. `Disk`, in the
# folded cell below, is such a disk, and its power fails after a given number of operations. Every byte counts as one.
#
# - `disk.create(name)`: an empty file; one of that name that was there is emptied.
# - `disk.append(name, data)`: bytes at its end, one after the other.
# - `disk.sync(name)`: what is in the file now survives.
# - `disk.rename(name, new_name)`: in one step; a file of the new name is replaced.
# - `disk.remove(name)`.
#
# Write `save_checkpoint`. Whenever the power fails, the file `name` must hold the old checkpoint or the new one, whole. When
# all goes well, no other file is left. What a failure left may stay, and must not harm a later save.


# %% setup=true
class PowerFailure(BaseException):
    """Nothing runs after it."""


class Disk:
    """Files by name, as programs see them and as they are after a power failure. It comes after `lasts` operations."""

    def __init__(self, lasts: float = float("inf")) -> None:
        self.lasts = lasts
        self.files: dict[str, bytes] = {}
        self.synced: dict[str, bytes] = {}

    def operate(self) -> None:
        if self.lasts <= 0:
            raise PowerFailure
        self.lasts -= 1

    def create(self, name: str) -> None:
        self.operate()
        self.files[name] = self.synced[name] = b""

    def append(self, name: str, data: bytes) -> None:
        for each in data:
            self.operate()
            self.files[name] += bytes([each])

    def sync(self, name: str) -> None:
        self.operate()
        self.synced[name] = self.files[name]

    def rename(self, name: str, new_name: str) -> None:
        self.operate()
        for files in (self.files, self.synced):
            files[new_name] = files.pop(name)

    def remove(self, name: str) -> None:
        self.operate()
        del self.files[name], self.synced[name]


# %% solution="saving_power_failure"
def save_checkpoint(disk: Disk, name: str, data: bytes) -> None:
    """Put `data` in place of what the file `name` holds."""
    ### BEGIN SOLUTION
    disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.sync(f"{name}.new")
    disk.rename(f"{name}.new", name)
    ### END SOLUTION


# %% check="saving_power_failure"
generator = check.rng()
old, new, newer = (
    generator.integers(0, 256, int(size)).astype(np.uint8).tobytes() for size in generator.integers(8, 20, 3)
)


def checksum(data):
    return "no file" if data is None else f"{zlib.crc32(data):08x}"


def interrupted(point, before, data):
    """What is left when the power fails at this point ("old", "new" or "lost", and a checksum), and if a later save works."""
    disk = Disk()
    for each in before:
        save_checkpoint(disk, "model.pt", each)
    disk.lasts, failed = point, False
    try:
        save_checkpoint(disk, "model.pt", data)
    except PowerFailure:
        disk.files, failed = dict(disk.synced), True
    disk.lasts = float("inf")
    found = disk.synced.get("model.pt")
    kind = "new" if found == data else "old" if found == (before[-1] if before else None) else "lost"
    save_checkpoint(disk, "model.pt", newer)  # the run goes on, beside what the failure left
    tidy = failed or list(disk.synced) == ["model.pt"]
    return kind, checksum(found), tidy and disk.synced.get("model.pt") == newer


values = {"checksums of the old and the new checkpoint": [checksum(old), checksum(new)]}
for title, before in (("after a first save", [old]), ("at the first save", []), ("after two", [newer, old])):
    outcomes = [interrupted(point, before, new) for point in range(60)]
    kinds = [kind for kind, _, _ in outcomes]
    values[title] = {
        "lost": kinds.count("lost"),
        "checksums of what is left": sorted({left for _, left, _ in outcomes}),
        "new when it lasts": kinds[-1] == "new",
        "old at once": kinds[0] == "old",
        "later saves that went wrong": sum(not fine for _, _, fine in outcomes),
    }
check.show(values, text="The power fails after 0 to 59 operations: in how many cases is the checkpoint lost?")

# %% [markdown] hint="saving_power_failure"
# As long as `name` is open for writing, it is neither old nor new. Write somewhere else.

# %% [markdown] hint="saving_power_failure"
# A rename replaces the old file in one step. What does the new one hold after a power failure, if nobody synced it?

# %% [markdown] hint="saving_power_failure"
# Create `name + ".new"`, append, sync, rename, in this order. `create` also empties what an earlier failure left.


# %% mutant="saving_power_failure"
# In place
# From the first operation until the sync, the old checkpoint is gone and the new one isn't there.
def save_checkpoint(disk, name, data):
    disk.create(name)
    disk.append(name, data)
    disk.sync(name)


# %% mutant="saving_power_failure"
# Never syncs
# The name is moved at once, and the bytes come later: after a failure, the file is empty.
def save_checkpoint(disk, name, data):
    disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.rename(f"{name}.new", name)


# %% mutant="saving_power_failure"
# Syncs after the rename
# Between the rename and the sync the file under this name is empty on the disk. Sync first.
def save_checkpoint(disk, name, data):
    disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.rename(f"{name}.new", name)
    disk.sync(name)


# %% mutant="saving_power_failure"
# Makes room first
# Between the removal and the rename there is no checkpoint. A rename replaces what is there, so nothing has to be removed.
def save_checkpoint(disk, name, data):
    disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.sync(f"{name}.new")
    if name in disk.files:
        disk.remove(name)
    disk.rename(f"{name}.new", name)


# %% mutant="saving_power_failure"
# Adds to what a failure left
# A failure leaves a half of the other file. Begin it anew with `create`.
def save_checkpoint(disk, name, data):
    if f"{name}.new" not in disk.files:
        disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.sync(f"{name}.new")
    disk.rename(f"{name}.new", name)


# %% mutant="saving_power_failure"
# A copy as a reserve
# The reserve is whole, but who loads `name` finds half a file. Only the last step may touch that name.
def save_checkpoint(disk, name, data):
    for each in (f"{name}.new", name):
        disk.create(each)
        disk.append(each, data)
        disk.sync(each)
    disk.remove(f"{name}.new")


# %% [markdown] exercise="saving_measure_resume" kind="measure" points=2
# ### Exercise 7 · What does this run need?
# `resume(run, without, steps)`, in the folded cell below, trains five steps, saves, builds everything anew, loads all parts
# but `without` (None: all of them), and trains `steps` more. It gives the weights then. `run` says what is trained: with which
# momentum, dropout and schedule.
#
# Not every run needs all of `PARTS`. Find those that a run needs: without one of them, the weights come out differently. Bits
# count, so compare with `!=`. A difference that doesn't show within twelve steps doesn't count.

# %% setup=true
PARTS = ["model", "optimizer", "schedule", "random"]


def build(run: dict, seed: int) -> dict:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Dropout(run["dropout"]), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=run["momentum"])
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, run["every"], gamma=0.5)
    return {"model": model, "optimizer": optimizer, "schedule": schedule}


def train(parts: dict, first: int, last: int) -> None:
    for step in range(first, last):
        x = torch.arange(6.0).reshape(3, 2) * ((step % 3) - 1) / 3
        parts["optimizer"].zero_grad()
        ((parts["model"](x) - x.sum(1, keepdim=True)) ** 2).mean().backward()
        parts["optimizer"].step()
        parts["schedule"].step()


def resume(run: dict, without: str | None, steps: int) -> list[float]:
    """The weights after five steps, a save, a load without one part, and `steps` more."""
    parts, file = build(run, run["seed"]), io.BytesIO()
    train(parts, 0, 5)
    torch.save({name: part.state_dict() for name, part in parts.items()} | {"random": torch.get_rng_state()}, file)
    file.seek(0)
    saved, parts = torch.load(file), build(run, run["seed"] + 1)
    for name, part in parts.items():
        if name != without:
            part.load_state_dict(saved[name])
    if without != "random":
        torch.set_rng_state(saved["random"])
    train(parts, 5, 5 + steps)
    return [number for each in parts["model"].parameters() for number in each.flatten().tolist()]


# %% solution="saving_measure_resume"
def needed(run: dict) -> list[str]:
    """The parts that this run needs for an exact resume, in the order of PARTS."""
    ### BEGIN SOLUTION
    whole = resume(run, None, 12)
    return [part for part in PARTS if resume(run, part, 12) != whole]
    ### END SOLUTION


# %% check="saving_measure_resume"
generator = check.rng()
runs = {
    "plain": {"momentum": 0.0, "dropout": 0.0, "every": 100},
    "momentum": {"momentum": 0.9, "dropout": 0.0, "every": 100},
    "dropout": {"momentum": 0.0, "dropout": 0.5, "every": 100},
    "a schedule": {"momentum": 0.0, "dropout": 0.0, "every": 4},
    "a slow schedule": {"momentum": 0.0, "dropout": 0.0, "every": int(generator.integers(12, 15))},
    "a schedule too slow to show": {"momentum": 0.0, "dropout": 0.0, "every": int(generator.integers(18, 22))},
    "all": {"momentum": 0.9, "dropout": 0.5, "every": 3},
}
seed = int(generator.integers(0, 1000))
check.show(
    {name: needed(run | {"seed": seed}) for name, run in runs.items()},
    text="The parts that each run needs.",
    secret=True,
)

# %% [markdown] hint="saving_measure_resume"
# Change one thing at a time: all parts loaded, against all but one.

# %% [markdown] hint="saving_measure_resume"
# How many steps have to pass before a missing schedule shows? Give it the twelve that are allowed.

# %% [markdown] hint="saving_measure_resume"
# `whole = resume(run, None, 12)`, then those parts of `PARTS` for which `resume(run, part, 12) != whole`.


# %% mutant="saving_measure_resume"
# One step
# A missing schedule doesn't show in the first step: the saved optimizer knows the learning rate of that moment.
def needed(run):
    whole = resume(run, None, 1)
    return [part for part in PARTS if resume(run, part, 1) != whole]


# %% mutant="saving_measure_resume"
# Six steps
# A slow schedule changes the rate later than that. Run as long as the task allows.
def needed(run):
    whole = resume(run, None, 6)
    return [part for part in PARTS if resume(run, part, 6) != whole]


# %% mutant="saving_measure_resume"
# Longer than asked for
# A difference counts if it shows within twelve steps. After twenty, slower schedules show, too.
def needed(run):
    whole = resume(run, None, 20)
    return [part for part in PARTS if resume(run, part, 20) != whole]


# %% mutant="saving_measure_resume"
# By rule, not by experiment
# A list of what one should save is right for a checkpoint, but the question was what this run needs.
def needed(run):
    return list(PARTS)


# %% mutant="saving_measure_resume"
# Nothing is random without dropout, and momentum is the optimizer
# With a schedule, the saved optimizer also knows the present learning rate: without it the run goes on with the first one.
def needed(run):
    found = ["model"]
    if run["momentum"]:
        found.append("optimizer")
    if run["every"] < 17:
        found.append("schedule")
    if run["dropout"]:
        found.append("random")
    return found
