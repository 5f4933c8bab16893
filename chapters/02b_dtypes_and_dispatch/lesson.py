# %% [markdown] tags=["short"]
# # Types and dispatch
# When you're done, your library picks the type of each result as PyTorch does, and one line turns a function of NumPy
# into an operation that you can call as a function and as a method, with its operands converted.
#
# ## A counter that stops
# Start at 0 and add 1, six hundred times, with one tensor for each type. Where do the counters end?

# %% tags=["proof-stuck"]
import numpy as np

import minitorch as torch
from course import check, pictures

counts = {}
for kind in (torch.float16, torch.bfloat16, torch.uint8):
    counter, seen = torch.zeros((), dtype=kind), []
    for _ in range(600):
        counter = counter + 1
        seen.append(counter.item())
    counts[str(kind)[6:]] = seen
print({name: seen[-1] for name, seen in counts.items()})
pictures.curves(counts, xlabel="additions", ylabel="counter")

# %% [markdown] tags=["short"]
# Only one of them can count to 600. uint8 wraps around after 255. bfloat16 gets to 256 and stays there, because it can't
# represent 257. So the type of a result matters, and in `counter + 1` you didn't name one. PyTorch picked it, but how?
#
# ## The smallest model
# Two operands come in, and one type has to come out. A sensible rule: the larger one wins, because it has more room.


# %%
def toy_type(*operands):
    """The widest of the operands' types."""
    kinds = [x.dtype if isinstance(x, torch.Tensor) else torch.tensor(x).dtype for x in operands]
    return max(kinds, key=lambda kind: kind.itemsize)


small, large = torch.tensor([1, 2], dtype=torch.int8), torch.tensor([1, 2], dtype=torch.int32)
print("toy:", toy_type(small, large), "  PyTorch:", (small + large).dtype)

# %% [markdown]
# Now break it, twice:

# %%
whole, half = torch.tensor([1, 2]), torch.tensor([1.0, 0.5], dtype=torch.float16)
for name, operands in (("int64 and float16", (whole, half)), ("float16 and 2.5", (half, 2.5))):
    print(f"{name}:  toy {toy_type(*operands)},  PyTorch {(operands[0] + operands[1]).dtype}")

# %% [markdown] tags=["short"]
# The first answer of the toy would cut 0.5 down to 0, since int64 holds no fractions. The second would turn a network in
# float16 into one in float32 at the first `* 2.5`. Both mistakes have names.
#
# ## Which type wins · type promotion
# There are four **categories**, from low to high: bool, integer, floating point, and complex, which `mytorch` leaves out.
# Category comes before size: an integer tensor and a floating-point one give a floating-point result, and size decides only
# within a category. The table has ten types. Two pairs give a third type: u8 with i8, and f16 with bf16.

# %%
kinds = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
kinds += [torch.float16, torch.bfloat16, torch.float32, torch.float64]
short = [str(kind)[6:].replace("float", "f").replace("int", "i").replace("ui", "u") for kind in kinds]
print("     ", *(f"{name:5}" for name in short))
for name, one in zip(short, kinds, strict=True):
    common = [torch.promote_types(one, other) for other in kinds]
    print(f"{name:5}", *(f"{short[kinds.index(each)]:5}" for each in common))

# %% [markdown]
# Operands also come in three **groups**, in this order: tensors with dimensions, tensors without, Python numbers. A later
# group decides only if its category is *higher*. Guess each dtype and each value before you run the cell.

# %% tags=["proof-promotion"]
print(torch.tensor([1]) + 2.5)
print(half * 2.5)
print(half * torch.tensor([70000.0], dtype=torch.float64))
print(half * torch.tensor(70000.0, dtype=torch.float64))
print(half * 60000 - 70000.0)
print(torch.tensor([250], dtype=torch.uint8) + 10)

