# %% [markdown]
# # Exercises · Devices
# You write four parts of `mytorch`, move a batch, repair a layer that works on one GPU only, and find out how an
# allocator rounds. All GPUs here are simulated. In exercises 2 to 4 and 8 you write on NumPy alone, without
# minitorch.

# %% setup=true
from __future__ import annotations

from collections import namedtuple

from course import check

# %% [markdown] exercise="devices_predict_places" kind="predict" points=1
# ### Exercise 1 · On which device is each tensor?
# ```python
# mytorch.cuda.simulate(3)
# a = mytorch.ones(2, device="cuda:1")
# with mytorch.cuda.device(2):
#     b = a + 1
#     c = mytorch.ones(2).cuda() * mytorch.tensor(3.0)
#     d = mytorch.ones(2).copy_(a)
# with mytorch.device("cuda:0"):
#     e = mytorch.ones_like(c)
# f = a.cuda()
# ```
# Write down the devices of `b`, `c`, `d`, `e` and `f` without running the code, and set `prediction` to a list of
# five strings.


# %% solution="devices_predict_places"
### BEGIN SOLUTION
prediction = ["cuda:1", "cuda:2", "cpu", "cuda:2", "cuda:0"]
### END SOLUTION

# %% check="devices_predict_places"
check.show({name: str(each) for name, each in zip("bcdef", prediction, strict=True)}, secret=True)

# %% [markdown] hint="devices_predict_places"
# Ask for each line whether it creates a new tensor, copies one, or computes with tensors that have a device already.

# %% [markdown] hint="devices_predict_places"
# `cuda.device(2)` changes what `cuda` without an index means for as long as the block lasts, while `device("cuda:0")`
# fills in a missing `device=` where a tensor is created by `ones`, `tensor` and the like.

# %% [markdown] hint="devices_predict_places"
# `copy_` writes into the tensor on its left, and `ones_like` follows its argument. Outside the blocks the current GPU
# is 0 again, so that is where `.cuda()` goes.

# %% mutant="devices_predict_places"
# A result on the current GPU
# `b` is computed from `a`, so it is on the device of `a`. The current GPU plays no part in that.
prediction = ["cuda:2", "cuda:2", "cpu", "cuda:2", "cuda:0"]

# %% mutant="devices_predict_places"
# The scalar decides
# In `c`, the CPU scalar is moved automatically to the GPU of the vector, and `.cuda()` meant GPU 2.
prediction = ["cuda:1", "cpu", "cpu", "cpu", "cuda:0"]

# %% mutant="devices_predict_places"
# cuda is cuda:0
# In the block of `c`, `.cuda()` means the current GPU, which is 2 there.
prediction = ["cuda:1", "cuda:0", "cpu", "cuda:0", "cuda:0"]

# %% mutant="devices_predict_places"
# A copy that follows its source
# `copy_` writes into the memory of the tensor on its left, which is on the CPU.
prediction = ["cuda:1", "cuda:2", "cuda:1", "cuda:2", "cuda:0"]

# %% mutant="devices_predict_places"
# The current GPU as the default device
# `ones(2)` without a device is on the CPU, because `cuda.device(2)` only changes what `cuda` means, and `copy_`
# doesn't move it.
prediction = ["cuda:1", "cuda:2", "cuda:2", "cuda:2", "cuda:0"]

# %% mutant="devices_predict_places"
# The context decides about e
# `ones_like(c)` takes the device from `c`, while the context only fills in a missing `device=` of functions such as
# `ones` or `tensor`.
prediction = ["cuda:1", "cuda:2", "cpu", "cuda:0", "cuda:0"]

# %% mutant="devices_predict_places"
# Already on a GPU
# `f = a.cuda()` is `a.to("cuda")`, and outside the block the current GPU is 0, so the call copies from GPU 1 to GPU
# 0.
prediction = ["cuda:1", "cuda:2", "cpu", "cuda:2", "cuda:1"]

# %% [markdown] exercise="devices_one_device" kind="core" points="1 1 2" part="mytorch.devices:one_device mytorch.devices:may_be_brought mytorch.devices:common_device"
# ### Exercise 2 · The device layer of the dispatcher
# `one_device` receives each call that has a tensor on a GPU: `op` is the operation, and `args` are its arguments.
# It moves the arguments to one device and returns `below(op, args)`, or it raises. `op.name` is the operation's name,
# `tensors_in(args)` lists the tensors among the arguments, including those inside lists and tuples, and `CPU` is
# `device("cpu")`. With three simulated GPUs:
#
# | call | result |
# |---|---|
# | `ones(3, device=1) * tensor(2.0)` | on `cuda:1` |
# | `ones(3) * tensor(2.0, device=1)` | raises: `cuda:1 and cpu` |
# | `ones(3, device=1)[tensor([0, 2])]` | on `cuda:1` |
# | `tensor([7, 8])[tensor([0], device=1)]` | raises: `cuda:1 and cpu` |
# | `ones(3, device=1).copy_(ones(3, device=2))` | on `cuda:1` |


# %% docstrings="devices_one_device"
def one_device():
    """Run an operation on tensors of one device.

    Operations in `ACROSS`, and calls whose tensors (`tensors_in(args)`) are all on one device, are passed on
    unchanged: `below(op, args)`. Otherwise the device is the `common_device` of the tensors that aren't moved
    automatically (`may_be_brought`), which raises if there are two. Each argument is then moved there with
    `bring(argument, where)` before the call is passed on.
    """


def may_be_brought():
    """True if a call of `op` with `args` moves its tensor `x` to the GPU of the other tensors automatically.

    Only CPU tensors are moved. An elementwise operation (`on_elements(op)`) moves 0-d tensors, which count as
    scalars. The operations named `index` and `index_put` move their indices, which are in the tuple `args[1]`;
    `index_put` also moves the value to be written, `args[2]`, if it is a 0-d tensor.
    """


def common_device():
    """Return the device that all these tensors are on.

    Raises:
        RuntimeError: the tensors are on more than one device. "Expected all tensors to be on the same device, but
            found at least two devices, cuda:0 and cpu!" The message names the first device that isn't the CPU,
            then the first device that differs from it.
    """


