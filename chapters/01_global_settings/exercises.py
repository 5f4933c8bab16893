# %% [markdown]
# # Exercises · Global settings
# You write device names, settings that belong to a thread and settings that all threads share, fix a test helper that
# makes other tests fail, and measure how many digits each type needs. The last exercise, on printing, can wait.
# Exercises 2, 4 and 7 add to `mytorch` and use Python and NumPy alone; elsewhere `torch` is minitorch.

# %% setup=true
from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from course import check

# %% setup=true
import minitorch as torch

# %% [markdown] exercise="settings_predict_types" kind="predict" points=1
# ### Exercise 1 · Predict the dtypes
# ```python
# old = torch.tensor([1.5, 2.5])
# torch.set_default_dtype(torch.float64)
# a = old + 1.5
# b = torch.tensor([3]) / 2
# c = torch.tensor([3]) // 2
# d = torch.zeros(2) + old
# e = torch.zeros_like(old)
# torch.set_default_dtype(torch.float32)
# f = b + old
# ```
# Write down the dtype of each variable as a string, such as `"int64"`, without running the code.

# %% solution="settings_predict_types"
prediction = {
    ### BEGIN SOLUTION
    "a": "float32",
    "b": "float64",
    "c": "int64",
    "d": "float64",
    "e": "float32",
    "f": "float64",
    ### END SOLUTION
    ### BEGIN STUB
    # "a": ...,
    # "b": ...,
    # "c": ...,
    # "d": ...,
    # "e": ...,
    # "f": ...,
    ### END STUB
}

# %% check="settings_predict_types"
names = {name: str(prediction[name]).removeprefix("torch.") for name in "abcdef"}
check.show(names, secret=True)

# %% [markdown] hint="settings_predict_types"
# The default matters only if no operand is a floating-point tensor. Does the Python number in `a` have a dtype of its
# own?

# %% [markdown] hint="settings_predict_types"
# `b` divides integers, so it takes the default of that moment and keeps it. `//` of two integers gives an integer.

# %% [markdown] hint="settings_predict_types"
# `d` and `e` differ: `zeros(2)` takes the default and is then added to `old`, and the wider type wins, while
# `zeros_like` takes the dtype of its argument.

# %% mutant="settings_predict_types"
# The default converts what exists
# `old` keeps its type when the default changes, and a Python number adapts to it. So `a` and `e` are float32.
prediction = {"a": "float64", "b": "float64", "c": "int64", "d": "float64", "e": "float64", "f": "float64"}

# %% mutant="settings_predict_types"
# A Python float counts as float64
# A Python number has no dtype of its own. It adapts to the floating-point tensor beside it, so `a` is float32.
prediction = {"a": "float64", "b": "float64", "c": "int64", "d": "float64", "e": "float32", "f": "float64"}

# %% mutant="settings_predict_types"
# Division gives float32
# `b` divides integers. It takes the default of that moment, float64, and `f` follows from `b`.
prediction = {"a": "float32", "b": "float32", "c": "int64", "d": "float64", "e": "float32", "f": "float32"}

# %% mutant="settings_predict_types"
# Division of integers ignores the default
# `b` divides integers, which have no floating-point type to pass on. So it takes the default of that moment: float64.
prediction = {"a": "float32", "b": "float32", "c": "int64", "d": "float64", "e": "float32", "f": "float64"}

# %% mutant="settings_predict_types"
# Types go back with the default
# `b` was float64 when it was made and still is when the default is float32 again. So `f` is float64.
prediction = {"a": "float32", "b": "float64", "c": "int64", "d": "float64", "e": "float32", "f": "float32"}

# %% mutant="settings_predict_types"
# Floor division makes floats
# `/` always gives a floating-point result, but `//` doesn't. With two integers it gives an integer, so `c` is int64.
prediction = {"a": "float32", "b": "float64", "c": "float64", "d": "float64", "e": "float32", "f": "float64"}

# %% mutant="settings_predict_types"
# An old tensor decides for all
# `d` adds a float64 tensor and a float32 one, and the wider type, float64, wins.
prediction = {"a": "float32", "b": "float64", "c": "int64", "d": "float32", "e": "float32", "f": "float64"}

# %% mutant="settings_predict_types"
# zeros_like takes the default
# `zeros_like` takes device and dtype from its argument. `old` is float32, and so is `e`.
prediction = {"a": "float32", "b": "float64", "c": "int64", "d": "float64", "e": "float64", "f": "float64"}

# %% [markdown] exercise="settings_device" kind="core" points="2 2" part="mytorch.settings:parse_device | mytorch.settings:device.__enter__ mytorch.settings:device.__exit__"
# ### Exercise 2 · Device strings, and a block that restores the default
# `parse_device("cuda:1")` returns `("cuda", 1)`, and `parse_device("cpu")` returns `("cpu", None)`. The error messages are
# PyTorch's, but your list of known types is short: `cpu, cuda`. A device also works in a `with` statement. Inside the block it
# is the default device, and afterwards the default is what it was before. The same object may be entered again inside its own
# block.


# %% docstrings="settings_device"
def parse_device():
    """Split a device string into its type and index.

    "cuda:1" is ("cuda", 1), and "cpu" is ("cpu", None). The type consists of letters.
    The index, which follows a colon, is a number without leading zeros.

    Raises:
        RuntimeError: "Device string must not be empty"; for a string of another form "Invalid
            device string: 'cuda:01'"; for a type that isn't in `device.TYPES` "Expected one
            of cpu, cuda device type at start of device string: gpu".
    """


