# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 01` grades them.


# %% answer="settings_predict_types" right="as first written, from the task alone"
prediction = {"a":"float32","b":"float64","c":"int64","d":"float64","e":"float32","f":"float64"}


# %% answer="settings_predict_types" right="types in place of names"
prediction = dict(a=torch.float32,b=torch.float64,c=torch.int64,d=torch.float64,e=torch.float32,f=torch.float64)


# %% answer="settings_predict_types" wrong="f follows the default"
prediction = {"a":"float32","b":"float64","c":"int64","d":"float64","e":"float32","f":"float32"}


# %% answer="settings_printing" right="products, NumPy's bool"
def needs_scientific(finite):
    a = np.abs(finite)
    return (a.max() > 1000 * a.min() or a.max() > 1e8 or a.min() < 1e-4)

def write(self, number):
    if not self.is_floating_point:
        return str(number)
    if not np.isfinite(number):
        return str(number)
    p = self.options.precision
    if self.scientific:
        return f"{number:.{p}e}"
    return f"{number:.0f}." if self.whole else f"{number:.{p}f}"

def edges(numbers, options):
    e = options.edgeitems
    for d in range(numbers.ndim):
        if numbers.shape[d] > 2 * e:
            keep = [*range(e), *range(numbers.shape[d] - e, numbers.shape[d])]
            numbers = np.take(numbers, keep, axis=d)
    return numbers


# %% answer="settings_printing" wrong=">= 1000 for > 1000"
def needs_scientific(finite):
    a = np.abs(finite)
    return bool(a.max() / a.min() >= 1000 or a.max() > 1e8 or a.min() < 1e-4)

def write(self, number):
    if not self.is_floating_point:
        return str(number)
    if not np.isfinite(number):
        return str(number)
    p = self.options.precision
    if self.scientific:
        return f"{number:.{p}e}"
    return f"{number:.0f}." if self.whole else f"{number:.{p}f}"

def edges(numbers, options):
    e = options.edgeitems
    for d in range(numbers.ndim):
        if numbers.shape[d] > 2 * e:
            keep = [*range(e), *range(numbers.shape[d] - e, numbers.shape[d])]
            numbers = np.take(numbers, keep, axis=d)
    return numbers


# %% answer="settings_printing" wrong="edges of dimensions longer than edgeitems"
def needs_scientific(finite):
    a = np.abs(finite)
    return bool(a.max() / a.min() > 1000 or a.max() > 1e8 or a.min() < 1e-4)

def write(self, number):
    if not self.is_floating_point:
        return str(number)
    if not np.isfinite(number):
        return str(number)
    p = self.options.precision
    if self.scientific:
        return f"{number:.{p}e}"
    return f"{number:.0f}." if self.whole else f"{number:.{p}f}"

def edges(numbers, options):
    e = options.edgeitems
    for d in range(numbers.ndim):
        if numbers.shape[d] > e:
            keep = [*range(e), *range(numbers.shape[d] - e, numbers.shape[d])]
            numbers = np.take(numbers, keep, axis=d)
    return numbers


# %% answer="settings_printing" wrong="takes everything where edgeitems is 0"
def edges(numbers, options):
    n = options.edgeitems
    for axis, length in enumerate(numbers.shape):
        if length > 2 * n:
            first, last = [slice(None)] * numbers.ndim, [slice(None)] * numbers.ndim
            first[axis], last[axis] = slice(None, n), slice(-n, None)
            numbers = np.concatenate([numbers[tuple(first)], numbers[tuple(last)]], axis)
    return numbers


# %% answer="settings_options" wrong="profile in small letters"
def set_default_dtype(d):
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    settings.default_dtype = d

def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    o = settings.print
    if profile is not None:
        for k, v in PROFILES.get(profile.lower(), {}).items():
            setattr(o, k, v)
    for k, v in dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth).items():
        if v is not None:
            setattr(o, k, v)
    o.sci_mode = sci_mode


# %% answer="settings_options" wrong="sci_mode kept for None"
def set_default_dtype(d):
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    settings.default_dtype = d

def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    o = settings.print
    if profile is not None:
        for k, v in PROFILES.get(profile, {}).items():
            setattr(o, k, v)
    for k, v in dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth).items():
        if v is not None:
            setattr(o, k, v)
    if sci_mode is not None: o.sci_mode = sci_mode


# %% answer="settings_options" wrong="KeyError for an unknown profile"
def set_default_dtype(d):
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    settings.default_dtype = d

def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    o = settings.print
    if profile is not None:
        for k, v in PROFILES[profile.lower()].items():
            setattr(o, k, v)
    for k, v in dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth).items():
        if v is not None:
            setattr(o, k, v)
    o.sci_mode = sci_mode


# %% answer="settings_repair_helper" wrong="default read when decorating"
def in_double(function):
    old = torch.get_default_dtype()
    def inside(*a):
        torch.set_default_dtype(torch.float64)
        try:
            return function(*a)
        finally:
            torch.set_default_dtype(old)
    return inside