# %% check="devices_one_device" raises="RuntimeError"
mytorch.cuda.simulate(4)
rng = check.rng()
first, second = (int(each) for each in rng.permutation(4)[:2])
number = float(rng.integers(2, 9))
cpu, scalar = mytorch.arange(3.0), mytorch.tensor(number)
one, other = cpu.to(first), cpu.to(second) + 1
tiny = scalar.to(first)
places = mytorch.tensor([int(each) for each in rng.permutation(3)])
condition = one > 0.5
calls = {
    "vector + vector": lambda: one + one,
    "vector * cpu number": lambda: one * scalar,
    "cpu number - vector": lambda: scalar - one,
    "cpu number / GPU number": lambda: scalar / tiny,
    "no other device": lambda: cpu + scalar,
    "cpu vector + GPU number": lambda: cpu + tiny,
    "GPU number + cpu vector": lambda: tiny + cpu,
    "vector + cpu vector of length 1": lambda: one + scalar.reshape(1),
    "cpu vector, vector": lambda: cpu + one,
    "two GPUs": lambda: one + other,
    "a GPU number and another GPU": lambda: other + tiny,
    "where, two cpu numbers": lambda: mytorch.where(condition, scalar, scalar + 1),
    "where, three devices": lambda: mytorch.where(condition, scalar, other),
    "where, cpu first": lambda: mytorch.where(cpu > 0, one, other),
    "cat": lambda: mytorch.cat([one, one]),
    "cat, two devices": lambda: mytorch.cat([cpu, one]),
    "cpu indices": lambda: one[places],
    "cpu indices of both dimensions": lambda: one.reshape(1, 3)[places - places, places],
    "cpu mask": lambda: one[cpu > 0],
    "a cpu number written at cpu indices": lambda: one.index_put((places,), scalar),
    "a cpu vector written there": lambda: one.index_put((places,), cpu),
    "gather with cpu indices": lambda: one.gather(0, places),
    "gather from a GPU number": lambda: tiny.gather(0, mytorch.tensor(0)),
    "GPU indices of a cpu vector": lambda: cpu[places.to(second)],
    "GPU indices of cpu integers": lambda: places[places.to(second)],
    "a cpu number, written to at a GPU mask": lambda: scalar.index_put((tiny > 0,), tiny),
    "matmul": lambda: one @ cpu,
    "sum": lambda: one.sum(),
    "add_ a cpu number": lambda: one.clone().add_(scalar),
    "copy_": lambda: mytorch.zeros(3, device=first).copy_(other),
    "copy_ to the cpu": lambda: mytorch.zeros(3).copy_(other),
    "to": lambda: one.to(second),
}
values = {"first": first, "second": second, "number": number}
for name, call in calls.items():
    error = check.error(call)
    values[name] = error or (str(call().device), call().tolist())
values["the number after all this"] = (str(scalar.device), scalar.item())
values["common_device of two cpu tensors"] = str(check.intact(mytorch.devices.common_device, [cpu, scalar]))
check.show(values, text="The device and the elements of each result, or the error.")

# %% [markdown] hint="devices_one_device"
# Begin with `common_device`. The device that the message names first is that of the first tensor that isn't on the
# CPU. Then look for a tensor on another device.

# %% [markdown] hint="devices_one_device"
# `may_be_brought` is False for a tensor that isn't on the CPU. For a CPU tensor there are two cases, and `op.name`
# decides which one applies.

# %% [markdown] hint="devices_one_device"
# `one_device` returns early in two cases: if `op.name in ACROSS`, and if the set of devices has fewer than two
# members. Otherwise make a list of the tensors that may not be moved, ask `common_device` for their device, and move
# all arguments there.

# %% [markdown] hint="devices_one_device"
# The last line is `return below(op, tuple(bring(each, where) for each in args))`.


# %% mutant="devices_one_device"
# Moves scalars in both directions
# A 0-d GPU tensor was moved. Only CPU tensors may be, because the CPU doesn't have a GPU's number, and fetching it
# would make the program wait.
def may_be_brought(op, args, x):
    if op.name in ("index", "index_put"):
        return x.device == CPU and any(x is each for each in tensors_in(args[1]))
    return x.ndim == 0 and on_elements(op)


# %% mutant="devices_one_device"
# A length of 1 is enough
# A tensor of length 1 has a dimension, so it doesn't count as a scalar. Test `ndim` and not `numel`.
def may_be_brought(op, args, x):
    if x.device != CPU:
        return False
    if op.name in ("index", "index_put"):
        return any(x is each for each in tensors_in(args[1]))
    return x.numel() == 1 and on_elements(op)


# %% mutant="devices_one_device"
# Forgets the indices
# Index tensors may be on the CPU, whatever their shape.
def may_be_brought(op, args, x):
    return x.device == CPU and x.ndim == 0 and on_elements(op)


# %% mutant="devices_one_device"
# Brings the first index only
# There may be an index for each dimension, because `args[1]` is a tuple of them.
def may_be_brought(op, args, x):
    if x.device != CPU:
        return False
    if op.name == "index_put" and x is args[2]:
        return x.ndim == 0
    if op.name in ("index", "index_put"):
        return x is args[1][0]
    return x.ndim == 0 and on_elements(op)


# %% mutant="devices_one_device"
# Moves a scalar for any operation
# Only an elementwise operation moves scalars automatically, and `gather` isn't one, so test `on_elements(op)`.
def may_be_brought(op, args, x):
    if x.device != CPU:
        return False
    if op.name in ("index", "index_put") and any(x is each for each in args[1]):
        return True
    return x.ndim == 0


# %% mutant="devices_one_device"
# Moves the indexed tensor
# Only the indices may be on the CPU. The tensor that is indexed stays where it is, whatever its dtype.
def may_be_brought(op, args, x):
    if x.device != CPU:
        return False
    if op.name in ("index", "index_put"):
        return not x.is_floating_point()
    return x.ndim == 0 and on_elements(op)


# %% mutant="devices_one_device"
# Moves everything to the device of the first
# If the scalar comes first, the vector is moved to the CPU. The result belongs on the device of the tensors that
# can't be moved.
def one_device(op, args, below):
    tensors = tensors_in(args)
    if op.name in ACROSS or len({each.device for each in tensors}) < 2:
        return below(op, args)
    common_device([each for each in tensors if not may_be_brought(op, args, each)])
    return below(op, tuple(bring(each, tensors[0].device) for each in args))


# %% mutant="devices_one_device"
# No way across
# Moving data from one device to another is the purpose of `copy_`, so the operations in `ACROSS` have to pass.
def one_device(op, args, below):
    tensors = tensors_in(args)
    if op.name == "to_device" or len({each.device for each in tensors}) < 2:
        return below(op, args)
    where = common_device([each for each in tensors if not may_be_brought(op, args, each)])
    return below(op, tuple(bring(each, where) for each in args))