# %% [markdown]
# The third and fourth lines differ by a pair of brackets. With them, the second operand is a tensor with dimensions,
# and the wider type wins. Without them it is a scalar, and the *result* is float16, which can't hold 70000 but can hold half
# of it. So the scalar wasn't rounded first: a product or quotient takes a scalar on its right as it is, computes in float32,
# and rounds once. On the CPU a sum or difference doesn't: in the fifth line 70000 first becomes a float16, which is inf.
#
# **Interview · A float16 tensor times a float64 scalar: which dtype?**
#
# - *Thirty seconds:* float16, if the scalar is a Python number or a tensor without dimensions: the category is the
#   same, so the tensor with dimensions decides. With a float64 tensor of shape (1,) it is float64.
# - *They ask next:* int64 with float16? float16, although it holds fewer integers. Category comes before size.
# - *The trap:* Adding doesn't widen integers: 250 + 10 is 4 in uint8. *Proof:* `proof-promotion`.
#
# ### Where the result's type is fixed
# An in-place operation can't choose: the result goes into memory that already has a type. A conversion gives the type you
# ask for.

# %% tags=["proof-fixed"]
print("1.", check.error(whole.add_, 0.5))
print("2.", half.add_(torch.tensor([1.0, 1.0], dtype=torch.float64)))
print("3.", torch.tensor([-1.7, 2.5]).to(torch.int32).tolist(), torch.tensor([2.5, 3.5]).round().tolist())
print("4.", torch.tensor([300, -1]).to(torch.uint8).tolist())
print("5.", half.to(torch.float16) is half, half.to(torch.float32) is half)

# %% [markdown]
# In place, a higher category is refused, and a wider type of the same category is silently converted down. `to` cuts
# fractions off toward 0, while `round` goes to the nearest integer, and halfway cases go to the even one. Integers wrap
# around. And `to` returns the tensor itself when nothing has to change.
#
# **Interview · `x += 0.5` on integers: what happens?**
#
# - *Thirty seconds:* It raises, because the result is floating point and x's memory holds integers. `x = x + 0.5` makes a new
#   tensor.
# - *They ask next:* And adding a float64 tensor to a float16 one in place? That works. The result is rounded to float16.
# - *The trap:* `x.to(dtype)` may be `x` itself. Writing into it then changes `x`. *Proof:* `proof-fixed`.
#
# ## What the bits of a float say
# A float has a sign bit, some bits of exponent, and the rest is fraction. The value is
# $\pm\, 1.\text{fraction} \times 2^{\text{exponent} - \text{bias}}$, and close to 0, where the exponent's bits are all 0,
# $\pm\, 0.\text{fraction} \times 2^{1 - \text{bias}}$. Move the slider and watch the two types that have 16 bits:


# %%
def sixteen_bits(number):
    rows = []
    for kind, exponent in ((torch.float16, 5), (torch.bfloat16, 8)):
        value = torch.tensor(number, dtype=kind)
        bits = [int(bit) for bit in f"{value.view(torch.int16).item() & 0xFFFF:016b}"]
        mask = [[1 <= place <= exponent for place in range(16)]]
        rows += [(f"{str(kind)[6:]}: {number:g} is stored as {value.item():.9g}", [bits], mask), "↓"]
    return pictures.grids(*rows[:-1])


pictures.slider(sixteen_bits, start={"number": 0.1}, number=[1.0, 2.0, 0.1, -0.1, 257.0, 65504.0, 70000.0, 1e-7, 1e-8])

# %% [markdown]
# The marked bits are the exponent; if all of them are 1, the number is inf or nan. float16 has five of them and ten for the fraction; bfloat16 has eight, as float32 does, and
# seven for the fraction. So 70000 is too large for float16, 257 is too fine for bfloat16, and 1e-8 is 0 in float16.
#
# ## Data types and their limits
# The **dtype** says how many bytes an element has and what they mean. `finfo` and `iinfo` give the limits. `type()` is
# the older name, which also tells the device.

# %% tags=["proof-dtypes"]
print(f"{'dtype':9} bytes  {'type()':21} {'largest':12} eps")
for kind in kinds:
    x = torch.zeros(1, dtype=kind)
    about = f"{str(kind)[6:]:9} {x.element_size():5}  {x.type():21}"
    if kind.is_floating_point:
        about += f" {torch.finfo(kind).max:<12.6g} {torch.finfo(kind).eps:.3g}"
    elif kind != torch.bool:
        about += f" {torch.iinfo(kind).max:<12.6g}"
    print(about)

