# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 05` grades them.


# %% answer="devices_predict_places" wrong="context for ones_like"
prediction = ["cuda:1","cuda:2","cpu","cuda:0","cuda:1"]


# %% answer="devices_one_device" right="as first written, from the task alone"
def one_device(op, args, below):
    tensors = list(tensors_in(args))
    if op.name in ACROSS or len({x.device for x in tensors}) < 2:
        return below(op, args)
    fixed = [x for x in tensors if not may_be_brought(op, args, x)]
    where = common_device(fixed)
    return below(op, tuple(bring(a, where) for a in args))

def may_be_brought(op, args, x):
    if x.device != CPU:
        return False
    if on_elements(op):
        return x.ndim == 0
    if op.name in ("index", "index_put"):
        if any(x is i for i in args[1]):
            return True
        return op.name == "index_put" and x is args[2] and x.ndim == 0
    return False

def common_device(tensors):
    devices = [x.device for x in tensors]
    first = next((d for d in devices if d != CPU), CPU)
    for d in devices:
        if d != first:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {d}!")
    return first


# %% answer="devices_one_device" wrong="one element for no dimension"
def one_device(op, args, below):
    tensors = list(tensors_in(args))
    if op.name in ACROSS or len({x.device for x in tensors}) < 2:
        return below(op, args)
    fixed = [x for x in tensors if not may_be_brought(op, args, x)]
    where = common_device(fixed)
    return below(op, tuple(bring(a, where) for a in args))


def may_be_brought(op, args, x):
    if x.device != CPU:
        return False
    if on_elements(op):
        return x.numel() == 1
    if op.name in ("index", "index_put"):
        if any(x is i for i in args[1]):
            return True
        return op.name == "index_put" and x is args[2] and x.ndim == 0
    return False


def common_device(tensors):
    devices = [x.device for x in tensors]
    first = next((d for d in devices if d != CPU), CPU)
    for d in devices:
        if d != first:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {d}!")
    return first


# %% answer="devices_one_device" wrong="first device, CPU or not"
def one_device(op, args, below):
    tensors = list(tensors_in(args))
    if op.name in ACROSS or len({x.device for x in tensors}) < 2:
        return below(op, args)
    fixed = [x for x in tensors if not may_be_brought(op, args, x)]
    where = common_device(fixed)
    return below(op, tuple(bring(a, where) for a in args))


def may_be_brought(op, args, x):
    if x.device != CPU:
        return False
    if on_elements(op):
        return x.ndim == 0
    if op.name in ("index", "index_put"):
        if any(x is i for i in args[1]):
            return True
        return op.name == "index_put" and x is args[2] and x.ndim == 0
    return False


def common_device(tensors):
    devices = [x.device for x in tensors]
    first = devices[0]
    for d in devices:
        if d != first:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {d}!")
    return first


# %% answer="devices_one_device" wrong="fails if all tensors are on the CPU"
def common_device(tensors):
    first = next(each.device for each in tensors if each.device != CPU)
    for each in tensors:
        if each.device != first:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {each.device}!")
    return first


# %% answer="devices_to" right="as first written, from the task alone"
def to(x, target=None, dtype=None, non_blocking=False, copy=False, *, device=None):
    where, kind = destination(x, device if target is None else target, dtype)
    result = x
    if where != x.device:
        result = to_device(result, where)
    if kind != x.dtype:
        result = _to_copy(result, kind)
    return clone(x) if copy and result is x else result

def destination(x, target, type_):
    import mytorch
    if isinstance(target, Tensor):
        return target.device, target.dtype
    if isinstance(target, mytorch.dtype):
        return x.device, target
    where = x.device if target is None else with_index(target)
    return where, x.dtype if type_ is None else type_

def with_index(where):
    named = device("cuda", where) if isinstance(where, int) else device(where)
    if named.type == "cpu":
        return CPU
    index = cuda.index_of(named)
    cuda.check_index(index)
    return device("cuda", index)


# %% answer="devices_to" right="convert, then move"
def to(x, target=None, dtype=None, non_blocking=False, copy=False, *, device=None):
    where, kind = destination(x, device if target is None else target, dtype)
    result = x
    if kind != x.dtype:
        result = _to_copy(result, kind)
    if where != x.device:
        result = to_device(result, where)
    return clone(x) if copy and result is x else result

def destination(x, target, type_):
    import mytorch
    if isinstance(target, Tensor):
        return target.device, target.dtype
    if isinstance(target, mytorch.dtype):
        return x.device, target
    where = x.device if target is None else with_index(target)
    return where, x.dtype if type_ is None else type_