# %% mutant="devices_one_device"
# Names the devices in the order of the arguments
# PyTorch first takes the first device that isn't the CPU, and then compares the others with it. The message therefore
# says `cuda:1 and cpu` whatever the order of the arguments.
def common_device(tensors):
    for each in tensors:
        if each.device != tensors[0].device:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{tensors[0].device} and {each.device}!"
            )
    return tensors[0].device


# %% mutant="devices_one_device"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def common_device(tensors):
    import minitorch

    return sum(minitorch.tensor(each.tolist()) for each in tensors).device


# %% [markdown] exercise="devices_to" kind="core" points="2 1 1" part="mytorch.devices:to mytorch.devices:destination mytorch.devices:with_index"
# ### Exercise 3 · `to`
# Write these three functions from the last one up. `with_index` turns a name into the device that a tensor would
# have: with GPU 2 current, `with_index("cuda")` is `device("cuda", 2)`. `destination` interprets the arguments of
# `to`. `to` itself moves, converts, does both or neither, and it creates no unnecessary tensors.


# %% docstrings="devices_to"
def to():
    """Return the tensor with another device, another dtype, or both; the tensor itself if nothing changes.

    Possible calls are `x.to("cuda:1")`, `x.to(torch.float64)`, `x.to("cuda", torch.float16)`,
    `x.to(device="cuda")` and `x.to(other)`. `destination(x, target, dtype)` returns the device and the dtype that
    are meant. `to_device(x, where)`, `_to_copy(x, type_)` and `clone(x)` each create a new tensor.

    With `copy=True` the result is always a new tensor; copy only once even if the device or the dtype changes as
    well. `non_blocking` is accepted and has no effect, because copies between these devices are finished when the
    call returns.
    """


def destination():
    """Return the device and the dtype of the result of `to`. Each defaults to that of `x`.

    Args:
        target: a tensor, whose device and dtype the result gets; a dtype; a device, a device string or the index
            of a GPU; or None.
        type_: the dtype, if `target` is a device or None.
    """


def with_index():
    """Return the device that `x.device` would show, given a device, a device string, or the index of a GPU.

    `cuda` without an index is the current GPU: `cuda.index_of(named)` is its index, and `cuda.check_index` raises
    an error if there is no such GPU. Every `cpu:0` is the one CPU, `device("cpu")`.
    """


# %% check="devices_to" raises="RuntimeError"
mytorch.cuda.simulate(4)
rng = check.rng()
current = int(rng.integers(1, 4))  # not 0, or it wouldn't matter which one is current
first, second = (int(each) for each in rng.permutation([each for each in range(4) if each != current])[:2])
mytorch.cuda.set_device(current)
x = mytorch.tensor([float(each) for each in rng.integers(1, 9, size=3)])
y, wide = x.to_device(mytorch.device("cuda", first)), mytorch.zeros(2, dtype=mytorch.float64, device=second)
here, one = mytorch.zeros(2, device=current), mytorch.tensor([int(rng.integers(1, 9))])
calls = {
    "x.to('cpu')": (x, lambda: x.to("cpu")),
    "x.to()": (x, lambda: x.to()),
    "x.to(float32)": (x, lambda: x.to(mytorch.float32)),
    "x.to(float64)": (x, lambda: x.to(mytorch.float64)),
    "x.to(int32)": (x, lambda: x.to(mytorch.int32)),
    "x.to(second)": (x, lambda: x.to(second)),
    "x.to(0)": (x, lambda: x.to(0)),
    "x.to(device=0)": (x, lambda: x.to(device=0)),
    "x.to('cuda')": (x, lambda: x.to("cuda")),
    "x.to('cuda', float16)": (x, lambda: x.to("cuda", mytorch.float16)),
    "x.to(device='cuda', dtype=int64)": (x, lambda: x.to(device="cuda", dtype=mytorch.int64)),
    "x.to(wide)": (x, lambda: x.to(wide)),
    "x.to(x)": (x, lambda: x.to(x)),
    "x.to('cpu', copy=True)": (x, lambda: x.to("cpu", copy=True)),
    "x.to(float64, copy=True)": (x, lambda: x.to(mytorch.float64, copy=True)),
    "y.to('cuda')": (y, lambda: y.to("cuda")),
    "y.to(device of y)": (y, lambda: y.to(y.device)),
    "y.to(second, copy=True)": (y, lambda: y.to(second, copy=True)),
    "y.to(int64)": (y, lambda: y.to(mytorch.int64)),
    "y.to('cpu', float64)": (y, lambda: y.to("cpu", mytorch.float64)),
    "here.to('cuda')": (here, lambda: here.to("cuda")),
    "here.to('cuda', copy=True)": (here, lambda: here.to("cuda", copy=True)),
    "x.cuda()": (x, lambda: x.cuda()),
    "y.cpu()": (y, lambda: y.cpu()),
    "x.to(4)": (x, lambda: x.to(4)),
    "x.to('gpu')": (x, lambda: x.to("gpu")),
    "one.to('cuda')": (one, lambda: one.to("cuda")),
    "one.to(float16)": (one, lambda: one.to(mytorch.float16)),
}
made = []


def count(op, args, below):
    made.append(op.name)
    return below(op, args)


mytorch.dispatch.fill("autocast", count)
values = {"first": first, "second": second, "current": current}
for name, (source, call) in calls.items():
    error = check.error(call)
    made.clear()
    result = None if error else call()
    operations = len(made)
    values[name] = error or (str(result.device), result.dtype.name, result.tolist(), result is source, operations)
for where in ("cuda", first, "cuda:4", "cpu:0"):
    values[f"with_index({where!r})"] = check.error(mytorch.devices.with_index, where) or str(
        mytorch.devices.with_index(where)
    )
check.show(
    values, text="Device, dtype and elements of each result, whether it is the source itself, operations that ran."
)

# %% [markdown] hint="devices_to"
# Two names can mean one device: `cuda` and `cuda:2` do if GPU 2 is the current one. Therefore compare devices only
# after `with_index`.

# %% [markdown] hint="devices_to"
# `destination` has four cases for `target`: a tensor, a dtype, None, and anything else. Only the last two use
# `type_`.

# %% [markdown] hint="devices_to"
# In `to`, begin with `result = x`, move it if the device differs, and convert it if the dtype differs. If `result is
# x` in the end, no new tensor was made, and only then does `copy` matter.

# %% [markdown] hint="devices_to"
# The first line is `where, type_ = destination(x, device if target is None else target, dtype)`, and the last one is
# `return clone(x) if result is x and copy else result`.