# %% answer="settings_repair_helper" wrong="restores after an Exception only"
def in_double(function):
    def inside(*arguments, **named):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            result = function(*arguments, **named)
            torch.set_default_dtype(before)
            return result
        except Exception:
            torch.set_default_dtype(before)
            raise
        finally:
            pass
    return inside


# %% answer="settings_repair_helper" wrong="leaves a default that the test itself set"
def in_double(function):
    def inside(*arguments, **named):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        if before == torch.float32:
            before = torch.float32
        try:
            return function(*arguments, **named)
        finally:
            torch.set_default_dtype(before if torch.get_default_dtype() == torch.float64 else torch.get_default_dtype())
    return inside


# %% answer="settings_repair_helper" wrong="drops keyword arguments"
def in_double(function):
    def inside(*arguments, ):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return function(*arguments)
        finally:
            torch.set_default_dtype(before)
    return inside


# %% answer="settings_measure_digits" wrong="3, 2, 7, 15"
precision = {"float16": 3, "bfloat16": 2, "float32": 7, "float64": 15}


# %% answer="settings_per_thread" right="a stack for each thread, and a class for the block"
class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.threads = threading.local()

    def stack(self):
        if not hasattr(self.threads, "stack"):
            self.threads.stack = [self.initial]
        return self.threads.stack

    def get(self):
        return self.stack()[-1]

    def set(self, value):
        self.stack()[-1] = value

    def block(self, value):
        setting = self

        class Block:
            def __enter__(self):
                setting.stack().append(value)

            def __exit__(self, *error):
                setting.stack().pop()

        return Block()

    def carry(self, function):
        value = self.get()

        def carried(*arguments, **keywords):
            with self.block(value):
                return function(*arguments, **keywords)

        return carried


# %% answer="settings_per_thread" wrong="a context variable, but the carried function takes no keyword arguments"
from contextvars import ContextVar

class ThreadSetting:
    def __init__(self, initial):
        self.variable = ContextVar("setting", default=initial)
        self.get, self.set = self.variable.get, self.variable.set

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

        def carried(*arguments):
            with self.block(value):
                return function(*arguments)

        return carried


# %% answer="settings_per_thread" wrong="set pushes, so the end of the block takes off only what set has left"
class ThreadSetting:
    def __init__(self, initial):
        self.initial, self.local = initial, threading.local()

    def stack(self):
        return self.local.__dict__.setdefault("stack", [self.initial])

    def get(self):
        return self.stack()[-1]

    def set(self, value):
        self.stack().append(value)

    @contextmanager
    def block(self, value):
        self.set(value)
        try:
            yield
        finally:
            self.stack().pop()

    def carry(self, function):
        value = self.get()

        def carried(*arguments):
            with self.block(value):
                return function(*arguments)

        return carried


# %% answer="settings_per_thread" wrong="one outer value for each thread, which a nested block overwrites"
class ThreadSetting:
    def __init__(self, initial):
        self.initial, self.local = initial, threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = value

    @contextmanager
    def block(self, value):
        self.local.outer = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(self.local.outer)

    def carry(self, function):
        value = self.get()

        def carried(*arguments):
            with self.block(value):
                return function(*arguments)

        return carried


# %% answer="settings_per_thread" wrong="carry works once"
class ThreadSetting:
    def __init__(self, initial):
        self.initial, self.local = initial, threading.local()

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
        block = self.block(self.get())

        def carried(*arguments):
            with block:
                return function(*arguments)

        return carried


# %% answer="settings_per_thread" wrong="by the number of the thread, which a later thread may get again"
class ThreadSetting:
    def __init__(self, initial):
        self.initial, self.local = initial, {}
    def get(self):
        return self.local.get(threading.get_ident(), self.initial)
    def set(self, value):
        self.local[threading.get_ident()] = value
    @contextmanager
    def block(self, value):
        old = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(old)
    def carry(self, function):
        value = self.get()
        def inside(*args, **kwargs):
            with self.block(value):
                return function(*args, **kwargs)
        return inside


# %% answer="settings_per_thread" wrong="by the name of the thread"
class ThreadSetting:
    def __init__(self, initial):
        self.initial, self.local = initial, {}
    def get(self):
        return self.local.get(threading.current_thread().name, self.initial)
    def set(self, value):
        self.local[threading.current_thread().name] = value
    @contextmanager
    def block(self, value):
        old = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(old)
    def carry(self, function):
        value = self.get()
        def inside(*args, **kwargs):
            with self.block(value):
                return function(*args, **kwargs)
        return inside


# %% answer="settings_per_thread" wrong="errors that aren't Exceptions leave the value"
class ThreadSetting:
    def __init__(self, initial):
        self.initial, self.local = initial, threading.local()
    def get(self):
        return getattr(self.local, "value", self.initial)
    def set(self, value):
        self.local.value = value
    @contextmanager
    def block(self, value):
        old = self.get()
        self.set(value)
        try:
            yield
        except Exception:
            self.set(old)
            raise
        self.set(old)
    def carry(self, function):
        value = self.get()
        def inside(*args, **kwargs):
            with self.block(value):
                return function(*args, **kwargs)
        return inside


