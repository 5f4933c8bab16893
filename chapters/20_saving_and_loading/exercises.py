# %% [markdown]
# # Exercises · Saving and loading
# Three of the exercises add to your library, and once you have solved them, it reads and writes PyTorch's files.
# These three run inside files of `mytorch`, where all names that a task or a docstring mentions are defined; import
# anything else in the cell itself.

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
# Each line is saved into a file of its own. How many bytes of tensor data does each file contain, not counting
# headers and the pickle?
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
# Since a file contains storages, not tensors, the question is which of these tensors have a storage of their own.

# %% [markdown] hint="saving_predict_bytes"
# `clone()` and `half()` create new storages, which are as large as the new tensor. Slices and reshapes of `x` don't.

# %% [markdown] hint="saving_predict_bytes"
# A float32 takes 4 bytes, and a float16 takes 2. The whole storage of `x` has 4,000 bytes, and each storage is saved
# once.

# %% mutant="saving_predict_bytes"
# A slice saves only itself
# A slice is a view, and its whole storage is saved: all 1,000 elements.
prediction = [4000, 40, 8000, 6040, 1040]

# %% mutant="saving_predict_bytes"
# Saves each view separately
# Views of one storage refer to the same record, which is in the file only once.
prediction = [4000, 4000, 8000, 12000, 1040]

# %% mutant="saving_predict_bytes"
# A clone shares
# A clone has its own memory, so there are two storages.
prediction = [4000, 4000, 4000, 4000, 1040]

# %% mutant="saving_predict_bytes"
# Copies keep the whole storage
# The copies' storages are as large as the copies: 10 elements of 4 bytes, and 500 of 2.
prediction = [4000, 4000, 8000, 4000, 6000]

# %% mutant="saving_predict_bytes"
# Elements, not bytes
# A float32 takes 4 bytes, and a float16 takes 2.
prediction = [1000, 1000, 2000, 1000, 510]

# %% mutant="saving_predict_bytes"
# Half has four bytes
# `half()` makes float16, which takes 2 bytes for each element.
prediction = [4000, 4000, 8000, 4000, 2040]

# %% [markdown] exercise="saving_unpickle" kind="core" points=4 part="mytorch.pickling:unpickle"
# ### Exercise 2 · The pickle machine
# Write the stack machine that runs the pickle programs of `torch.save`. It knows 31 operations (opcodes), and three
# tables in the file do the reading for half of them. An opcode is one byte, and `pickle` has a constant for each:
# `pickle.MARK` is `b"("`.
#
# | operation | effect |
# |---|---|
# | those in `PUSHED` | push `PUSHED[code](file)`, which also reads the operation's argument |
# | `PROTO` | read one byte and ignore it |
# | `MARK` | remember the height of the stack |
# | `TUPLE1`, `TUPLE2`, `TUPLE3` | replace the last 1, 2 or 3 values by a tuple of them |
# | `TUPLE` | do the same with all values above the last mark, and remove the mark |
# | `APPEND`, `APPENDS` | take the last value, or those above the mark, and append them to the list below |
# | `SETITEM`, `SETITEMS` | do the same with key, value, key, value and the dict below |
# | those in `PUT`, `GET` | store the top value in the memo under `PUT[code](file)`, or push the value that `GET[code](file)` names |
# | `GLOBAL` | read two lines, a module and a name, and push `find("module.name")` |
# | `REDUCE` | take a function and a tuple of arguments, and push the result of the call |
# | `BUILD` | take a dict, and make its entries attributes of the value below, if that is an `OrderedDict` |
# | `BINPERSID` | take a reference, and push `load_storage(reference)` |
# | `STOP` | end; the top value is the result |


# %% docstrings="saving_unpickle"
def unpickle():
    """Runs a program of protocol 2 and returns the value that it builds.

    `find` is called for each name, such as "collections.OrderedDict", and `load_storage` for each reference. An object
    that was stored in the memo is the same object when it is used again.

    Raises:
        UnpicklingError: `failed("Unsupported operand 99")` makes it, with the number of the first opcode that isn't
            in the table; also for BUILD of anything other than an OrderedDict.
        EOFError: "the program ends before it stops".
    """