def with_index(where):
    named = device("cuda", where) if isinstance(where, int) else device(where)
    if named.type == "cpu":
        return CPU
    index = cuda.index_of(named)
    cuda.check_index(index)
    return device("cuda", index)


# %% answer="devices_to" wrong="copies twice"
def to(x, target=None, dtype=None, non_blocking=False, copy=False, *, device=None):
    where, kind = destination(x, device if target is None else target, dtype)
    result = x
    if where != x.device:
        result = to_device(result, where)
    if kind != x.dtype:
        result = _to_copy(result, kind)
    return clone(result) if copy else result


def destination(x, target, type_):
    import mytorch
    if isinstance(target, Tensor):
        return target.device, target.dtype
    if isinstance(target, mytorch.dtype):
        return x.device, target
    where = x.device if target is None else with_index(target)
    return where, x.dtype if type_ is None else type_


def with_index(where):
    named = device("cuda", where) if isinstance(where, int) else device(where)
    if named.type == "cpu":
        return CPU
    index = cuda.index_of(named)
    cuda.check_index(index)
    return device("cuda", index)


# %% answer="devices_to" wrong="compares the sizes of the dtypes"
def to(x, target=None, dtype=None, non_blocking=False, copy=False, *, device=None):
    where, type_ = destination(x, device if target is None else target, dtype)
    result = x
    if where != x.device:
        result = to_device(result, where)
    if type_.itemsize != x.dtype.itemsize:
        result = _to_copy(result, type_)
    return clone(x) if result is x and copy else result


# %% answer="devices_visible" right="as first written, from the task alone"
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    out = []
    for part in text.split(","):
        part = part.strip()
        if not (part.isascii() and part.isdigit()):
            break
        out.append(int(part))
    if len(set(out)) < len(out):
        return []
    for i, n in enumerate(out):
        if n >= count:
            return out[:i]
    return out


# %% answer="devices_visible" wrong="ends the list before it looks for doubles"
def visible_devices(text, count):
    if text is None: return list(range(count))
    out = []
    for part in text.split(","):
        if not part.strip().isdigit() or int(part) >= count: break
        out.append(int(part))
    return [] if len(set(out)) < len(out) else out


# %% answer="devices_visible" wrong="int() reads signs, too"
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    numbers = []
    for each in text.split(","):
        try:
            number = int(each)
        except ValueError:
            break
        if number < 0:
            break
        numbers.append(number)
    if len(set(numbers)) < len(numbers):
        return []
    result = []
    for each in numbers:
        if each >= count:
            break
        result.append(each)
    return result


# %% answer="devices_move_batch" right="as first written, from the task alone"
def move(batch, where):
    if isinstance(batch, dict):
        return {k: move(v, where) for k, v in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(v, where) for v in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(v, where) for v in batch)
    return batch.to(where) if hasattr(batch, "to") else batch


# %% answer="devices_move_batch" wrong="changes the dict in place"
def move(batch, where):
    import copy
    if isinstance(batch, dict):
        for k in batch: batch[k] = move(batch[k], where)
        return batch
    if hasattr(batch, "_fields"): return type(batch)(*[move(v, where) for v in batch])
    if isinstance(batch, (list, tuple)): return type(batch)([move(v, where) for v in batch])
    return batch.to(where) if isinstance(batch, mytorch.Tensor) else batch


# %% answer="devices_move_batch" wrong="makes a list of whatever can be iterated"
def move(batch, where):
    if hasattr(batch, "to"):
        return batch.to(where)
    if isinstance(batch, str):
        return batch
    if isinstance(batch, dict):
        return {k: move(v, where) for k, v in batch.items()}
    if hasattr(batch, "_fields"):
        return type(batch)(*[move(v, where) for v in batch])
    if isinstance(batch, tuple):
        return tuple(move(v, where) for v in batch)
    try:
        return [move(v, where) for v in batch]
    except TypeError:
        return batch


# %% answer="devices_repair_positions" wrong="leaves the CPU as the default device"
def add_positions(x):
    import mytorch
    tokens, features = x.shape
    mytorch.set_default_device(x.device)
    token = mytorch.arange(tokens, dtype=x.dtype).reshape(tokens, 1)
    feature = mytorch.arange(features, dtype=x.dtype)
    mytorch.set_default_device("cpu")
    return x + token / (1 + feature)


# %% answer="devices_current" wrong="initializes before it looks at the argument"
def set_device(where):
    init()
    State.gpus.set_current(check_index(index_of(where)))