# %% [markdown]
# ### Myth · "There are eight types, and `finfo` knows three"
# The table has ten, four of them for `finfo`, and it leaves out the complex types. PyTorch 2.13 has more: unsigned integers
# of 16, 32 and 64 bits, which support few operations (two uint16 can't be added), and float8 in several formats, which
# `finfo` knows too.
#
# `eps` is the step from 1 to the next number. Numbers between the two can't be represented. Measure that step for small and
# large numbers:

# %% tags=["proof-16-bits"]
magnitudes = [10.0**k for k in range(-4, 9)]
steps = {}
for kind in (torch.bfloat16, torch.float16, torch.float32):
    fits = [m for m in magnitudes if m <= torch.finfo(kind).max]
    x = torch.tensor(fits, dtype=kind)
    steps[str(kind)[6:]] = (fits, (x.nextafter(x * 0 + torch.inf) - x).double().tolist())
ones = torch.ones(1000, dtype=torch.bfloat16)
print("bfloat16: 256 + 1 =", (ones[0] * 256 + 1).item(), "  sum of 1000 ones:", ones.sum().item())
print("float16:  65504 · 2 =", (torch.tensor(65504, dtype=torch.float16) * 2).item())
pictures.curves(steps, xlabel="number", ylabel="step to the next number", log="xy")

# %% [markdown]
# **Interview · float16 or bfloat16?**
#
# - *Thirty seconds:* Both have 16 bits. float16 has finer steps and ends at 65504. bfloat16 has nearly float32's range,
#   with steps eight times as wide, except close to 0.
# - *They ask next:* Why does float16 need loss scaling? Small gradients become 0 in it
#   ([chapter 22](22_mixed_precision.ipynb)).
# - *The trap:* Adding up in a loop. In bfloat16, 256 + 1 is 256. `sum` gets it right, because it adds in float32 and
#   rounds once. *Proof:* `proof-16-bits`.
#
# ### Equal, or nearly
# Rounding makes the order of a sum matter, and `==` a poor test:

# %% tags=["proof-nearly", "last digits: that the order of adding matters is what this cell shows"]
apart, together = torch.tensor([1e8, 1.0, -1e8]), torch.tensor([1e8, -1e8, 1.0])
print("sums:", apart.sum().item(), together.sum().item(), "  in float64:", apart.double().sum().item())
tenths = torch.tensor([0.1, float("nan")], dtype=torch.float64)
target = torch.tensor([0.3, float("nan")], dtype=torch.float64)
print("0.1 + 0.2 == 0.3, nan == nan:", (tenths + 0.2 == target).tolist())
print("isclose:                     ", torch.isclose(tenths + 0.2, target, equal_nan=True).tolist())

# %% [markdown]
# **Interview · How do you compare two floating-point tensors?**
#
# - *Thirty seconds:* With a tolerance: `allclose`, or `testing.assert_close`, which also compares dtype and shape. Two correct
#   programs that add in another order differ in the last digits.
# - *They ask next:* What do `rtol` and `atol` mean? $|x - y| \le \text{atol} + \text{rtol} \cdot |y|$. Near 0, where rtol times y
#   vanishes, atol decides.
# - *The trap:* nan equals nothing, not even nan. `equal_nan=True` changes that. *Proof:* `proof-nearly`.

# %% [markdown] given="mytorch.dispatch:LAYERS mytorch.dispatch:run_kernel"
# ## One declaration, every call
# Your library will have about eighty operations. Each has a **kernel**, a function on arrays, which is declared once. From
# then on you can call the operation as a function and as a method, and it converts types. Between a call and its kernel there
# is a stack of **layers**; in PyTorch this is the *dispatcher*. A layer is a function with three arguments: the operation, the
# call's arguments, and `below`, which it calls to continue. The stack has four slots, which are empty now; later chapters fill
# them. Declare an operation, borrow the top slot for a layer that prints, and watch the calls.

# %% tags=["proof-layers"]
from course import lesson

mytorch = lesson.mytorch("02b")  # as of this chapter, using your code wherever you've solved the exercise

from mytorch.dispatch import LAYERS, fill
from mytorch.pointwise import pointwise_float

softplus = pointwise_float(lambda x: np.log1p(np.exp(x)), "softplus")


def announce(op, args, below):
    print("→", op.name, [str(getattr(each, "dtype", each)) for each in args])
    return below(op, args)