# %% check="saving_unpickle" raises="EOFError UnpicklingError"
generator = check.rng()
numbers = [int(each) for each in generator.integers(-(2**40), 2**40, 3)] + [int(generator.integers(0, 256)), 70000, -1]
words = ["".join(generator.choice(list("abcxyzäö"), 4)) for _ in range(3)]
letter = words[0]


def text(found):
    """The printed form without addresses, which differ each time."""
    return re.sub(r" at 0x\w+", "", repr(found))


def outcome(program, show=text):
    """The text of what a program builds, or the error, and the names that it looked up."""
    names = []

    def find(path):
        names.append(path)
        return {"collections.OrderedDict": OrderedDict, "some.function": lambda *args: list(args)}[path]

    try:
        return show(mytorch.pickling.unpickle(program, find, lambda reference: f"storage {reference}")), names
    except (pickle.UnpicklingError, EOFError) as error:
        return error
    except Exception as error:  # shown for this program only
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
    "numbers and strings": outcome(pickle.dumps([*numbers, 0.5, True, False, None, *words], 2)),
    "tuples": outcome(pickle.dumps([(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, letter)], 2)),
    "nested": outcome(pickle.dumps({letter: {1: [[2, [3]], {}]}, "b": [4], 5: {6: {7: (8, [])}}}, 2)),
    "one entry": outcome(pickle.dumps([{letter: numbers[1]}, [numbers[2]]], 2)),
    "OrderedDict": outcome(pickle.dumps(ordered, 2), lambda found: repr([type(found).__name__, *found.items()])),
    "attributes": outcome(pickle.dumps(described, 2), lambda found: repr(found._metadata)),
    "attributes of one in a list": outcome(
        pickle.dumps([shared, described], 2), lambda found: repr(found[1]._metadata)
    ),
    "marks within marks, nothing above them": outcome(
        b"\x80\x02((K\x01tK\x02](e}(uX\x01\x00\x00\x00a(tt."  # ((1,), 2, [], {}, "a", ())
    ),
    "the same list twice": outcome(
        pickle.dumps([shared, (shared, 1), shared], 2),
        lambda found: repr([found, found[0] is found[1][0], found[0] is found[2]]),
    ),
    "the same dicts twice": outcome(
        pickle.dumps([one_entry, two_entries, one_entry, two_entries], 2),
        lambda found: repr([found, found[0] is found[2], found[1] is found[3]]),
    ),
    "a list stored in the memo when empty, then filled": outcome(b"\x80\x02](]q\x07K\x05ah\x07h\x07e."),
    "300 strings": outcome(pickle.dumps([str(each) for each in range(300)] * 2, 2), lambda found: repr(found[298:302])),
    "references": outcome(with_references([range(1, 4), range(5)])),
    "a call": outcome(b"\x80\x02csome\nfunction\nK\x02X\x01\x00\x00\x00z\x86R."),
    "attributes of a list": outcome(b"\x80\x02]}X\x01\x00\x00\x00aK\x01sb."),
    "attributes of a dict": outcome(b"\x80\x02}}X\x01\x00\x00\x00aK\x01sb."),
    "attributes of a function": outcome(b"\x80\x02csome\nfunction\n}X\x01\x00\x00\x00aK\x01sb."),
    "protocol 4": outcome(pickle.dumps({letter: 1}, 4)),
    "an instance": outcome(b"\x80\x02(csome\nfunction\no."),
    "a set": outcome(b"\x80\x02\x8f."),
    "two values": outcome(b"\x80\x02K\x01K\x02."),
    "the same key twice": outcome(b"\x80\x02}(K\x01K\x02K\x01K\x03u."),
    "attributes in two steps": outcome(
        b"\x80\x02ccollections\nOrderedDict\n)R}X\x01\x00\x00\x00aK\x01sb}X\x01\x00\x00\x00bK\x02sb.",
        lambda found: repr(sorted(vars(found).items())),
    ),
    "truncated": outcome(pickle.dumps([1, [2], {}], 2)[:-1]),
}
check.show(values, text="What each program builds, and the names that it looks up.")