def __enter__():
    """Make this device the default (`settings.default_device`), and return it.

    The same device may be entered again inside its own block. The list `self.outer` is
    provided for what `__exit__` has to restore.
    """


# %% check="settings_device" raises="RuntimeError"
rng = check.rng()
values = {}
number = int(rng.integers(2, 99))
texts = ["cpu", "cuda", f"cuda:{number}", f"cpu:{number}", "cuda:0", f"cuda:0{number}"]
texts += ["cuda:", "cuda:x", "", "gpu", "CPU", f"cuda:-{number}", f"cuda:{number}:1"]
texts += [f" cuda:{number}", f"cuda {number}", f"cuda{number}", f"tpu:{number}"]
pieces = (["cpu", "cuda", "gpu", "Cuda"], [":", "", "::"], [f"{number + 1}", "0", "00", f"{number}.0"])
texts += ["".join(str(rng.choice(each)) for each in pieces) for _ in range(8)]
for text in texts:
    error = check.error(mytorch.settings.parse_device, text)
    values[f"parse_device({text!r})"] = error or list(mytorch.settings.parse_device(text))
error = check.error(mytorch.settings.parse_device, "cuda:1\n")  # whatever its words
values["refused with a line break at its end"] = type(error).__name__

seen = []
one, two = mytorch.device("cuda", number), mytorch.device("cuda:1")


def note():
    seen.append(str(mytorch.get_default_device()))


note()
with one as entered:
    note()
    with two:
        note()
        with one:
            note()
        note()
    note()
note()
mytorch.set_default_device("cuda:0")
for failing in (one, two):
    try:
        with failing:
            mytorch.set_default_device("cpu")
            raise KeyError("from inside")
    except KeyError:
        note()
with one:
    pass
note()
mytorch.set_default_device(None)
devices = [one, two, mytorch.device("cpu")]
places = [int(each) for each in rng.integers(0, 3, 8)]


def nested(places):
    """The default device at the start of each of these devices' blocks, one in the other, and after each."""
    if not places:
        return []
    with devices[places[0]]:
        inner = [str(mytorch.get_default_device()), *nested(places[1:])]
    return [*inner, str(mytorch.get_default_device())]


values |= {"the default device after each step": seen, "`as` names the device": entered is one}
values |= {"eight more blocks, each in the one before": [str(devices[place]) for place in places]}
values |= {"the default device in them and after each": nested(places)}
check.show(values, text="The type and index of each string, or its error; then the default devices.")

# %% [markdown] hint="settings_device"
# `re` is imported, and `re.fullmatch` compares the whole string with a pattern. Which characters may the type
# contain, and which may the index? Check the form first, and then whether the type is known.

# %% [markdown] hint="settings_device"
# An index without leading zeros is `0`, or a digit from 1 to 9 followed by any digits: `0|[1-9][0-9]*`. Put it with
# its colon into an optional group.

# %% [markdown] hint="settings_device"
# `__enter__`: append `settings.default_device` to `self.outer`, set the default to `self`, and return `self`.
# `__exit__`: set the default to `self.outer.pop()`. Return nothing from `__exit__`, because a true value would
# swallow errors.


# %% mutant="settings_device"
# Remembers one outer device
# A device that is entered twice overwrites what it had to remember. Keep a list: append on entering, pop on leaving.
def __enter__(self):
    self.outer = [settings.default_device]
    settings.default_device = self
    return self


# %% mutant="settings_device"
# Remembers itself
# `__exit__` has to put back the device that was the default before. Append `settings.default_device`, not `self`.
def __enter__(self):
    self.outer.append(self)
    settings.default_device = self
    return self


# %% mutant="settings_device"
# Goes back to the CPU
# The block restores what was there *before*, which may be another GPU.
def __exit__(self, *error):
    self.outer.pop()
    settings.default_device = device("cpu")


# %% mutant="settings_device"
# Swallows errors
# An `__exit__` that returns a true value tells Python that the error has been handled. Return nothing.
def __exit__(self, *error):
    settings.default_device = self.outer.pop()
    return True


# %% mutant="settings_device"
# Splits at the colon and converts
# `int("01")` is 1 and `int(" 7")` is 7, so Python is more lenient than PyTorch, which refuses both.
def parse_device(text):
    if not text:
        raise RuntimeError("Device string must not be empty")
    type, colon, index = text.partition(":")
    if type not in device.TYPES:
        raise RuntimeError(f"Expected one of {', '.join(device.TYPES)} device type at start of device string: {type}")
    if colon and not index.isdigit():
        raise RuntimeError(f"Invalid device string: '{text}'")
    return type, int(index) if colon else None


# %% mutant="settings_device"
# Lets a line break pass
# `$` also matches before a line break at the end of the string, whereas `re.fullmatch` doesn't.
def parse_device(text):
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.match(r"([A-Za-z]+)(?::(0|[1-9]\d*))?$", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in device.TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(device.TYPES)} device type at start of device string: {match[1]}"
        )
    return match[1], None if match[2] is None else int(match[2])


# %% mutant="settings_device"
# A type with digits in it
# The type consists of letters, so "cuda7" isn't a valid device string. `\w` also matches digits and the underscore.
def parse_device(text):
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"(\w+)(?::(0|[1-9]\d*))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in device.TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(device.TYPES)} device type at start of device string: {match[1]}"
        )
    return match[1], None if match[2] is None else int(match[2])