# %% answer="settings_per_thread" wrong="a value that equals the old one isn't stored"
class ThreadSetting:
    def __init__(self, initial):
        self.initial, self.local = initial, threading.local()
    def get(self):
        return getattr(self.local, "value", self.initial)
    def set(self, value):
        if value != self.get():
            self.local.value = value
    @contextmanager
    def block(self, value):
        old = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(old)
    def carry(self, function):
        value = self.get()
        def inside(*args, **kwargs):
            with self.block(value):
                return function(*args, **kwargs)
        return inside


# %% answer="settings_options" wrong="no items at the edges counts as not given"
def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    options = settings.print
    for name, value in PROFILES.get(profile, {}).items():
        setattr(options, name, value)
    if precision is not None:
        options.precision = precision
    if threshold is not None:
        options.threshold = threshold
    if edgeitems:
        options.edgeitems = edgeitems
    if linewidth is not None:
        options.linewidth = linewidth
    options.sci_mode = sci_mode


# %% answer="settings_options" wrong="whatever has the attribute is a dtype, such as a tensor or a class of one's own"
def set_default_dtype(d):
    message = "only floating-point types are supported as the default type"
    if not hasattr(d, "is_floating_point"):
        raise TypeError("invalid dtype object: " + message)
    if not d.is_floating_point:
        raise TypeError(message)
    settings.default_dtype = d


# %% answer="settings_per_thread" wrong="keyword arguments called `value` or `function` collide with the carrier's own ('the same arguments, keyword arguments included')"
import functools


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
        before = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(before)

    def _run(self, value, function, *args, **kwargs):
        with self.block(value):
            return function(*args, **kwargs)

    def carry(self, function):
        return functools.partial(self._run, self.get(), function)


# %% answer="settings_per_thread" wrong="values stand under the id of the setting, which a later setting can inherit ('it has the value `initial` until that thread changes it')"
_values = threading.local()


class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial

    def get(self):
        return _values.__dict__.get(id(self), self.initial)

    def set(self, value):
        _values.__dict__[id(self)] = value

    @contextmanager
    def block(self, value):
        before = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(before)

    def carry(self, function):
        value = self.get()

        def carried(*args, **kwargs):
            with self.block(value):
                return function(*args, **kwargs)

        return carried


# %% answer="settings_per_thread" wrong="the carried function keeps the caller's value in one place for all calls ('in whichever thread that function is called, ... afterwards the thread has its own value again')"
class Carried:
    def __init__(self, setting, function):
        self.setting, self.function, self.value = setting, function, setting.get()

    def __call__(self, *args, **kwargs):
        self.before = self.setting.get()
        self.setting.set(self.value)
        try:
            return self.function(*args, **kwargs)
        finally:
            self.setting.set(self.before)


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
        before = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(before)

    def carry(self, function):
        return Carried(self, function)


# %% answer="settings_per_thread" wrong="values are copied so that threads share nothing, and so `get` returns another object, or none for a lock ('any object can be a value')"
import copy


class ThreadSetting:
    def __init__(self, initial):
        self.initial = initial
        self.local = threading.local()

    def get(self):
        return getattr(self.local, "value", self.initial)

    def set(self, value):
        self.local.value = copy.deepcopy(value)

    @contextmanager
    def block(self, value):
        before = self.get()
        self.set(value)
        try:
            yield
        finally:
            self.set(before)

    def carry(self, function):
        value = self.get()

        def carried(*args, **kwargs):
            with self.block(value):
                return function(*args, **kwargs)

        return carried


# %% answer="settings_per_thread" right="a subclass of threading.local, whose constructor runs once in each thread"
class ThreadSetting(threading.local):
    def __init__(self, initial):
        self.value = initial

    def get(self):
        return self.value

    def set(self, value):
        self.value = value

    @contextmanager
    def block(self, value):
        before, self.value = self.value, value
        try:
            yield self
        finally:
            self.value = before

    def carry(self, function):
        def carried(*args, **kwargs):
            return self.block(value)(function)(*args, **kwargs)

        value = self.value
        return carried


# %% answer="settings_per_thread" right="a context variable, reset by its tokens"
from contextvars import ContextVar


class ThreadSetting:
    def __init__(self, initial):
        self.variable = ContextVar("setting", default=initial)
        self.get, self.set = self.variable.get, self.variable.set

    @contextmanager
    def block(self, value):
        token = self.variable.set(value)
        try:
            yield
        finally:
            self.variable.reset(token)

    def carry(self, function):
        value = self.get()

        def carried(*args, **kwargs):
            with self.block(value):
                return function(*args, **kwargs)

        return carried