# %% [markdown] hint="saving_unpickle"
# Begin with `file = io.BytesIO(program)`, a stack, a list of marks, a dict for the memo, and the loop `while (code :=
# file.read(1)) != pickle.STOP:`. First write `PUSHED`, `PROTO` and the memo.

# %% [markdown] hint="saving_unpickle"
# Five operations take values off the top of the stack. One helper serves them all: `take(count)` removes and returns
# the last `count` values in their order, or, without a count, those above the last mark.

# %% [markdown] hint="saving_unpickle"
# For the dicts, `values = take(2 if code == pickle.SETITEM else None)` and then `stack[-1].update(zip(values[::2],
# values[1::2]))`. The mark stores the height of the stack: `start = marks.pop()`.

# %% [markdown] hint="saving_unpickle"
# `GLOBAL` reads `file.readline().decode().rstrip("\n")` twice. `BUILD` tests `isinstance(stack[-2], OrderedDict)`,
# and then computes `attributes = stack.pop()` and `vars(stack[-1]).update(attributes)`. At the end of the file `read`
# returns `b""`.


# %% mutant="saving_unpickle"
# Uses Python's own unpickler
# It knows all operations of pickle, including those that weights never need: a program may set attributes of any
# object. You write your own machine in order to reject unknown operations.
def unpickle(program, find, load_storage):
    class Machine(pickle.Unpickler):
        def find_class(self, module, name):
            return find(f"{module}.{name}")

        def persistent_load(self, reference):
            return load_storage(reference)

    return Machine(io.BytesIO(program)).load()


# %% mutant="saving_unpickle"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def unpickle(program, find, load_storage):
    from minitorch.pickling import WeightsUnpickler

    return WeightsUnpickler(io.BytesIO(program), load_storage, encoding="utf-8").load()


# %% mutant="saving_unpickle"
# Sets attributes of any object
# With BUILD a program could change anything that it can name, for instance a dtype that the whole library uses. Allow
# it for an OrderedDict only.
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
# Skips unknown operations
# An operation that is skipped leaves the stack as it was, so the values after it end up in the wrong positions.
# Reject the program.
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
# The value that is popped first was pushed last, so short tuples come out reversed.
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
# Stores copies in the memo
# The memo lets a program refer to the same object again. Later changes to that object don't show in a copy.
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
# Replaces the old list by a new one
# The memo still refers to the old list, which stays empty. Extend the existing list instead of using +.
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
# Ignores attributes of a plain dict
# A plain dict has no attributes, so a program that sets some is rejected: BUILD is for an OrderedDict only.
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
# Doesn't notice the end of the file
# A truncated program has no STOP, and reading at its end returns b"". Raise the error instead of returning whatever
# is on the stack.
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
# ### Exercise 3 · Each storage once
# `save` writes what `records_of` returns into a zip archive. `load` runs the program of such an archive on your stack
# machine, whose `load_storage` is made by `storage_reader`.
#
# `Pickler(file, key_of).dump(obj)` writes the program into a file. Each time it meets a tensor, it calls
# `key_of(storage)`, and the string that this returns becomes the key in the reference.


# %% docstrings="saving_container"
def records_of():
    """The archive's records by name: the program, and the bytes of each storage.

    In this order: "data.pkl" is the program, as bytes; "byteorder" is b"little"; "data/0", "data/1", ... are the
    storages, numbered as the program meets them; "version" is b"3\n". A storage that several tensors share has one key
    and one record with all its elements, as bytes or an array of them: `array.view(np.uint8)`.
    `library_of(storage.flat).to_numpy(storage.flat)` gives the elements as a NumPy array, from a GPU as well.
    """