# %% answer="devices_current" wrong="refuses the CPU before the first use"
def memory_allocated(where=None):
    index = None if where is None else device_type(where).index if not isinstance(where, int) else where
    if not State.initialized:
        index_of(where) if isinstance(where, str) and where != "cuda" else None
        return 0
    return State.gpus.memory(State.gpus.current() if index is None else check_index(index))["allocated"]


# %% answer="devices_current" wrong="0 counts as not given"
def memory_allocated(where=None):
    if not State.initialized:
        return 0
    return State.gpus.memory(index_of(where or None))["allocated"]


# %% answer="devices_to" right="converts before it moves, and tests with in"
def to(
    x: Tensor,
    target: Any = None,
    dtype: dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    device: Any = None,
) -> Tensor:
    where, type_ = destination(x, target if device is None else device, dtype)
    steps = []
    if x.dtype != type_:
        steps.append(lambda y: _to_copy(y, type_))
    if x.device != where:
        steps.append(lambda y: to_device(y, where))
    if copy and not steps:
        steps.append(clone)
    for step in steps:
        x = step(x)
    return x


# %% answer="devices_move_batch" wrong="takes everything with a device for a tensor, which includes NumPy's arrays ('other values stay as they are')"
def move(batch, where):
    if hasattr(batch, "device"):
        return batch.to(where)
    if isinstance(batch, dict):
        return {key: move(value, where) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(each, where) for each in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(each, where) for each in batch)
    return batch


# %% answer="devices_move_batch" wrong="a tensor on another GPU counts as already there, because only the device's type is compared ('all tensors on the device `where`')"
def move(batch, where):
    if hasattr(batch, "to"):
        return batch if batch.device.type == str(where).split(":")[0] else batch.to(where)
    if isinstance(batch, dict):
        return {key: move(value, where) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(each, where) for each in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(each, where) for each in batch)
    return batch


# %% answer="devices_move_batch" wrong="remembers what it has moved, by id, beyond the call, so a batch that has changed comes back as it was"
def move(batch, where, moved={}):
    if hasattr(batch, "to"):
        key = id(batch), str(where)
        if key not in moved:
            moved[key] = batch.to(where)
        return moved[key]
    if isinstance(batch, dict):
        return {key: move(value, where) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(each, where) for each in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(each, where) for each in batch)
    return batch


# %% answer="devices_move_batch" right="the named tuple replaces its own fields, and forms are recognized by their exact type"
def move(batch, where):
    kind = type(batch)
    if kind is dict:
        return {**{key: move(batch[key], where) for key in batch}}
    if kind in (list, tuple):
        return kind([move(each, where) for each in batch])
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return batch._replace(**{name: move(getattr(batch, name), where) for name in batch._fields})
    return batch.to(where) if hasattr(batch, "storage") or callable(getattr(batch, "to", None)) else batch


# %% answer="devices_move_batch" right="a match statement"
def move(batch, where):
    match batch:
        case dict():
            return {key: move(value, where) for key, value in batch.items()}
        case tuple(_fields=_):
            return type(batch)(*[move(each, where) for each in batch])
        case list() | tuple():
            return type(batch)(map(lambda each: move(each, where), batch))
    to = getattr(batch, "to", None)
    return batch if to is None else to(where)


# %% answer="devices_visible" wrong="an entry with a space inside isn't a number, but all spaces are removed"
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    found = []
    for entry in text.replace(" ", "").split(","):
        if not (entry.isascii() and entry.isdigit()):
            break
        found.append(int(entry))
    if len(set(found)) != len(found):
        return []
    for place, index in enumerate(found):
        if index >= count:
            return found[:place]
    return found


# %% answer="devices_visible" wrong="repetitions behind the list's end count"
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    entries = [entry.strip() for entry in text.split(",")]
    numbers = [int(entry) for entry in entries if entry.isdigit()]
    if len(set(numbers)) < len(numbers):
        return []
    visible = []
    for entry in entries:
        if not entry.isdigit() or int(entry) >= count:
            break
        visible.append(int(entry))
    return visible


# %% answer="devices_visible" wrong="an entry with a space inside isn't a number, but only the first word of it is read"
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    numbers = []
    for entry in text.split(","):
        words = entry.split()
        if not words or not words[0].isdecimal():
            break
        numbers.append(int(words[0]))
    if len(set(numbers)) < len(numbers):
        return []
    return [*takewhile(lambda number: number < count, numbers)]