# %% mutant="devices_to"
# Always copies
# If the tensor is already on the device and has the dtype, `to` returns the tensor itself.
def to(x, target=None, dtype=None, non_blocking=False, copy=False, *, device=None):
    where, type_ = destination(x, device if target is None else target, dtype)
    result = to_device(x, where) if x.device != where else clone(x)
    return result if result.dtype is type_ else _to_copy(result, type_)


# %% mutant="devices_to"
# Copies twice
# Moving or converting has made a new tensor already, and `copy=True` asks for one and not two.
def to(x, target=None, dtype=None, non_blocking=False, copy=False, *, device=None):
    where, type_ = destination(x, device if target is None else target, dtype)
    result = clone(x) if copy else x
    if result.device != where:
        result = to_device(result, where)
    return result if result.dtype is type_ else _to_copy(result, type_)


# %% mutant="devices_to"
# Forgets copy
# `copy=True` asks for a new tensor even if nothing changes.
def to(x, target=None, dtype=None, non_blocking=False, copy=False, *, device=None):
    where, type_ = destination(x, device if target is None else target, dtype)
    result = x if x.device == where else to_device(x, where)
    return result if result.dtype is type_ else _to_copy(result, type_)


# %% mutant="devices_to"
# Looks at the device of the other tensor only
# `x.to(other)` means the dtype of `other`, too, and not only its device.
def destination(x, target, type_):
    if isinstance(target, Tensor):
        return target.device, x.dtype
    if isinstance(target, dtype):
        return x.device, target
    return x.device if target is None else with_index(target), type_ or x.dtype


# %% mutant="devices_to"
# Treats GPU 0 as None
# The number 0 is falsy, so `x.to(0)` stays where it is. Test `target is None` instead.
def destination(x: Tensor, target: Any, type_: dtype | None) -> tuple[device, dtype]:
    if isinstance(target, Tensor):
        return target.device, target.dtype
    if isinstance(target, dtype):
        return x.device, target
    return with_index(target) if target else x.device, type_ or x.dtype


# %% mutant="devices_to"
# Keeps the name without an index
# `cuda` isn't equal to `cuda:2`, so a tensor on the current GPU was copied to the device that it is on already.
def with_index(where):
    named = device(where)
    return named if named.type == "cuda" else CPU


# %% mutant="devices_to"
# cuda is cuda:0
# `cuda` without an index is the current GPU, and that need not be GPU 0.
def with_index(where):
    named = device(where)
    return device("cuda", cuda.check_index(named.index or 0)) if named.type == "cuda" else CPU


# %% mutant="devices_to"
# Doesn't ask whether there is such a GPU
# `cuda.check_index` raises an error if there is no such GPU. Without it, `with_index("cuda:4")` names a GPU that
# doesn't exist.
def with_index(where):
    named = device(where)
    return device("cuda", cuda.index_of(named)) if named.type == "cuda" else CPU


# %% mutant="devices_to"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def destination(x, target, type_):
    import minitorch

    moved = minitorch.tensor(x.tolist()).to(target)
    return device(str(moved.device)), type_ or x.dtype


# %% [markdown] exercise="devices_visible" kind="core" points=2 part="mytorch.cuda:visible_devices"
# ### Exercise 4 · `CUDA_VISIBLE_DEVICES`
# A machine has `count` GPUs. Which of them does a program see, and in which order? `visible_devices("2,0", 3)` is
# `[2, 0]`, and `visible_devices(None, 3)` is `[0, 1, 2]`. The docstring gives the remaining rules, and their order
# matters: `visible_devices("0,7,0", 3)` is `[]`.


# %% docstrings="devices_visible"
def visible_devices():
    """Return the indices of the GPUs that `CUDA_VISIBLE_DEVICES` makes visible, in the program's order.

    `visible_devices("2,0", 3)` is `[2, 0]`: the program's GPU 0 is the machine's GPU 2.

    Args:
        text: the variable's value: indices separated by commas, with optional spaces. None means that it isn't
            set, so all GPUs are visible. The list ends before the first entry that isn't a plain number. If an
            index then occurs twice, no GPU is visible. Otherwise the list also ends before the first index that
            doesn't exist on the machine.
        count: the number of the machine's GPUs, whose indices are 0 to `count - 1`.
    """


# %% check="devices_visible"
rng = check.rng()
count = int(rng.integers(3, 6))
a, b, c = (int(each) for each in rng.permutation(count)[:3])
texts = [None, "", f"{a}", f"{b},{a}", f"{c},{a},{b}", f" {b} , {c}", f"{a},{count},{b}", f"{count}", f"{a},-1,{b}"]
texts += [f"{a},x,{b}", f"{a},,{b}", "none", f"{a},{b},{a}", f"{a},x,{a}", f"{a},{count + 9},{a}", f"{a},"]
texts += [f"{a}, {a}", f"{a},0{a}", f"{a},+{b}", f"0 {a}", f"{a}, 0 {b}, {c}", f"{a},0\t{b}"]
values = {"count": count}
for text in texts:
    values[f"visible_devices({text!r}, count)"] = mytorch.cuda.visible_devices(text, count)
for text in (None, "0", "0,1", "1,0"):
    values[f"visible_devices({text!r}, 1)"] = mytorch.cuda.visible_devices(text, 1)
mytorch.cuda.simulate(count, visible=f"{b},{c}")
names = [mytorch.cuda.get_device_name(place) for place in range(mytorch.cuda.device_count())]
check.show(values | {"names": names}, text="The machine's indices of the visible GPUs, and the names of two of them.")

# %% [markdown] hint="devices_visible"
# None and the empty string are two different cases: one shows all GPUs, and the other shows none.

# %% [markdown] hint="devices_visible"
# Read the entries from the left and stop at the first one that isn't a number. Here an entry counts as a number if
# `entry.strip().isdecimal()` is True. (PyTorch is less strict and reads `2gpu` as 2.)

# %% [markdown] hint="devices_visible"
# There are three steps, in this order: take the numbers up to the first entry that isn't one; return nothing at all
# if a number occurs twice; then keep only the numbers before the first that isn't below `count`.
# `itertools.takewhile` does two of the steps.


# %% mutant="devices_visible"
# Skips entries that don't fit
# A wrong entry ends the list, so `0,7,1` on a machine with two GPUs gives just one.
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    entries = [entry.strip() for entry in text.split(",")]
    numbers = [int(entry) for entry in entries if entry.isdecimal() and int(entry) < count]
    return numbers if len(set(numbers)) == len(numbers) else []