# %% mutant="settings_device"
# Index 0 where none was named
# "cuda" names no index, because it means whichever GPU is current. Its index is None.
def parse_device(text):
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([A-Za-z]+)(?::(0|[1-9]\d*))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in device.TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(device.TYPES)} device type at start of device string: {match[1]}"
        )
    return match[1], int(match[2] or 0)


# %% mutant="settings_device"
# Delegates to minitorch
# mytorch is built on NumPy alone, so minitorch can't be imported from it.
def parse_device(text):
    import minitorch

    found = minitorch.device(text)
    return found.type, found.index


# %% [markdown] exercise="settings_per_thread" kind="build" points=3
# ### Exercise 3 · A setting for each thread
# The default device, `no_grad` and autocast belong to the thread that sets them. Write a class for such settings.
# `ThreadSetting(initial)` makes one, and in every thread it has the value `initial` until that thread changes it.
#
# - `get()` returns the value that the setting has in the calling thread, and `set(value)` changes it there.
# - `block(value)` returns a context manager. Inside its block the setting has this value in the calling thread, and at
#   the end it has the value that it had before the block, even if `set` was called inside or an exception ends the
#   block. The exception propagates.
# - `carry(function)` returns a function with the same arguments, keyword arguments included, and the same result. In
#   whichever thread that function is called, `function` runs with the value that the setting had in *your* thread when
#   you called `carry`, and afterwards the thread has its own value again. PyTorch's engine carries the caller's modes
#   to its threads in the same way.
#
# Any object can be a value, `None` and `False` included. `threading` and `contextmanager` are imported.


# %% solution="settings_per_thread"
class ThreadSetting:
    ### BEGIN SOLUTION
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried

    ### END SOLUTION


# %% check="settings_per_thread" raises="KeyError"
rng = check.rng()
shown = {}


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        return type(error).__name__


def fail(setting):
    setting.set("set before the error")
    raise KeyError


with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:  # each is one thread, which stays the same
    threads = {
        "here": outcome,
        "first": lambda *call: first.submit(outcome, *call).result(),
        "second": lambda *call: second.submit(outcome, *call).result(),
    }
    one, two = ThreadSetting("initial"), ThreadSetting(0)
    names, blocks = list(threads), {name: [] for name in threads}
    for step in range(18):
        name, number = names[int(rng.integers(3))], int(rng.integers(100, 1000))
        action = ("set", "enter", "leave")[0 if step < 2 else int(rng.integers(3))]
        run = threads[name]
        if action == "leave" and blocks[name]:
            error = KeyError if rng.random() < 0.5 else None
            action = f"leave with {error.__name__}" if error else action
            given = (error, error("in the block"), None) if error else (None, None, None)
            swallowed = run(blocks[name].pop().__exit__, *given)
            action += ", which is swallowed" if swallowed is True else ""
        elif action == "set":
            run(one.set, number)
        else:
            action = "enter"
            blocks[name].append(one.block(number))
            run(blocks[name][-1].__enter__)
        shown[f"{step}. {name}: {action} {number}"] = [threads[each](one.get) for each in names]
    shown["another setting"] = [threads[each](two.get) for each in names]

    three = ThreadSetting(True)
    for value in (None, False, 0):
        three.set(value)
        shown[f"after set({value})"] = [repr(threads[each](three.get)) for each in names]
    with three.block(None):
        shown["in block(None)"] = three.get()
    lock = threading.Lock()
    three.set(lock)
    shown["a lock, as it is"] = three.get() is lock

    five, outer = ThreadSetting("initial"), int(rng.integers(100, 1000))
    with five.block(outer):
        with five.block(outer + 1):
            five.set("set in the inner block")
        shown["in the outer block, after the inner one"] = five.get()
    shown["after both"] = five.get()
    try:
        with five.block(outer):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        shown["after a block that Ctrl-C ended"] = five.get()

    six, seen = ThreadSetting("initial"), []
    for _ in range(8):  # a thread that has ended leaves its number, and here its name, to the next one
        worker = threading.Thread(
            target=lambda: (seen.append(outcome(six.get)), six.set("an older thread's")), name="worker"
        )
        worker.start()
        worker.join()
    shown["in eight new threads, one after the other"] = seen

    four, number = ThreadSetting("initial"), int(rng.integers(100, 1000))
    threads["second"](four.set, "its own")
    with four.block(number):
        carried = four.carry(lambda *more: [four.get(), *more])
        failing = four.carry(lambda: fail(four))
        four.set("set after carry")
        shown["a new thread in a block"] = ThreadPoolExecutor(1).submit(outcome, four.get).result()
    shown["carried"] = [[threads[each](carried, each, number), threads[each](four.get)] for each in names]
    shown["carried, with an error"] = [[threads[each](failing), threads[each](four.get)] for each in names]
    given = dict.fromkeys(("value", "function", "setting", "more"), number)
    shown["keyword arguments"] = outcome(lambda: four.carry(lambda **named: named)(**given))

    with four.block(number):
        nested = four.carry(lambda depth: nested(depth - 1) if depth else four.get())
    shown["carried, and calls itself"] = [outcome(nested, 2), four.get()]

    def replaced(initial):
        setting = ThreadSetting(initial)
        found = setting.get()
        setting.set("an older setting's")
        return found

    shown["eight new settings, one after the other"] = [replaced(number) for number in range(8)]