fill("autocast", announce)
x = mytorch.tensor([0, 1, 2])
mytorch.add(x, 1), x + 1, x.square()
print(x.softplus())
fill("autocast", None)
print("the stack:", LAYERS)
stack = {"autocast": "borrowed by announce", "trace": "chapter 08", "record": "chapter 06", "device": "chapter 05"}
pictures.layers(stack, call="softplus(x)", path=["autocast"], kernels=["NumPy"], chosen="NumPy", result="tensor")

# %% [markdown] tags=["short"]
# `softplus` got integers, and its result is float32: `pointwise_float` says that integers become the default dtype. The work
# is done by `run_in_common_type`, which you'll write: find the common type, convert the operands, call the kernel.
#
# **Interview · What happens between `torch.add(x, y)` and the addition?**
#
# - *Thirty seconds:* The call goes down the dispatcher. Each layer that applies (autocast, autograd) does its part and
#   passes the call on. The device's kernel comes last.
# - *They ask next:* Do methods and operators take another path? No, `x + 1` is the same call as `add(x, 1)`.
# - *The trap:* One call can run another operation. Above, `square` runs `mul`; in PyTorch it runs `pow`.
#   *Proof:* `proof-layers`.
#
# ### Who decides which layers apply
# In the cell above the layer saw each call. PyTorch is choosier: each tensor carries a set of **dispatch keys**, one for
# each layer that wants to see it, and a call goes to the highest key that one of its operands has and that isn't switched
# off. Twelve lines show the idea:


# %% tags=["proof-keys"]
ORDER = ["Autocast", "Autograd", "CPU", "Meta"]  # from the top down
table = {
    "Autograd": lambda call, keys: "note a node, then " + call(keys - {"Autograd"}),
    "CPU": lambda call, keys: "add the numbers",
    "Meta": lambda call, keys: "work out the shape",
}


def call(keys):
    return table[min(keys & table.keys(), key=ORDER.index)](call, keys)


print("CPU tensor:            ", call({"CPU", "Autograd"}))
print("made in inference_mode:", call({"CPU"}))
print("meta tensor:           ", call({"Meta", "Autograd"}))

# %% [markdown]
# The toy has one operation. PyTorch's table has a row for each operation and a column for each key. A new device adds a column
# of kernels, and autograd stays as it is. A new operation adds a row.
#
# **Interview · What is a dispatch key?**
#
# - *Thirty seconds:* A bit in a set that each tensor carries: its backend (CPU, CUDA, Meta) and the features on top of it
#   (Autograd, Autocast). The dispatcher runs the kernel of the highest key. That kernel does its part, masks its key out, and
#   calls again.
# - *Longer:* PyTorch 2.13 gives an ordinary tensor `DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)`,
#   whether it requires grad or not. Tensors made in `inference_mode`
#   have neither ADInplaceOrView nor AutogradCPU; `autocast` and others switch keys on and off for the thread.
# - *They ask next:* Which key would a backend of your own use? PrivateUse1, which is kept free for that.
# - *The trap:* A tensor without `requires_grad` still passes the autograd layer, which finds nothing to note.
#   *Proof:* `proof-keys`.
#
# ### Myth · "Tensors are faster than ndarrays"
# How much time do the layers cost? Add float32 numbers on this CPU, once as an ndarray and once as a tensor.

# %% tags=["proof-not-faster"]
import timeit

sizes = [10, 100, 1000, 10_000, 100_000, 1_000_000]
times = {"ndarray": [], "tensor": []}
for size in sizes:
    a = np.ones(size, np.float32)
    for name, value in (("ndarray", a), ("tensor", torch.from_numpy(a))):
        times[name].append(min(timeit.repeat(lambda value=value: value + value, number=100, repeat=7)) / 100 * 1e6)
ALT = "The time of a + a in microseconds, for an ndarray and a tensor of 10 to 1,000,000 elements."
print("10 elements, slower:", max(times, key=lambda name: times[name][0]))
pictures.curves(times, sizes, xlabel="elements", ylabel="time of a + a (µs)", log="xy", alt=ALT)