# %% mutant="devices_visible"
# Looks for repetitions behind the end of the list
# Only the numbers before the first entry that isn't one can repeat each other: `0,x,0` shows GPU 0.
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    entries = [entry.strip() for entry in text.split(",")]
    numbers = [int(entry) for entry in entries if entry.isdecimal()]
    if len(set(numbers)) < len(numbers):
        return []
    return list(takewhile(lambda number: number < count, map(int, takewhile(str.isdecimal, entries))))


# %% mutant="devices_visible"
# Treats an empty string as unset
# An empty variable hides all GPUs, which is how people keep a program on the CPU.
def visible_devices(text, count):
    if not text:
        return list(range(count))
    numbers = [int(entry) for entry in takewhile(str.isdecimal, map(str.strip, text.split(",")))]
    return list(takewhile(lambda number: number < count, numbers)) if len(set(numbers)) == len(numbers) else []


# %% mutant="devices_visible"
# In the machine's order
# The list also sets the order: with `2,0`, the program's GPU 0 is the machine's GPU 2.
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    numbers = [int(entry) for entry in takewhile(str.isdecimal, map(str.strip, text.split(",")))]
    numbers = [] if len(set(numbers)) < len(numbers) else numbers
    return sorted(takewhile(lambda number: number < count, numbers))


# %% mutant="devices_visible"
# Counts a repeated number once
# If a number occurs twice, nothing is visible.
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    numbers = [int(entry) for entry in takewhile(str.isdecimal, map(str.strip, text.split(",")))]
    return list(takewhile(lambda number: number < count, dict.fromkeys(numbers)))


# %% mutant="devices_visible"
# Compares strings
# `2` and ` 2` are two strings but one number. Convert to numbers first, and then check whether one occurs twice.
def visible_devices(text: str | None, count: int) -> list[int]:
    if text is None:
        return list(range(count))
    entries = list(takewhile(lambda entry: entry.strip().isdecimal(), text.split(",")))
    if len(set(entries)) < len(entries):
        return []
    return list(takewhile(lambda number: number < count, map(int, entries)))


# %% mutant="devices_visible"
# Ends the list at a missing GPU first
# A number that occurs twice hides all GPUs, even if it occurs again after an index that doesn't exist. Check for it
# before you end the list there.
def visible_devices(text, count):
    if text is None:
        return list(range(count))
    numbers = [int(entry) for entry in takewhile(str.isdecimal, map(str.strip, text.split(",")))]
    numbers = list(takewhile(lambda number: number < count, numbers))
    return numbers if len(set(numbers)) == len(numbers) else []


# %% [markdown] exercise="devices_move_batch" kind="build" points=2
# ### Exercise 5 · Move a batch
# Loaders return batches of many forms: a dictionary of tensors and strings, a list of pairs, a named tuple. Write
# `move(batch, where)`, which returns the same form with all tensors on the device `where`. Plain dictionaries, lists,
# tuples and named tuples may be nested. Other values stay as they are, and a tensor that is already on the device
# isn't copied.
#
# `move({"x": tensor, "ids": ["a", "b"]}, "cuda:1")` is a dictionary with the keys `x` and `ids`. A tensor has a
# method `to`. A named tuple is a tuple with an attribute `_fields`, and it is created by `type(batch)(*values)`.


# %% solution="devices_move_batch"
def move(batch, where):
    ### BEGIN SOLUTION
    if hasattr(batch, "to"):
        return batch.to(where)
    if isinstance(batch, dict):
        return {key: move(value, where) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(value, where) for value in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(value, where) for value in batch)
    return batch
    ### END SOLUTION


# %% check="devices_move_batch"
import numpy as np

mytorch = check.mytorch(chapter=5)
mytorch.cuda.simulate(3)
rng = check.rng()
place = int(rng.integers(1, 3))
Sample = namedtuple("Sample", "image label")
x, there = mytorch.arange(int(rng.integers(2, 6))), mytorch.arange(2, device=place)
elsewhere = mytorch.arange(2, device=3 - place)


def form(each):
    """A batch as a string, with the device in the place of each tensor."""
    if isinstance(each, dict):
        return "{" + ", ".join(f"{key!r}: {form(value)}" for key, value in each.items()) + "}"
    if isinstance(each, (list, tuple)):
        return f"{type(each).__name__}({', '.join(map(form, each))})"
    return f"{each.device}{each.tolist()}" if isinstance(each, mytorch.Tensor) else repr(each)


batches = {
    "tensor": x,
    "text": "cat",
    "dictionary": {"x": x, "ids": ["a", "b"], 7: None},
    "pairs": [(x, 1), (x + 1, 2.5)],
    "named tuple": Sample(x, "dog"),
    "other values": [range(3), b"dog", {"cat"}, 2.5, np.arange(2)],
    "on another GPU": [elsewhere],
    "all in one": {"samples": [Sample((x, there), {"class": x})], "empty": ((), [], {})},
}
values = {"place": place}
for name, batch in batches.items():
    error = check.error(move, batch, f"cuda:{place}")
    values[name] = error or form(move(batch, f"cuda:{place}"))
values["back to the cpu"] = form(move([there, {"x": (there,)}], "cpu"))
values["not copied"] = move({"x": [there]}, f"cuda:{place}")["x"][0] is there
values["the batch itself"] = form(batches["all in one"])
x[0] = 7
values["a tensor that has changed since"] = form(move([x], f"cuda:{place}"))
check.show(values, text="The form of each batch after the move, with the device and elements of each tensor.")

# %% [markdown] hint="devices_move_batch"
# Handle a tensor and a string first. For containers the function calls itself.

# %% [markdown] hint="devices_move_batch"
# Build a new container of the same type, because the batch that came in must not change. A dictionary keeps its keys.

# %% [markdown] hint="devices_move_batch"
# A named tuple is also a tuple, so test `_fields` first: its type takes the values one by one, while `tuple` takes an
# iterable.