check.show(shown, text="The value in three threads (here, first, second) after each step; then some special cases.")

# %% [markdown] hint="settings_per_thread"
# Every thread has its own attributes of a `threading.local()`. What does a thread find that hasn't assigned one yet?
# `__init__` runs in a single thread.

# %% [markdown] hint="settings_per_thread"
# A block restores the value that it found on entry. If `block` is a generator under `@contextmanager`, a local variable
# can hold that value, so nested blocks need no list. Where does the restoring line belong, so that it also runs after
# an exception?

# %% [markdown] hint="settings_per_thread"
# `get` is `getattr(self.local, "value", self.initial)`. `carry` reads the value at once and returns a function that
# calls `function` inside `with self.block(value):`.


# %% mutant="settings_per_thread"
# One value for all threads
# An attribute of the object is shared by all threads. Store the value in a `threading.local()`.
class ThreadSetting:
    def __init__(self, initial):
        self.value = initial

    def get(self):
        return self.value

    def set(self, value):
        self.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# The initial value in one thread only
# `__init__` runs in one thread, and an attribute that it assigns to a `threading.local()` exists in that thread alone.
# All others raise an AttributeError, so give `get` a default.
class ThreadSetting:
    def __init__(self, initial):
        self.local = threading.local()
        self.local.value = initial

    def get(self):
        return self.local.value

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# All settings share their values
# A `threading.local()` in the body of the class belongs to all objects. Create one for each object, in `__init__`.
class ThreadSetting:
    local = threading.local()

    def __init__(self, initial):
        self.initial = initial

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# A false value counts as none
# `None`, `False` and 0 are values as well. Ask whether the thread has set one, not whether the value is true.
class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", None) or self.initial

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# Restores after success only
# An exception skips the line that restores the value. Put that line into a `finally`.
class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        yield
        self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# Goes back to the initial value
# A block restores what it found on entry, which may be the value of a block around it or one that `set` has left.
class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        self.set(value)
        try:
            yield
        finally:
            self.set(self.initial)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# Swallows the exception
# An `except` that only passes hides the exception from the code around the block. Use `finally` alone.
class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        except Exception:
            pass
        finally:
            self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            with self.block(value):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# Carries the value of the wrong moment
# The value is read when the carried function runs, in the worker's thread. Read it in `carry`, which runs in the
# caller's.
class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(outer)

    def carry(self, function):
        def carried(*arguments, **named):
            with self.block(self.get()):
                return function(*arguments, **named)

        return carried


# %% mutant="settings_per_thread"
# Leaves the worker with the caller's value
# The thread that ran the function keeps the carried value for whatever it does next. Use a block.
class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **named):
            self.set(value)
            return function(*arguments, **named)

        return carried


# %% [markdown] exercise="settings_options" kind="core" points="1 1" part="mytorch.settings:set_default_dtype mytorch.settings:set_printoptions"
# ### Exercise 4 · Functions that change settings
# Write the two functions that change the shared state. `set_default_dtype` refuses what can't be a default dtype, and then
# leaves the state unchanged. `set_printoptions` changes the options that you name and leaves the others as they are, with one
# exception, which the docstring describes.


# %% docstrings="settings_options"
def set_default_dtype():
    """Make `d` the dtype of new floating-point tensors (`settings.default_dtype`).

    Raises:
        TypeError: "only floating-point types are supported as the default type" for any other
            dtype; the same message after "invalid dtype object: " for an object that isn't a `dtype`.
    """


def set_printoptions():
    """Change how tensors are printed, in `settings.print`. Options that are None stay unchanged.

    There is one exception: every call sets `sci_mode`, and None lets the values decide.

    Args:
        precision: digits after the decimal point.
        threshold: the number of elements above which a tensor is summarized.
        edgeitems: how many elements a summary shows at each end of a dimension.
        linewidth: characters in a line.
        profile: a name in `PROFILES`, whose values are set first, so that the other arguments
            override them. An unknown name does nothing, as in PyTorch.
        sci_mode: True for scientific notation always, False for never.
    """


# %% check="settings_options" raises="TypeError"
rng = check.rng()
values = {}
allowed = (mytorch.float64, mytorch.bfloat16, mytorch.float16)


class OneThatFloats:
    is_floating_point = True


for given in (*allowed, mytorch.int64, "float64", mytorch.bool, np.float32, OneThatFloats, mytorch.float32):
    error = check.error(mytorch.set_default_dtype, given)
    name = getattr(given, "__name__", given)
    values[f"set_default_dtype({name})"] = [error, str(mytorch.get_default_dtype())]
mytorch.set_default_dtype(mytorch.float32)
precision, edgeitems, width = (int(each) for each in rng.integers(5, 60, size=3))
for call in (
    {"precision": precision},
    {"sci_mode": True, "edgeitems": edgeitems},
    {"linewidth": width},
    {"sci_mode": False},
    {"profile": "short", "linewidth": width},
    {"profile": "short"},
    {"profile": "FULL"},
    {"threshold": 0, "sci_mode": True},
    {"profile": "nobody's"},
    {"precision": 0},
    {"edgeitems": 0, "profile": "default"},
    {"profile": "default"},
):
    mytorch.set_printoptions(**call)
    options = vars(mytorch.settings.settings.print)
    values[f"after set_printoptions({call})"] = {name: str(options[name]) for name in options}