def storage_reader():
    """Makes a function that returns the storage of a reference, ("storage", type, key, location, length).

    `read("data/0")` returns the bytes of a record. The storage's elements have the reference's dtype (`kind.numpy` for
    NumPy), are writable, and are on the device `where_to(location, map_location)`: `move(array, device)` moves an
    array there, and `Storage(array)` makes a storage of it. If a key occurs again, it gives the same storage, and its
    record isn't read again.
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
    "records without a tensor, of an empty one": [listing(size), listing([mytorch.empty(0, size), x[0, 0]])],
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
values["a reader of a GPU's storage"] = moved(("storage", mytorch.float32, "0", "cuda:1", 2))
values["to the other GPU"] = moved(("storage", mytorch.float32, "0", "cuda:1", 2), map_location="cuda:0")
mytorch.cuda.State.gpus = None
check.show(values, rtol=1e-6)

# %% [markdown] hint="saving_container"
# `key_of` has to remember which storages it has seen. A storage can be a dict's key, because it is hashable and equal
# only to itself.

# %% [markdown] hint="saving_container"
# `keys.setdefault(storage, str(len(keys)))` is the key of a storage, whether it is new or not. After `dump`, `keys`
# contains all storages in their order. The reader keeps a dict too, from key to storage.

# %% [markdown] hint="saving_container"
# The program comes from `program = io.BytesIO()`, `Pickler(program, key_of).dump(obj)` and `program.getvalue()`. The
# reader's array is `np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)`, and `storage_reader` returns the
# inner function that reads it.


# %% mutant="saving_container"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
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
# `key_of` is called once for each tensor. Tensors with the same storage have to get the same key, or they no longer
# share memory when they are loaded.
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
# Uses integers as keys
# A key is a string, in the reference as well: "0".
def records_of(obj: Any) -> dict[str, Any]:
    keys: dict[Storage, int] = {}
    program = io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, len(keys))).dump(obj)
    arrays = {key: library_of(storage.flat).to_numpy(storage.flat) for storage, key in keys.items()}
    data = {f"data/{key}": array.view(np.uint8) for key, array in arrays.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


# %% mutant="saving_container"
# Equal values, one storage
# Two storages may happen to hold the same values, but a write to one must not change the other. Test whether they are
# the same object.
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
# Handles the CPU only
# A GPU's array isn't in the host's memory, so copy it there with to_numpy before you take its bytes.
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
# The second view gets its own storage, so a write to the first doesn't show in it. Store what was created by its key.
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
# Memory that isn't writable
# `np.frombuffer` of bytes is read-only, but training writes to its weights. A bytearray is writable.
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
# Always loads to the saved device
# `map_location` is meant for a machine that lacks that GPU, so use where_to.
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
# Always reads float32
# The reference gives the elements' dtype in its second entry.
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
# Write the format that you took apart in the lesson. A file that contains tensors alone can be read without running
# any program.


# %% docstrings="saving_safetensors"
def save_file():
    """Saves tensors by name; `metadata`, if there is any, goes into the header as "__metadata__".

    A file consists of the header's length as 8 bytes, little-endian; the header; and the tensors' elements, one tensor
    after the other, each row by row (`on_host(x)` is a NumPy array). The header is JSON: {"w": {"dtype": "F32",
    "shape": [2, 3], "data_offsets": [0, 24]}}, with the beginning and the end of the elements, counted from the end of
    the header. `NAMES[x.dtype]` is the name of a dtype. Spaces at the end make the header's length a multiple of 8.
    Tensors that share a storage are rejected by `refuse_shared` before anything is written. `with replacing(filename)
    as file` gives a file to write to.
    """


def refuse_shared():
    """Raises if tensors share a storage: each would be saved separately, and they would no longer share it when loaded.

    Raises:
        RuntimeError: "Some tensors share memory, this will lead to duplicate memory on disk and potential
            differences when loading them again: [['a', 'c']]." with a list of the names for each such storage, in the
            order of `tensors`.
    """


def load_file():
    """The tensors of a file by name, on a device.

    `TYPES["F32"]` is the dtype of a name, and its `.numpy` the dtype in NumPy. `from_array(array)` makes a tensor of a
    writable array; before that, `move(array, device_type(device))` moves the array to a device. The elements of a
    tensor may be anywhere after the header.
    """


# %% check="saving_safetensors" raises="RuntimeError"
generator = check.rng()
size = int(generator.integers(3, 6))
w = mytorch.tensor(generator.normal(size=(2, size)).astype(np.float32).round(2))
tensors = {"w": w, "t": w.clone().t(), "mask": w > 0, "half": w.to(mytorch.bfloat16), "count": mytorch.tensor(size)}
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "weights.safetensors"


def parsed(data):
    """The header and the elements of a file, read without mytorch."""
    length = int.from_bytes(data[:8], "little")
    return length % 8, json.loads(data[8 : 8 + length]), np.frombuffer(data[8 + length :], np.uint8).tolist()


def refused(tensors):
    return check.error(mytorch.safetensors.refuse_shared, tensors)


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
other_name = Path(folder.name) / "same file"  # a file that is replaced still exists under its other name
other_name.hardlink_to(path)
mytorch.safetensors.save_file({"w": w[:1]}, path)
header = {
    "second": {"dtype": "I64", "shape": [2], "data_offsets": [8, 24]},
    "__metadata__": {"format": "pt"},
    "first": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]},
    "last": {"dtype": "U8", "shape": [3], "data_offsets": [24, 27]},
    "empty": {"dtype": "F32", "shape": [0, 2], "data_offsets": [27, 27]},
    "__w": {"dtype": "U8", "shape": [1], "data_offsets": [27, 28]},
}
text = json.dumps(header).encode()
first, second = np.array([[1, 2], [3, size]], np.float16), np.array([7, -size])
path.write_bytes(len(text).to_bytes(8, "little") + text + first.tobytes() + second.tobytes() + bytes([9, 8, size, 3]))
loaded = mytorch.safetensors.load_file(path)
for each in loaded.values():
    each[:1] = 5
mytorch.safetensors.save_file({"none": w[:0], "w": w.clone(), "single": w[0, 0].clone()}, path, {})
with_empty = parsed(path.read_bytes())
check.show(
    {
        "w": w,
        "saved": whole,
        "a slice, with metadata": part_of_w,
        "names that aren't ASCII": with_umlauts,
        "an empty tensor and a 0-d one": with_empty,
        "other files in the folder": sorted(each.name for each in path.parent.iterdir()),
        "from a GPU": gpu_error or from_gpu,
        "to a GPU": to_gpu,
        "views of one storage": error,
        "the file is unchanged": kept,
        "saved again: a new file, and the old one unchanged": [
            parsed(path.read_bytes()),
            parsed(other_name.read_bytes()) == part_of_w,
        ],
        "tied": refused({"wte": w, "bias": w.clone(), "head": w.t(), "other": mytorch.ones(1)}),
        "three and two": refused({"a": w, "b": tensors["t"], "c": w[1], "d": w, "e": tensors["t"]}),
        "two pairs, not in the order of the alphabet": refused(
            {"z": w, "b": tensors["t"], "y": w[0], "a": tensors["t"]}
        ),
        "equal, but not tied": refused({"a": w, "b": w.clone()}),
        "loaded, and written to": {name: [str(x.dtype), x] for name, x in loaded.items()},
    },
    rtol=1e-6,
)
folder.cleanup()

# %% [markdown] hint="saving_safetensors"
# `array.tobytes()` gives the elements of an array row by row, whatever its strides are. A tensor begins after as many
# bytes as all earlier tensors have together.

# %% [markdown] hint="saving_safetensors"
# To find sharing, build a dict from `x.storage` to a list of names. The lists with more than one name go into the
# message.

# %% [markdown] hint="saving_safetensors"
# For loading, `length = int.from_bytes(file.read(8), "little")` and `header = json.loads(file.read(length))`, from
# which you remove "__metadata__". For each tensor, call `file.seek(8 + length + start)` and
# `np.frombuffer(bytearray(file.read(end - start)), ...)`.


# %% mutant="saving_safetensors"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
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
# Lengths instead of ends
# The second number is where a tensor's bytes end, not how many there are.
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
# Counts from the start of the file
# The offsets are counted from the first byte after the header. Counted from the start of the file, they would change
# with the header.
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
# Writes the storage instead of the tensor
# A transposed tensor's elements have another order than its storage's. The format has no strides, so write the
# elements row by row.
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
# Compares neighbours only
# A model's tied weights are rarely next to each other, because the first and the last layer share them.
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
# A view is another tensor on the same memory, so compare the storages.
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
# A view may begin at a later address of the same storage. Compare the storages, not where the tensors begin.
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
# A writer that is killed would leave an incomplete file where a complete one was. `replacing` puts a finished file in
# its place.
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
# Reads one tensor after the other
# The header may list tensors in another order than that of their bytes, so seek each tensor's position.
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
# Returns flat tensors
# The bytes have no shape, but the header does.
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
# ### Exercise 5 · Prefixes in a state dict
# `DataParallel` puts the prefix `module.` in front of all names, and `torch.compile` puts `_orig_mod.` in front of
# them. With both, a name begins with `module._orig_mod.`, or with the two in the other order. This function is meant
# to strip such prefixes, so that the plain model can load the state. On a colleague's model it returns `b.weight`,
# where the model's name is `emb.weight`.
#
# Fix it so that it returns a new dict of the same tensors in the same order. A prefix counts only if *all* names have
# it, because a model may have a submodule that is called `module`.


# %% solution="saving_repair_prefixes"
def plain_names(state: dict) -> dict:
    """The state without the prefixes "module." and "_orig_mod." that all names have, in any order and number."""
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
    values[f"with {prefix!r}: another dict, the given one unchanged"] = found is not given and untouched
own = {"module.weight": 1, "head.weight": 2}
values["a submodule called module"] = list(plain_names(own))
values["compiled, with such a submodule"] = list(
    plain_names({f"_orig_mod.{name}": value for name, value in own.items()})
)
values["one name"] = list(plain_names({f"module._orig_mod.{layers[0]}": 1}))
values["a name that the prefix continues"] = list(plain_names({f"modules.{each}": 1 for each in layers}))
values["a prefix for each of two names"] = list(plain_names({"module.up": 1, "_orig_mod.down": 2}))
weight = torch.ones(2)
values["the tensors are the same"] = plain_names({"module.weight": weight})["weight"] is weight
values["nothing"] = list(plain_names({}))
check.show(values)

# %% [markdown] hint="saving_repair_prefixes"
# Print `"module.emb.weight".lstrip("module.")`. Does `lstrip` strip a prefix, or any of these letters?

# %% [markdown] hint="saving_repair_prefixes"
# `removeprefix` strips a prefix once, from the start, whereas `replace` would also find it in `submodule.`.

# %% [markdown] hint="saving_repair_prefixes"
# As long as there is a prefix for which `all(name.startswith(prefix) for name in state)` holds, strip it from all
# names and test again. In an empty dict every prefix passes this test, so stop there.


# %% mutant="saving_repair_prefixes"
# Replaces it anywhere
# `replace` also finds the prefix in the middle of a name: submodule.fc becomes subfc.
def plain_names(state):
    return {name.replace("module.", "").replace("_orig_mod.", ""): value for name, value in state.items()}


# %% mutant="saving_repair_prefixes"
# One of each, in one order
# Prefixes occur in both orders, and more than once, so test again until none is left.
def plain_names(state):
    for prefix in ("module.", "_orig_mod."):
        if state and all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return dict(state)


# %% mutant="saving_repair_prefixes"
# Tests twice
# There may be any number of prefixes, so test again as long as one was stripped.
def plain_names(state):
    for prefix in ("module.", "_orig_mod.") * 2:
        if state and all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return dict(state)


# %% mutant="saving_repair_prefixes"
# Strips each name separately
# A model with a submodule called `module` isn't wrapped, because its other names have no such prefix.
def plain_names(state):
    found = {}
    for name, value in state.items():
        while name.startswith(("module.", "_orig_mod.")):
            name = name.partition(".")[2]
        found[name] = value
    return found


# %% mutant="saving_repair_prefixes"
# Changes the given dict
# The caller's dict is empty afterwards, or has other names. Make a new dict.
def plain_names(state):
    while state and (
        all(name.startswith("module.") for name in state) or all(name.startswith("_orig_mod.") for name in state)
    ):
        for name in list(state):
            state[name.partition(".")[2]] = state.pop(name)
    return state


# %% [markdown] exercise="saving_power_failure" kind="build" points=2
# ### Exercise 6 · A checkpoint that survives a power failure
# When the power fails, a file keeps only the bytes that were *synced*, because the system writes to the disk when it
# has time. `Disk`, in the folded cell below, is such a disk, and its power fails after a given number of operations,
# where each byte counts as one.
#
# - `disk.create(name)` makes an empty file, or empties a file that has this name already.
# - `disk.append(name, data)` adds bytes at its end, one after the other.
# - `disk.sync(name)` makes the file's current content survive a failure.
# - `disk.rename(name, new_name)` takes a single step, and replaces a file that has the new name.
# - `disk.remove(name)` deletes the file.
#
# Write `save_checkpoint`. Whenever the power fails, the file `name` must contain the complete old checkpoint or the
# complete new one. If the save succeeds, it leaves no other file. Files that a failure left behind may stay, but they
# must not harm a later save. (A real disk may also lose the rename until the folder is synced as well; the old
# checkpoint is then still complete.)


# %% setup=true
class PowerFailure(BaseException):
    """The power is off, and nothing runs any more."""


class Disk:
    """Files by name, as programs see them and as a power failure leaves them. It comes after `lasts` operations."""

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
    """Replaces the content of the file `name` by `data`."""
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


def interrupted(point, before, data, name="model.pt"):
    """What remains after a failure here ("old", "new" or "lost"), its checksum, and whether a later save works."""
    disk, others = Disk(), ("other.pt", f"{name} of yesterday")
    for each in others:
        disk.files[each] = disk.synced[each] = newer
    for each in before:
        save_checkpoint(disk, name, each)
    disk.lasts, failed = point, False
    try:
        save_checkpoint(disk, name, data)
    except PowerFailure:
        disk.files, failed = dict(disk.synced), True
    disk.lasts = float("inf")
    found = disk.synced.get(name)
    kind = "new" if found == data else "old" if found == (before[-1] if before else None) else "lost"
    save_checkpoint(disk, name, newer)  # the run continues, with whatever the failure left behind
    tidy = failed or sorted(disk.synced) == sorted([name, *others])
    return kind, checksum(found), tidy and all(disk.synced.get(each) == newer for each in (name, *others))


values = {"checksums of the old and the new checkpoint": [checksum(old), checksum(new)]}
for title, before, data, *name in (
    ("after a first save", [old], new),
    ("at the first save", [], new),
    ("after two saves", [newer, old], new),
    ("with another name", [old], new, "step 7"),
    ("of an empty file", [old], b""),
):
    outcomes = [interrupted(point, before, data, *name) for point in range(60)]
    kinds = [kind for kind, _, _ in outcomes]
    values[title] = {
        "lost": kinds.count("lost"),
        "checksums of what remains": sorted({left for _, left, _ in outcomes}),
        "new if the power lasts": kinds[-1] == "new",
        "old if it fails at once": kinds[0] == "old",
        "later saves that went wrong": sum(not fine for _, _, fine in outcomes),
    }
check.show(values, text="The power fails after 0 to 59 operations: in how many cases is the checkpoint lost?")

# %% [markdown] hint="saving_power_failure"
# While `name` is open for writing, it contains neither the old checkpoint nor the new one, so write to another file.

# %% [markdown] hint="saving_power_failure"
# A rename replaces the old file in one step. What does the new file contain after a power failure if it was never
# synced?

# %% [markdown] hint="saving_power_failure"
# Write all bytes to `name + ".new"`, and rename this file only when its content would survive a failure. `create`
# also empties a file that an earlier failure left behind.


# %% mutant="saving_power_failure"
# Writes in place
# From the first operation until the sync, the old checkpoint is gone and the new one isn't complete.
def save_checkpoint(disk, name, data):
    disk.create(name)
    disk.append(name, data)
    disk.sync(name)


# %% mutant="saving_power_failure"
# Never syncs
# The name is moved at once, while the bytes reach the disk later, so after a failure the file is empty.
def save_checkpoint(disk, name, data):
    disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.rename(f"{name}.new", name)


# %% mutant="saving_power_failure"
# Syncs after the rename
# Between the rename and the sync, the file with this name is empty on the disk. Sync first.
def save_checkpoint(disk, name, data):
    disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.rename(f"{name}.new", name)
    disk.sync(name)


# %% mutant="saving_power_failure"
# Removes the old file first
# Between the removal and the rename there is no checkpoint. A rename replaces the old file, so nothing has to be
# removed.
def save_checkpoint(disk, name, data):
    disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.sync(f"{name}.new")
    if name in disk.files:
        disk.remove(name)
    disk.rename(f"{name}.new", name)


# %% mutant="saving_power_failure"
# Appends to what a failure left
# A failure leaves part of the other file. Start it again with `create`.
def save_checkpoint(disk, name, data):
    if f"{name}.new" not in disk.files:
        disk.create(f"{name}.new")
    disk.append(f"{name}.new", data)
    disk.sync(f"{name}.new")
    disk.rename(f"{name}.new", name)


# %% mutant="saving_power_failure"
# A copy as a backup
# The backup is complete, but a program that loads `name` finds an incomplete file. Only the last step may touch that
# name.
def save_checkpoint(disk, name, data):
    for each in (f"{name}.new", name):
        disk.create(each)
        disk.append(each, data)
        disk.sync(each)
    disk.remove(f"{name}.new")


# %% [markdown] exercise="saving_measure_resume" kind="measure" points=2
# ### Exercise 7 · Which state does this run need?
# `resume(run, without, steps)`, in the folded cell below, trains five steps, saves, rebuilds everything, loads all
# parts except `without` (None means all of them), trains `steps` more steps, and returns the weights. `run` says what
# is trained: with which momentum, dropout and schedule.
#
# Not every run needs all of `PARTS`. Find the parts that a run needs, which are those without which the weights come
# out different. An exact resume reproduces every bit, so compare with `!=`. A difference that doesn't show within
# twelve steps doesn't count.

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
# Change one factor at a time: compare a run that loads all parts with one that loads all but one.

# %% [markdown] hint="saving_measure_resume"
# How many steps have to pass before a missing schedule shows? You may need all twelve that the task allows.

# %% [markdown] hint="saving_measure_resume"
# Compute `whole = resume(run, None, 12)` once. A part is needed if the run that is resumed without it ends with other
# weights.


# %% mutant="saving_measure_resume"
# One step
# A missing schedule doesn't show in the first step, because the saved optimizer contains the learning rate of that
# moment.
def needed(run):
    whole = resume(run, None, 1)
    return [part for part in PARTS if resume(run, part, 1) != whole]


# %% mutant="saving_measure_resume"
# Six steps
# A slow schedule changes the rate later than that. Continue for as long as the task allows.
def needed(run):
    whole = resume(run, None, 6)
    return [part for part in PARTS if resume(run, part, 6) != whole]


# %% mutant="saving_measure_resume"
# Longer than the task says
# A difference counts if it shows within twelve steps. After twenty, slower schedules show as well.
def needed(run):
    whole = resume(run, None, 20)
    return [part for part in PARTS if resume(run, part, 20) != whole]


# %% mutant="saving_measure_resume"
# By rule, not by experiment
# A list of what one should save is correct for a checkpoint, but the question was what this run needs.
def needed(run):
    return list(PARTS)


# %% mutant="saving_measure_resume"
# Infers the parts from dropout and momentum
# With a schedule, the saved optimizer also contains the current learning rate, and without it the run continues with
# the initial one.
def needed(run):
    found = ["model"]
    if run["momentum"]:
        found.append("optimizer")
    if run["every"] < 17:
        found.append("schedule")
    if run["dropout"]:
        found.append("random")
    return found