# %% mutant="devices_move_batch"
# Everything becomes a list
# A tuple came back as a list. A training loop that unpacks a pair may not notice, but one that reads `sample.image`
# fails.
def move(batch, where):
    if hasattr(batch, "to"):
        return batch.to(where)
    if isinstance(batch, dict):
        return {key: move(value, where) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [move(value, where) for value in batch]
    return batch


# %% mutant="devices_move_batch"
# Named tuples break
# The type of a named tuple takes its values one by one and not as a single iterable.
def move(batch, where):
    if hasattr(batch, "to"):
        return batch.to(where)
    if isinstance(batch, dict):
        return {key: move(value, where) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(value, where) for value in batch)
    return batch


# %% mutant="devices_move_batch"
# One level only
# The function didn't look into a container inside a container.
def move(batch, where):
    def tensor(each):
        return each.to(where) if hasattr(each, "to") else each

    if isinstance(batch, dict):
        return {key: tensor(value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(tensor, batch))
    return type(batch)(map(tensor, batch)) if isinstance(batch, (list, tuple)) else tensor(batch)


# %% mutant="devices_move_batch"
# Changes the batch that it was given
# The lists and dictionaries of the caller now contain GPU tensors, so whoever kept the batch keeps its GPU memory
# allocated.
def move(batch, where):
    if hasattr(batch, "to"):
        return batch.to(where)
    if isinstance(batch, (dict, list)):
        for key in batch if isinstance(batch, dict) else range(len(batch)):
            batch[key] = move(batch[key], where)
        return batch
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(value, where) for value in batch))
    return tuple(move(value, where) for value in batch) if isinstance(batch, tuple) else batch


# %% [markdown] exercise="devices_repair_positions" kind="repair" points=3
# ### Exercise 6 · It works on my GPU
# A model adds to each token (a row) a number that depends on its position. It has been trained for weeks on one GPU.
# Then its two halves are put on `cuda:0` and `cuda:1`, and the second half raises an error:
#
# ```text
# RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!
# ```
#
# On a machine without a GPU it doesn't run at all. Somebody inserted `mytorch.cuda.set_device(1)` before the model,
# and then the first half raised the error.
#
# Repair `add_positions` so that it works wherever `x` is. The result is on the device of `x` and has its dtype. The
# function changes no setting, and it creates the numbers where they are needed, so that nothing is copied from one
# device to another.


# %% solution="devices_repair_positions"
def add_positions(x):
    """Return `x`, of shape (tokens, features), plus `token / (1 + feature)` at each position."""
    import mytorch

    tokens, features = x.shape
    ### BEGIN SOLUTION
    token = mytorch.arange(tokens, dtype=x.dtype, device=x.device).reshape(tokens, 1)
    feature = mytorch.arange(features, dtype=x.dtype, device=x.device)
    return x + token / (1 + feature)
    ### END SOLUTION
    ### BEGIN STUB
    # token = mytorch.arange(tokens, dtype=x.dtype).cuda().reshape(tokens, 1)
    # feature = mytorch.arange(features, dtype=x.dtype).cuda()
    # return x + token / (1 + feature)
    ### END STUB


# %% check="devices_repair_positions"
mytorch = check.mytorch(chapter=5)
mytorch.cuda.simulate(4)
rng = check.rng()
current = int(rng.integers(1, 4))
mytorch.cuda.set_device(current)
shape = (int(rng.integers(2, 4)), int(rng.integers(3, 5)))  # thirds, which float32 and float64 round differently
values = {"shape": list(shape), "current": current}
for where in ("cpu", "cuda:0", "cuda:1", "cuda:2", "cuda:3"):
    kind = {"cuda:2": mytorch.float64, "cuda:3": mytorch.float16}.get(where, mytorch.float32)
    x = mytorch.tensor(rng.integers(0, 9, shape).tolist(), dtype=kind, device=where)
    moved = []

    def watch(op, args, below, moved=moved):
        moved += [str(args[1])] if op.name == "to_device" and str(args[1]) != str(args[0].device) else []
        return below(op, args)

    mytorch.dispatch.fill("autocast", watch)
    error = check.error(add_positions, x)
    moved.clear()
    found = None if error else add_positions(x)
    mytorch.dispatch.fill("autocast", None)
    if not error:
        # The last digits of float16 depend on the order of computing. Those of float64 show a detour through float32.
        spell = {mytorch.float16: lambda each: round(each, 1), mytorch.float64: "{:.9f}".format}.get(kind, float)
        rows = [[spell(each) for each in row] for row in found.tolist()]
    values[where] = error or (str(found.device), found.dtype.name, rows, {"copied to": moved})
    values[f"{where}: current GPU after"] = mytorch.cuda.current_device()
with mytorch.device("cuda:1"):
    check.error(add_positions, mytorch.zeros(2, 2, device="cuda:0"))
    values["default device after"] = str(mytorch.zeros(1).device)
mytorch.cuda.simulate(0)
x = mytorch.zeros(2, 2)
error = check.error(add_positions, x)
values["without GPUs"] = error or add_positions(x).tolist()
values["a single token"] = error or add_positions(mytorch.ones(1, 3)).tolist()
check.show(values, text="Device, dtype and elements of the results, where copies went, and the current GPU.")

# %% [markdown] hint="devices_repair_positions"
# Which tensors does the last line combine, and what decided on which device each of them is?

# %% [markdown] hint="devices_repair_positions"
# `.cuda()` means the current GPU, and the function never looks at the device of `x`.

# %% [markdown] hint="devices_repair_positions"
# `arange` has an argument `device=`, and `x.device` is the device on which the tensor is needed.


# %% mutant="devices_repair_positions"
# The first GPU, by name
# Now the current GPU doesn't matter, but `x` may still be on another GPU, or on the CPU.
def add_positions(x):
    import mytorch

    tokens, features = x.shape
    token = mytorch.arange(tokens, dtype=x.dtype, device="cuda:0").reshape(tokens, 1)
    feature = mytorch.arange(features, dtype=x.dtype, device="cuda:0")
    return x + token / (1 + feature)


# %% mutant="devices_repair_positions"
# All on the CPU
# The error is gone, but each forward pass copies `x` to the CPU and back, and the GPU waits.
def add_positions(x):
    import mytorch

    tokens, features = x.shape
    token = mytorch.arange(tokens, dtype=x.dtype).reshape(tokens, 1)
    feature = mytorch.arange(features, dtype=x.dtype)
    return (x.cpu() + token / (1 + feature)).to(x.device)


# %% mutant="devices_repair_positions"
# Makes them on the CPU
# The numbers are created on the CPU, so each call copies them to the GPU. `arange` has an argument `device=`.
def add_positions(x):
    import mytorch

    tokens, features = x.shape
    token = mytorch.arange(tokens, dtype=x.dtype).to(x.device).reshape(tokens, 1)
    feature = mytorch.arange(features, dtype=x.dtype).to(x.device)
    return x + token / (1 + feature)