check.show(values, text="The default after each call, and its error; then the print options.")

# %% [markdown] hint="settings_options"
# Check before you set: first whether it is a `dtype` at all, and then whether it is a floating-point one. The state
# consists of `settings.default_dtype` and the fields of `settings.print`.

# %% [markdown] hint="settings_options"
# `threshold=0` and `precision=0` are values, so compare with None. The profile comes first, so that the other
# arguments override it.

# %% [markdown] hint="settings_options"
# `PROFILES.get(profile, {})` is a dict of names and values, and `setattr(settings.print, name, value)` sets one of
# them. At the end of every call, set `settings.print.sci_mode = sci_mode`.


# %% mutant="settings_options"
# Writes into the profile
# Your call changed `PROFILES`, so the next call with this profile gets your line width. Copy the profile's values first.
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    chosen = PROFILES.get(profile, {})
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update({name: value for name, value in given.items() if value is not None})
    for name, value in chosen.items():
        setattr(settings.print, name, value)
    settings.print.sci_mode = sci_mode


# %% mutant="settings_options"
# Leaves sci_mode alone
# That would be sensible, but PyTorch sets `sci_mode` in every call, and None means that the values decide.
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    if profile is not None:
        for name, value in PROFILES.get(profile, {}).items():
            setattr(settings.print, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in {**given, "sci_mode": sci_mode}.items():
        if value is not None:
            setattr(settings.print, name, value)


# %% mutant="settings_options"
# Ignores the case of a profile
# Names of profiles are case-sensitive, as in PyTorch: "FULL" is an unknown name and does nothing.
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    for name, value in PROFILES.get((profile or "").lower(), {}).items():
        setattr(settings.print, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(settings.print, name, value)
    settings.print.sci_mode = sci_mode


# %% mutant="settings_options"
# Starts from the default profile
# A call without a profile leaves the options that it doesn't name unchanged, while yours resets them to the default
# profile.
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    for name, value in PROFILES.get(profile, PROFILES["default"]).items():
        setattr(settings.print, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(settings.print, name, value)
    settings.print.sci_mode = sci_mode


# %% mutant="settings_options"
# Zero counts as nothing
# `threshold=0` summarises everything, and `precision=0` prints no digits. Compare with None.
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    if profile is not None:
        for name, value in PROFILES.get(profile, {}).items():
            setattr(settings.print, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value:
            setattr(settings.print, name, value)
    settings.print.sci_mode = sci_mode


# %% mutant="settings_options"
# The profile comes last
# The other arguments override the profile: with `profile="short", linewidth=40` lines have 40 characters.
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(settings.print, name, value)
    if profile is not None:
        for name, value in PROFILES.get(profile, {}).items():
            setattr(settings.print, name, value)
    settings.print.sci_mode = sci_mode


# %% mutant="settings_options"
# Sets first, checks later
# The refused dtype has become the default. Check it before you change the state.
def set_default_dtype(d):
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    settings.default_dtype = d
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")


# %% mutant="settings_options"
# Asks a text whether it is a floating-point type
# `"float64"` isn't a `dtype` and has no `is_floating_point`. Check `isinstance(d, dtype)` first, and raise the
# TypeError.
def set_default_dtype(d):
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    settings.default_dtype = d


# %% mutant="settings_options"
# Takes any dtype
# Python floats take the default dtype, and integers can't hold them, so PyTorch refuses an integer type.
def set_default_dtype(d):
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    settings.default_dtype = d


# %% mutant="settings_options"
# Delegates to minitorch
# mytorch is built on NumPy alone, so minitorch can't be imported from it.
def set_printoptions(**options):
    import minitorch

    minitorch.set_printoptions(**options)


# %% [markdown] exercise="settings_repair_helper" kind="repair" points=3
# ### Exercise 5 · A test suite that depends on its order
# A colleague runs numerical tests in double precision with this decorator. Each test passes by itself, but when all of them
# run, some fail, and which ones fail depends on the order:
#
# ```python
# double = in_double(mean_of)       # mean_of(values) = torch.tensor(values).mean()
# double([0.1, 0.2])                # float64, as it should be
# double([])                        # an error, as it should be: [] has no elements
# torch.tensor([0.1]).dtype         # torch.float64 ?
# ```
# Fix `in_double`, so that no test is affected by the tests that ran before it.


# %% solution="settings_repair_helper"
def in_double(function):
    """The function, with float64 as the default dtype while it runs."""

    ### BEGIN SOLUTION
    def inside(*arguments, **named):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return function(*arguments, **named)
        finally:
            torch.set_default_dtype(before)

    return inside
    ### END SOLUTION
    ### BEGIN STUB
    # def inside(*arguments, **named):
    #     torch.set_default_dtype(torch.float64)
    #     result = function(*arguments, **named)
    #     torch.set_default_dtype(torch.float32)
    #     return result
    #
    # return inside
    ### END STUB


# %% check="settings_repair_helper" raises="ValueError"
rng = check.rng()
numbers = [float(each) for each in rng.random(3)]


def mean_of(values):
    if not values:
        raise ValueError("no numbers")
    return torch.tensor(values).mean()


def after():
    return str(torch.get_default_dtype())


class Skipped(BaseException):
    """What ends a test that pytest skips isn't an Exception either."""


def skip():
    raise Skipped


def change():
    torch.set_default_dtype(torch.bfloat16)


def count_down(function, times):
    return function(function, times - 1) if times else after()


values = {}
try:
    for default in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        torch.set_default_dtype(default)
        double = in_double(mean_of)
        result = double(numbers)
        values[f"{default}: a call"] = [str(result.dtype), result.item(), after()]
        error = check.error(double, [])
        values[f"{default}: an error"] = [type(error).__name__, str(error), after()]
        nested = in_double(lambda inner=double: [inner(numbers).item(), after()])
        values[f"{default}: one inside the other"] = [nested(), after()]
        recursive = in_double(count_down)
        values[f"{default}: a function that calls itself"] = [recursive(recursive, 2), after()]
        torch.set_default_dtype(default)
        try:
            in_double(skip)()
        except Skipped:
            values[f"{default}: a test that is skipped"] = after()
        torch.set_default_dtype(default)
        in_double(change)()
        values[f"{default}: a test that changes the default"] = after()
    torch.set_default_dtype(torch.float32)
    values["with a keyword"] = str(check.error(lambda: in_double(mean_of)(values=numbers)))
    late = in_double(mean_of)
    torch.set_default_dtype(torch.float16)
    late(numbers)
    values["decorated under another default"] = after()
finally:
    torch.set_default_dtype(torch.float32)
check.show(values, text="Results and errors, each with the default dtype afterwards.")

# %% [markdown] hint="settings_repair_helper"
# Print `torch.get_default_dtype()` after each of the calls above, under several defaults. When does it change?

# %% [markdown] hint="settings_repair_helper"
# There are two bugs. One shows after an error, and the other shows if the default before the call isn't float32.

# %% [markdown] hint="settings_repair_helper"
# Read `torch.get_default_dtype()` at the start of each call, and restore that dtype in a `finally`.


# %% mutant="settings_repair_helper"
# Restores after success only
# An error skips the line that restores. Put it into a `finally`.
def in_double(function):
    def inside(*arguments):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        result = function(*arguments)
        torch.set_default_dtype(before)
        return result

    return inside


# %% mutant="settings_repair_helper"
# Always back to float32
# The default before the call may have been another dtype, so read it before you change it.
def in_double(function):
    def inside(*arguments):
        torch.set_default_dtype(torch.float64)
        try:
            return function(*arguments)
        finally:
            torch.set_default_dtype(torch.float32)

    return inside


# %% mutant="settings_repair_helper"
# Asks when it decorates
# The default is read once, when the function is decorated. It may have changed by the time it is called.
def in_double(function):
    before = torch.get_default_dtype()

    def inside(*arguments):
        torch.set_default_dtype(torch.float64)
        try:
            return function(*arguments)
        finally:
            torch.set_default_dtype(before)

    return inside


# %% mutant="settings_repair_helper"
# One place to remember
# A function that calls itself overwrites the value that the outer call had stored. Each call needs a variable of its
# own.
def in_double(function):
    before = None

    def inside(*arguments):
        nonlocal before
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return function(*arguments)
        finally:
            torch.set_default_dtype(before)

    return inside


# %% mutant="settings_repair_helper"
# Swallows the error
# A helper must not hide the failure of a test. Restore the default, and let the error propagate.
def in_double(function):
    def inside(*arguments):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return function(*arguments)
        except Exception:
            return None
        finally:
            torch.set_default_dtype(before)

    return inside


# %% [markdown] exercise="settings_measure_digits" kind="measure" points=2
# ### Exercise 6 · How many digits does a type need?
# Print a tensor in scientific notation, read the text back, and compare: you want the same values, bit for bit. Find by
# experiment the smallest `precision` that achieves this for *every* value of a type, for float16, bfloat16, float32 and
# float64. Try thousands of random numbers from several ranges, including 1 to 10 and 1000 to 1024.
#
# ```python
# torch.set_printoptions(precision=4, sci_mode=True, threshold=10**6)
# texts = re.findall(r"-?\d\.\d+e[+-]\d+", str(x))
# again = torch.tensor([float(text) for text in texts], dtype=torch.float64).to(x.dtype)
# ```


# %% solution="settings_measure_digits"
### BEGIN SOLUTION
precision = {"float16": 4, "bfloat16": 3, "float32": 8, "float64": 16}
### END SOLUTION
### BEGIN STUB
# precision = {"float16": ..., "bfloat16": ..., "float32": ..., "float64": ...}
### END STUB

# %% check="settings_measure_digits"
names = ("float16", "bfloat16", "float32", "float64")
check.show({name: int(precision[name]) for name in names}, secret=True)

# %% [markdown] hint="settings_measure_digits"
# Write a function of a dtype and a precision that counts how many of 10,000 random numbers come back changed. Call it
# in a loop, and change one of the two arguments at a time.

# %% [markdown] hint="settings_measure_digits"
# Only few numbers are the worst case. It occurs where a type's values are close together compared with decimal ones,
# which is above a power of ten and just below a power of two, such as 1000 to 1024.

# %% [markdown] hint="settings_measure_digits"
# Theory agrees with a good experiment: p bits need ⌈p·log₁₀2 + 1⌉ significant digits, and `precision` counts only
# those after the point, which are one fewer. The types have 11, 8, 24 and 53 bits.

# %% mutant="settings_measure_digits"
# Digits that are right
# That is how many decimal digits of a *text* the type preserves. You need more digits to distinguish all values of
# the type.
precision = {"float16": 2, "bfloat16": 1, "float32": 5, "float64": 14}

# %% mutant="settings_measure_digits"
# Significant digits
# `precision` counts the digits after the point. Scientific notation has one before it.
precision = {"float16": 5, "bfloat16": 4, "float32": 9, "float64": 17}

# %% mutant="settings_measure_digits"
# Too few numbers tried
# That worked for the numbers that you drew. There are others, where the type's values are closer together than the
# decimal ones.
precision = {"float16": 3, "bfloat16": 2, "float32": 7, "float64": 15}

# %% mutant="settings_measure_digits"
# Too few numbers of bfloat16
# With precision 2 some bfloat16 numbers come back changed. Try many between 1000 and 1024.
precision = {"float16": 4, "bfloat16": 2, "float32": 8, "float64": 16}

# %% mutant="settings_measure_digits"
# Too few numbers of float16
# With precision 3 some float16 numbers come back changed. Try many between 1000 and 1024.
precision = {"float16": 3, "bfloat16": 3, "float32": 8, "float64": 16}

# %% mutant="settings_measure_digits"
# Too few numbers of float32
# With precision 7 some float32 numbers come back changed. Try many between 1000 and 1024.
precision = {"float16": 4, "bfloat16": 3, "float32": 7, "float64": 16}

# %% mutant="settings_measure_digits"
# Too few numbers of float64
# With precision 15 some float64 numbers come back changed. Try many between 1000 and 1024.
precision = {"float16": 4, "bfloat16": 3, "float32": 8, "float64": 15}


# %% [markdown] exercise="settings_printing" kind="core" points="1 1 1" part="mytorch.printing:needs_scientific mytorch.printing:Formatter.write mytorch.printing:edges"
# ### Exercise 7 · If you have time: how a number is written
# Three small functions decide what a tensor looks like. `needs_scientific` implements the first rule of the lesson. `write`
# turns one number into text; `Formatter.__init__`, which the lesson shows at its end, has set the attributes that it needs
# (`options`, `is_floating_point`, `scientific`, `whole`). `edges` picks the elements that a summary shows: for a 4 × 2 array
# with `edgeitems=1` these are the whole first and the whole last row. `_brackets` does the rest.


# %% docstrings="settings_printing"
def needs_scientific():
    """True if PyTorch prints these numbers, which are finite and not 0, in scientific notation.

    It does if the largest magnitude is more than 1000 times the smallest, or above 1e8,
    or if the smallest is below 1e-4.
    """


def write():
    """Return one number as text, without padding.

    Unless `is_floating_point` is set, the text is Python's. A floating-point number has
    `options.precision` digits after the point, and is in scientific notation if
    `scientific` is set. If `scientific` isn't set and `whole` is, it has a point and no
    digits: `3.`. Infinities and nan are always `inf`, `-inf` and `nan`.
    """


def edges():
    """The elements that a summary shows: `options.edgeitems` at each end of every dimension.

    A dimension whose length is at most twice that number is shown whole. The result has
    as many dimensions as `numbers`.
    """


# %% check="settings_printing"
rng = check.rng()
values = {}
small, large = float(rng.uniform(0.2, 0.9)), float(rng.uniform(1.1, 9.0))
for finite in (
    [small, 999 * small],
    [small, -1001 * small],
    [small, 1000.5 * small],
    [2.0, 2000.0],
    [-large * 1e8],
    [-1.5e8],
    [large * 1e7, 9.9e7],
    [0.9e-4, 1.1e-4],
    [1.1e-4],
    [1e-4],
    [1e8],
):
    values[f"needs_scientific({finite})"] = mytorch.printing.needs_scientific(np.array(finite))
whole = np.round(rng.normal(size=5) * 40)
arrays = {
    "whole": np.concatenate([whole, [-0.0, np.nan, -np.inf]]),
    "whole and far apart": np.array([1.0, -np.ceil(large * 1e4)]),
    "fixed": rng.normal(size=(2, 3)),
    "some of them whole": np.array([2.0, small, -3.0]),
    "scientific": rng.normal(size=3) * np.array([1, 1e4, 1e-6]),
    "with a zero": np.array([0.0, large * 1e-6]),
    "integers": rng.integers(-500, 500, size=(3, 2)),
    "booleans": rng.random(4) > 0.5,
    "infinite": np.array([np.inf, large]),
    "a number": np.array(small),
    "summary": rng.integers(0, 100, size=(7, 8)),
    "summary of a row": np.where(np.arange(30) == 15, 1e9, rng.random(30)),
}
for precision, edgeitems in ((4, 3), (2, 2), (6, 1)):
    mytorch.set_printoptions(precision=precision, threshold=20, edgeitems=edgeitems)
    for name, array in arrays.items():
        values[f"{name}, {precision} digits"] = mytorch.printing.format_array(array)
mytorch.set_printoptions(profile="default")
options = mytorch.settings.PrintOptions(edgeitems=2)
for shape in ((8, 5), (2, 9, 3), (6, 2, 5)):
    array = np.arange(np.prod(shape)).reshape(shape)
    values[f"edges of an array of shape {shape}"] = mytorch.printing.edges(array, options)
nothing = mytorch.printing.edges(np.ones((8, 5)), mytorch.settings.PrintOptions(edgeitems=0))
values["shape of the edges with edgeitems=0"] = nothing.shape
check.show(values, text="When notation is scientific, and arrays as your functions print them.")

# %% [markdown] hint="settings_printing"
# `needs_scientific` compares magnitudes, so begin with `np.abs`. All three comparisons are strict.

# %% [markdown] hint="settings_printing"
# `write` has four cases, in this order: not floating-point, scientific, whole, everything else. Python's format
# specifications do the work: `f"{number:.3e}"`, `f"{number:.0f}"`, `f"{number:.3f}"`. Watch out for `inf` among whole
# numbers.

# %% [markdown] hint="settings_printing"
# `edges`: go through the axes. Where the length is above `2 * options.edgeitems`, take the first and last indices
# with `numbers.take(indices, axis)`. Leave a shorter axis unchanged.


# %% mutant="settings_printing"
# At least 1000 times
# Exactly 1000 times is still fixed notation, and so is a smallest magnitude of exactly 1e-4. All three are strict.
def needs_scientific(finite):
    largest, smallest = np.abs(finite).max(), np.abs(finite).min()
    return bool(largest / smallest >= 1000 or largest >= 1e8 or smallest <= 1e-4)


# %% mutant="settings_printing"
# At least 1e8
# A largest magnitude of exactly 1e8 is still written in fixed notation. All three comparisons are strict.
def needs_scientific(finite):
    largest, smallest = np.abs(finite).max(), np.abs(finite).min()
    return bool(largest / smallest > 1000 or largest >= 1e8 or smallest < 1e-4)


# %% mutant="settings_printing"
# Forgets the sign
# A large negative number has a large magnitude. Take absolute values first.
def needs_scientific(finite):
    return bool(finite.max() / finite.min() > 1000 or finite.max() > 1e8 or finite.min() < 1e-4)


# %% mutant="settings_printing"
# No point after whole numbers
# `3.` tells the reader that it is a floating-point number; `3` would be an integer.
def write(self, number):
    if not self.is_floating_point:
        return str(number)
    if self.scientific:
        return f"{number:.{self.options.precision}e}"
    if self.whole:
        return f"{number:.0f}"
    return f"{number:.{self.options.precision}f}"


# %% mutant="settings_printing"
# A point after infinity
# Infinities and nan get neither digits nor a point.
def write(self, number):
    if not self.is_floating_point:
        return str(number)
    if self.scientific:
        return f"{number:.{self.options.precision}e}"
    if self.whole:
        return f"{number:.0f}."
    return f"{number:.{self.options.precision}f}"


# %% mutant="settings_printing"
# Asks each number whether it is whole
# All elements of a tensor have one form, so beside 0.5 the 2 is written as `2.0000`. `self.whole` describes all of
# them.
def write(self, number):
    if not self.is_floating_point or not np.isfinite(number):
        return str(number)
    if self.scientific:
        return f"{number:.{self.options.precision}e}"
    return f"{number:.0f}." if float(number).is_integer() else f"{number:.{self.options.precision}f}"


# %% mutant="settings_printing"
# Asks for whole numbers first
# Whole numbers may be printed in scientific notation too, as in `[1., 1001.]`. Check `scientific` before `whole`.
def write(self, number):
    if not self.is_floating_point or not np.isfinite(number):
        return str(number)
    if self.whole:
        return f"{number:.0f}."
    if self.scientific:
        return f"{number:.{self.options.precision}e}"
    return f"{number:.{self.options.precision}f}"


# %% mutant="settings_printing"
# Loses the sign of zero
# `int(-0.0)` is 0. The format `.0f` keeps the sign, and PyTorch prints `-0.`.
def write(self, number):
    if not self.is_floating_point or not np.isfinite(number):
        return str(number)
    if self.scientific:
        return f"{number:.{self.options.precision}e}"
    return f"{int(number)}." if self.whole else f"{number:.{self.options.precision}f}"


# %% mutant="settings_printing"
# Four digits, whatever was asked for
# `precision` is the number of digits after the point, in scientific notation too.
def write(self, number):
    if not self.is_floating_point:
        return str(number)
    if self.scientific:
        return f"{number:.4e}"
    if self.whole:
        return f"{number:.0f}." if np.isfinite(number) else f"{number}"
    return f"{number:.4f}"


# %% mutant="settings_printing"
# Formats the hidden middle too
# A summary is formatted from the elements that it shows, so hidden elements must not widen the columns or change the
# notation.
def edges(numbers, options):
    return numbers


# %% mutant="settings_printing"
# Cuts the last two dimensions
# A three-dimensional array is also shortened along its first dimension, if that is long.
def edges(numbers, options):
    for axis in range(max(numbers.ndim - 2, 0), numbers.ndim):
        length = numbers.shape[axis]
        if length > 2 * options.edgeitems:
            kept = [*range(options.edgeitems), *range(length - options.edgeitems, length)]
            numbers = numbers.take(kept, axis)
    return numbers


# %% mutant="settings_printing"
# Cuts the first dimension only
# Every dimension that is longer than twice `edgeitems` has to be shortened.
def edges(numbers, options):
    if len(numbers) <= 2 * options.edgeitems:
        return numbers
    return np.concatenate([numbers[: options.edgeitems], numbers[-options.edgeitems :]])


# %% mutant="settings_printing"
# Delegates to minitorch
# mytorch is built on NumPy alone, so minitorch can't be imported from it.
def write(self, number):
    import minitorch

    return str(minitorch.tensor(number)).removeprefix("tensor(").removesuffix(")")