# %% [markdown]
# For ten numbers the layers take longer than the sum itself. You measured minitorch. Here is PyTorch 2.13 on a machine with
# two cores, in microseconds, the best of several runs:
#
# | elements | ndarray | tensor, one thread | tensor, two threads |
# |---|---|---|---|
# | 10 | 0.23 | 0.86 | 0.89 |
# | 1,000 | 0.37 | 0.96 | 1.0 |
# | 100,000 | 4.8 | 6.6 | 5.6 |
# | 1,000,000 | 66 | 68 | 46 |
# | 4,000,000 | 490 | 540 | 220 |
#
# At small sizes NumPy wins. On one thread the tensor only draws level; with two it wins, once there is enough to share
# out.
#
# ## Mean and variance
# Operations can also be made of others. A variance is the mean squared distance from the mean. Take a die, list all 216
# results of rolling it three times, and compute the variance of each three rolls. What is the average of these variances?

# %% tags=["proof-bessel"]
die = torch.arange(1.0, 7.0)
rolls = torch.cartesian_prod(die, die, die)
print(f"variance of the die: {die.var(correction=0).item():.4f}")
for correction in (0, 1):
    print(f"three rolls, over 3 - {correction}: {rolls.var(1, correction=correction).mean().item():.4f} on average")
print(f"std of 1, 2, 6:  torch {torch.tensor([1.0, 2.0, 6.0]).std().item():.4f}, NumPy {np.std([1.0, 2.0, 6.0]):.4f}")

# %% [markdown]
# Three rolls are closer to their own mean than to the die's, so the variance over n comes out too small. Dividing by n − 1
# is right on average (**Bessel's correction**), and it is PyTorch's default. You'll write `mean` and `var`, where types of 16
# bits need care.
#
# **Interview · Why do `torch.std` and `np.std` differ?**
#
# - *Thirty seconds:* PyTorch divides by n − 1 by default, NumPy by n. The argument is `correction` in one, `ddof` in the other.
# - *They ask next:* What does `std` give for a single number? nan, because n − 1 is 0.
# - *The trap:* Batch norm uses both: n to normalize, n − 1 for its running variance
#   ([chapter 12](12_norm_dropout_and_modes.ipynb)). *Proof:* `proof-bessel`.
#
# ## The real one
# `minitorch` looks up the common type as your library will. In addition it does something for speed:

# %%
import inspect

from minitorch.dispatch import promotion

print(inspect.getsource(promotion.fits))

# %% [markdown] tags=["short"]
# Converting a number is expensive compared with adding a few elements, so `minitorch` asks whether it can be left to NumPy.
# `common` is the type that the tensors gave, `category` is 0 for bool and 2 for floating point, and `is_low_precision` is true
# for types of 16 bits. Your library always converts, so it needs no such function, and takes longer.
#
# ## Ten lines to remember
# 1. Category first (bool, integer, floating point), then size.
# 2. A scalar (a number or a tensor without dimensions) decides only if its category is higher.
# 3. uint8 with int8 gives int16; float16 with bfloat16 gives float32.
# 4. Integers that overflow wrap around. Floating-point numbers become inf.
# 5. In place, the memory keeps its type: a higher category raises, a wider type is rounded.
# 6. float16 ends at 65504. bfloat16 has nearly float32's range, and steps of 1/128 at 1.
# 7. Compare with a tolerance. nan equals nothing.
# 8. A call goes down the dispatcher's layers to a kernel, by the keys that the tensors carry.
# 9. For a few numbers, the layers take longer than the sum.
# 10. PyTorch's `var` and `std` divide by n − 1, NumPy's by n.
#
# **Rapid fire.** One line each; the cell below has the proofs.
#
# - *dtype of a uint8 tensor over 2?* float32: division computes with floats.
# - *dtype of a sum of uint8?* int64.
# - *dtype of a comparison?* bool.
# - *Largest int8?* 127.
# - *`tensor(True) + True`?* True: two bools stay bool.

# %% tags=["proof-rapid-fire"]
small = torch.tensor([100, 200], dtype=torch.uint8)
print((small / 2).dtype, small.sum().dtype, (small > 1).dtype, torch.iinfo(torch.int8).max)
print(torch.tensor(True) + True)

# %% [markdown]
# ## You try
# [Seven exercises](../exercises/02b_dtypes_and_dispatch.ipynb), 18 points. Three of them write `mytorch`: promotion, what an operation does with its operands, `mean` and
# `var`. The others are a prediction, a rounding by hand, a repair and a measurement.
# [Chapter 03](03_views_and_layout.ipynb) changes shapes without moving a number.