# %% mutant="devices_repair_positions"
# Casts at the end
# The fractions are float32 here, so a float64 `x` gets only about seven of their digits.
def add_positions(x):
    import mytorch

    tokens, features = x.shape
    token = mytorch.arange(tokens, device=x.device).reshape(tokens, 1)
    feature = mytorch.arange(features, device=x.device)
    return (x + token / (1 + feature)).to(x.dtype)


# %% mutant="devices_repair_positions"
# Forgets the dtype
# Without `dtype=x.dtype` the positions are float32 after the division, so a float16 `x` comes back as float32.
def add_positions(x):
    import mytorch

    tokens, features = x.shape
    token = mytorch.arange(tokens, device=x.device).reshape(tokens, 1)
    return x + token / (1 + mytorch.arange(features, device=x.device))


# %% mutant="devices_repair_positions"
# Makes the GPU of x the current one
# The current GPU is a setting of the whole program, so code that runs later now creates its tensors on another GPU.
def add_positions(x):
    import mytorch

    if not x.is_cuda:
        token, feature = mytorch.arange(x.shape[0], dtype=x.dtype), mytorch.arange(x.shape[1], dtype=x.dtype)
        return x + token.reshape(-1, 1) / (1 + feature)
    mytorch.cuda.set_device(x.device)
    tokens, features = x.shape
    token = mytorch.arange(tokens, dtype=x.dtype, device="cuda").reshape(tokens, 1)
    feature = mytorch.arange(features, dtype=x.dtype, device="cuda")
    return x + token / (1 + feature)


# %% [markdown] exercise="devices_measure_allocator" kind="measure" points=2
# ### Exercise 7 · How does this allocator round?
# Asking the driver for memory is slow. PyTorch's caching allocator therefore asks for a large *segment* and cuts
# *blocks* from it, one for each tensor. The size of a block is rounded up to a multiple of the smallest block. You
# can't see the blocks, because `nvidia-smi` only shows what was reserved.
#
# Here is a model of such a GPU. `gpu = new_gpu()` is a fresh one, `gpu.allocate(size)` takes a block for `size`
# bytes, and `gpu.reserved` is the number of bytes that it got from the driver. A block that doesn't fit into the rest
# of a segment goes into a new one. A segment is a whole number of smallest blocks, and all segments have the same
# size. Find the bytes of the smallest block and of a segment by experiment.


# %% setup=true
def gpu_maker(block, segment):
    """A function that makes GPUs which round to `block` bytes and reserve `segment` bytes at a time."""

    class Gpu:
        def __init__(self):
            self.reserved = 0
            self._rest = 0

        def allocate(self, size):
            size = -(-size // block) * block
            if size > segment:
                raise ValueError("more than a segment")
            if size > self._rest:
                self.reserved, self._rest = self.reserved + segment, segment
            self._rest -= size

    return Gpu


# %% solution="devices_measure_allocator"
def measure(new_gpu):
    """Return (bytes of the smallest block, bytes of a segment), measured by allocating on fresh GPUs."""
    ### BEGIN SOLUTION
    gpu = new_gpu()
    gpu.allocate(1)
    segment = gpu.reserved
    blocks = 1
    while gpu.reserved == segment:
        gpu.allocate(1)
        blocks += gpu.reserved == segment
    return segment // blocks, segment
    ### END SOLUTION


# %% check="devices_measure_allocator"
rng = check.rng()
found = []
for _ in range(4):
    block = 8 * int(rng.integers(9, 120))
    found.append(measure(gpu_maker(block, block * int(rng.integers(15, 50)))))
check.show({"found": [[int(each) for each in pair] for pair in found]}, secret=True)

# %% [markdown] hint="devices_measure_allocator"
# How much does the driver have to provide for the very first byte?

# %% [markdown] hint="devices_measure_allocator"
# How many tensors of one byte fit into the first segment? Each of them takes one smallest block.

# %% [markdown] hint="devices_measure_allocator"
# Allocate single bytes until `gpu.reserved` grows. The byte that made it grow no longer fitted into the first
# segment. Then divide.


# %% mutant="devices_measure_allocator"
# Counts the block that didn't fit
# The block that made `reserved` grow is in the second segment, so the first has one block fewer.
def measure(new_gpu):
    gpu = new_gpu()
    gpu.allocate(1)
    segment, blocks = gpu.reserved, 1
    while gpu.reserved == segment:
        gpu.allocate(1)
        blocks += 1
    return segment // blocks, segment


# %% mutant="devices_measure_allocator"
# Assumes a power of two
# The size of a block need not be a power of two. Count the blocks of a segment instead of trying sizes.
def measure(new_gpu):
    gpu = new_gpu()
    gpu.allocate(1)
    segment, block = gpu.reserved, 1
    while gpu.reserved > segment or block == 1:
        gpu, block = new_gpu(), block * 2
        gpu.allocate(segment - block)
        gpu.allocate(1)
    return block, segment


# %% mutant="devices_measure_allocator"
# Too large a probe
# A tensor of 1000 bytes may take several of the smallest blocks. Only the smallest request is certain to take one.
def measure(new_gpu):
    gpu = new_gpu()
    size = 1000
    gpu.allocate(size)
    segment, blocks = gpu.reserved, 1
    while gpu.reserved == segment:
        gpu.allocate(size)
        blocks += gpu.reserved == segment
    return segment // blocks, segment


# %% mutant="devices_measure_allocator"
# Adds up the requests
# This adds up the bytes that were requested, although each request was rounded up to a block.
def measure(new_gpu):
    gpu = new_gpu()
    gpu.allocate(1)
    segment, asked = gpu.reserved, 1
    while gpu.reserved == segment:
        gpu.allocate(1)
        asked += gpu.reserved == segment
    return asked, segment


# %% [markdown]
# In PyTorch the smallest block is 512 bytes, and requests of up to 1 MiB share segments of 2 MiB. A thousand tensors
# of one float32 therefore take 512,000 bytes and not 4,000.


# %% [markdown] exercise="devices_current" kind="core" points="1 1 1" part="mytorch.cuda:index_of mytorch.cuda:check_index mytorch.cuda:current_device | mytorch.cuda:set_device | mytorch.cuda:init mytorch.cuda:memory_allocated"
# ### Exercise 8 · The current GPU
# `device("cuda")` doesn't name a particular GPU but means the current one. Looking that up, or checking an index,
# initializes CUDA. Querying the memory in use doesn't, so that a script can log it without paying for start-up.
# `State.gpus` has the methods `count()`, `current()`, `set_current(index)` and `memory(index)`, which returns a dict
# whose entry "allocated" is in bytes. On a machine without GPUs, `State.gpus` is None. `State.initialized` is True
# once a GPU has been used. In this file `device` is the context manager, so the class of devices is called `device_type`.


# %% docstrings="devices_current"
def index_of():
    """Return the index of a GPU, given as an integer, a device, a device string, or None for the current GPU.

    "cuda" and `device("cuda")` also mean the current GPU. An integer is anything that `operator.index` accepts.
    The index isn't checked against the machine.

    Raises:
        ValueError: the device isn't a GPU. "Expected a cuda device, but got: cpu".
    """


def check_index():
    """Return `index` unchanged if the machine has that GPU. Initializes CUDA (`init()`) first.

    Raises:
        RuntimeError: there is no such GPU. "CUDA error: invalid device ordinal". Negative indices don't count from
            the end.
    """


def current_device():
    """Return the index of the GPU that `device("cuda")` means. Initializes CUDA (`init()`) first."""


def set_device():
    """Make a GPU the current one, given by its index, a device, or a device string.

    The argument is checked before anything else, because `State.gpus` is None on a machine without GPUs.
    """


def init():
    """Initialize CUDA: `State.initialized` is True from now on.

    Raises:
        RuntimeError: the machine has no GPU. "No CUDA GPUs are available".
    """


def memory_allocated():
    """Return the bytes that tensors occupy on a GPU, by default on the current one.

    Returns 0 before the first use of a GPU, whatever `where` is, and never initializes CUDA.
    """


# %% check="devices_current" raises="RuntimeError TypeError ValueError"
cuda = mytorch.cuda
generator = check.rng()
count, (first, second) = int(generator.integers(3, 6)), generator.permutation([1, 2]).tolist()
size = int(generator.integers(300, 9000))


def told(call):
    made = []
    problem = check.error(lambda: made.append(call()))
    return problem or made[0], cuda.is_initialized(), cuda.State.gpus.current() if cuda.State.gpus else None


without = {
    f"without GPUs: {name}": told(call)
    for name, call in {
        "memory": lambda: cuda.memory_allocated(),
        "the number 1": lambda: cuda.index_of(1),
        "current": lambda: cuda.current_device(),
        "set": lambda: cuda.set_device(0),
        "set to the CPU": lambda: cuda.set_device("cpu"),
    }.items()
}
cuda.simulate(count)
calls = {
    "memory at first": lambda: cuda.memory_allocated(),
    "memory of GPU 99 at first": lambda: cuda.memory_allocated(99),
    "memory of the CPU at first": lambda: cuda.memory_allocated("cpu"),
    "the number of cuda:1": lambda: cuda.index_of("cuda:1"),
    "the number of the CPU": lambda: cuda.index_of("cpu"),
    "a tensor with a whole number": lambda: type(cuda.index_of(mytorch.tensor(2))).__name__,
    "half a number": lambda: cuda.index_of(0.5),
    "current": lambda: cuda.current_device(),
    "set": lambda: cuda.set_device(mytorch.device("cuda", first)),
    "None": lambda: cuda.index_of(None),
    "cuda": lambda: cuda.index_of(mytorch.device("cuda")),
    "memory of GPU 0": lambda: cuda.memory_allocated(0),
    "set to one that is missing": lambda: cuda.set_device(count),
    "set to −1": lambda: cuda.set_device(-1),
    "a tensor": lambda: mytorch.ones(size, device="cuda").device,
    "set by a text": lambda: cuda.set_device(f"cuda:{second}"),
    "memory of the current one": lambda: cuda.memory_allocated(),
    "set to 0": lambda: cuda.set_device(0),
}
kept = mytorch.ones(int(generator.integers(1000, 9000)), device=first)
cuda.State.initialized = False
shown = {name: told(call) for name, call in calls.items()}
shown["memory of the other"] = cuda.memory_allocated(first)
del kept
shown["memory when it is gone"] = cuda.memory_allocated(first)
check.show(
    without | shown,
    text="Each call's result, whether CUDA is initialized after it, and the GPU that is current then.",
)

# %% [markdown] hint="devices_current"
# `index_of` needs `current_device()` in two cases: for None, and for a device without an index. `device_type(where)`
# makes a device of a string.

# %% [markdown] hint="devices_current"
# `current_device` and `check_index` begin with `init()`. `set_device` is `check_index(index_of(where))`, followed by
# `State.gpus.set_current(index)`.

# %% [markdown] hint="devices_current"
# `memory_allocated` returns 0 before anything else if `not State.initialized`. Otherwise it returns
# `State.gpus.memory(check_index(index_of(where)))["allocated"]`.


# %% mutant="devices_current"
# "cuda" is GPU 0
# Without an index, "cuda" means the current GPU, whichever that is.
def index_of(where):
    if where is None:
        return current_device()
    if isinstance(where, (str, device_type)):
        named = device_type(where)
        if named.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {named}")
        return named.index or 0
    return operator.index(where)


# %% mutant="devices_current"
# Counts from the end
# The index of a GPU isn't an index into a list, so −1 names no GPU.
def check_index(index):
    init()
    if not -device_count() <= index < device_count():
        raise RuntimeError("CUDA error: invalid device ordinal")
    return index % device_count()


# %% mutant="devices_current"
# Sets a GPU that doesn't exist
# The index has to be checked before its GPU becomes the current one.
def set_device(where):
    State.gpus.set_current(min(index_of(where), device_count() - 1))


# %% mutant="devices_current"
# Looks up the method first
# Python looks up `State.gpus.set_current` before it computes the argument. Without GPUs `State.gpus` is None, so this fails
# before `check_index` can say what is wrong. Check on a line of its own.
def set_device(where):
    State.gpus.set_current(check_index(index_of(where)))


# %% mutant="devices_current"
# Takes any number
# 0.5 names no GPU. `operator.index` accepts whole numbers and refuses everything else.
def index_of(where):
    if where is None:
        return current_device()
    if isinstance(where, (str, device_type)):
        named = device_type(where)
        if named.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {named}")
        return current_device() if named.index is None else named.index
    return int(where)


# %% mutant="devices_current"
# Starts CUDA to ask for memory
# Before the first tensor the answer is 0, and it must cost nothing, because a program that only asks should not
# initialize CUDA.
def memory_allocated(where=None):
    return int(State.gpus.memory(check_index(index_of(where)))["allocated"])


# %% mutant="devices_current"
# Initializes without a GPU
# On a machine without GPUs, a call that needs one has to raise an error.
def init():
    State.initialized = True
