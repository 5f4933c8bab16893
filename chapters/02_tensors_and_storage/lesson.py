# %% [markdown] tags=["short"]
# # Tensors and storage
# When you're done, a tensor library of your own makes tensors from lists and from NumPy's memory, reads an image
# without copying it, and prints PyTorch's random numbers for the same seed. All it needs is NumPy.
#
# ## Four tensors from one array
# Here are four ways to make a tensor from an array. Afterwards the array changes. Which of the tensors change with it?

# %% tags=["proof-one-array"]
import numpy as np

import minitorch as torch
from course import check, pictures

row = np.array([1.0, 2.0, 3.0])
made = {
    "torch.tensor(row)": torch.tensor(row),
    "torch.from_numpy(row)": torch.from_numpy(row),
    "torch.as_tensor(row)": torch.as_tensor(row),
    "torch.as_tensor(row, float32)": torch.as_tensor(row, dtype=torch.float32),
}
row[0] = 100
for call, t in made.items():
    print(f"{call:30}", t)

# %% [markdown] tags=["short"]
# Two of them changed, though nobody wrote to a tensor. So a tensor can't simply be its numbers. It is a way of
# *finding* numbers in a piece of memory, and other objects may use the same piece.
#
# ## The smallest model
# Memory is one flat row of numbers. Suppose a tensor is such a row and a shape. To find element `[i, j]`, skip `i`
# whole rows and then `j` elements.


# %%
class Toy:
    """A flat row of numbers, and a shape."""

    def __init__(self, flat, shape):
        self.flat, self.shape = flat, shape

    def __getitem__(self, index):
        place = 0
        for i, length in zip(index, self.shape, strict=True):
            place = place * length + i
        return self.flat[place]


memory = np.arange(6)
toy = Toy(memory, (2, 3))
memory[4] = 40
print("toy[0, 2] =", toy[0, 2], "  toy[1, 1] =", toy[1, 1])

# %% [markdown]
# The toy sees the write, as the tensor of `from_numpy` did. Now break it. NumPy's `.T` swaps rows and columns without
# moving a number. Give the toy the same memory and the swapped shape.

# %%
swapped = memory.reshape(2, 3).T
toy = Toy(memory, swapped.shape)
read = [[int(toy[i, j]) for j in range(2)] for i in range(3)]
print("same memory:", np.shares_memory(swapped, memory), "  array:", swapped.tolist(), "  toy:", read)
pictures.grids(("the array", swapped), "≠", ("the toy", read))

# %% [markdown]
# The memory is right, the shape is right, and the result is still wrong. What is missing is *how to step*. The toy works
# the steps out from the shape, but `.T` needs different ones, so store them:
#
# - the **stride** of a dimension is how far to move in memory, in elements, for one step along it;
# - the **offset** is where the view starts.
#
# Element $(i, j)$ is at $\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1$. Move the sliders:
# `(3, 1)` goes through neighbours, `(1, 3)` goes down the columns of a table three wide, and `(0, 1)` reads one row
# twice.


# %%
def two_by_three(stride, offset):
    return pictures.storage(range(12), {"x": ((2, 3), stride, offset)})


pictures.slider(two_by_three, stride=[(3, 1), (1, 3), (6, 1), (2, 2), (0, 1)], offset=range(4))

# %% [markdown] tags=["short"] given="mytorch.tensor:Storage mytorch.tensor:Tensor.__init__ mytorch.tensor:Tensor.array"
# ## What a tensor is made of
# `mytorch` is the library that you are about to write. Its tensor is little more than this: a storage, and a strided view of
# it. The code below is given; the last two pieces are methods of `Tensor`. `version` counts writes, for chapter 03. You
# will write `strided`: it takes a flat array, sizes, strides and an offset, and makes an array on the same memory.

# %%
from course import lesson

mytorch = lesson.mytorch(2)  # as of this chapter, using your code wherever you've solved the exercise

from mytorch.tensor import Storage, Tensor

shared = Storage(np.arange(12, dtype=np.float32))
table = Tensor(shared, (3, 4), (4, 1))
swapped = Tensor(shared, (4, 3), (1, 4))
corner = Tensor(shared, (2, 2), (4, 1), offset=6)
shared.flat[6] = 60
print(table, swapped, corner, sep="\n")

# %% [markdown]
# ### An image in somebody else's memory
# A camera delivers pictures 8 pixels wide and pads each row to 10 numbers, because its hardware prefers rows that begin at
# round addresses. The buffer is one flat row of numbers, and you want the picture without copying it. The shape is (8, 8).
# Which strides do you need? Try the slider before you read on.


# %%
LETTER = ["..####..", ".##..##.", ".##.....", "..####..", ".....##.", ".##..##.", "..####..", "........"]
buffer = np.array([[pixel == "#" for pixel in row + ".."] for row in LETTER], np.float32).ravel()


def picture(row_stride):
    view = Tensor(Storage(buffer), (8, 8), (row_stride, 1))
    return pictures.grid(view.numpy().astype(int), view.numpy() > 0, f"strides ({row_stride}, 1)")


pictures.slider(picture, row_stride=[8, 9, 10])

# %% [markdown]
# With (8, 1) each row begins two numbers too early, and the error adds up, so the letter leans and breaks. With (10, 1) the
# view steps over the padding. A picture that leans is the classic sign of a wrong row stride. Transposing is a matter of
# strides too, and so is flipping in NumPy, but not in PyTorch:

# %% tags=["proof-padded"]
image = Tensor(Storage(buffer), (8, 8), (10, 1))
transposed = Tensor(image.storage, (8, 8), (1, 10))
print("the S, in pixels:", int(image.numpy().sum()), "of", image.numel(), "  storage:", len(image.storage))
print("transposed:", transposed.stride(), "  contiguous:", image.is_contiguous())
print("reversed by NumPy:", image.numpy()[::-1].strides, "bytes")
print("as a tensor:", str(check.error(torch.from_numpy, image.numpy()[::-1]))[:63], "...")

# %% [markdown]
# NumPy reverses an array with a negative stride. PyTorch's tensors can't have one, so `from_numpy` raises, and `flip` copies.
#
# ### Attributes
# Shape, stride and offset are three of a tensor's attributes. Two more say how to read the bytes and where they are:
# `dtype` and `device`. Functions like `empty` and `zeros` store the elements row by row unless you ask for something else;
# the `_like` functions copy the order of their argument, as the last line shows. You'll write the rule as
# `contiguous_strides`.

# %% tags=["proof-made-of"]
x = torch.arange(12.0).reshape(3, 4)[1:, ::2]
print("shape", x.shape, "  stride", x.stride(), "  offset", x.storage_offset())
print("dtype", x.dtype, "  device", x.device)
print("bytes", x.nbytes, "of its own, in a storage of", x.untyped_storage().nbytes())
print("new  ", {size: torch.empty(size).stride() for size in [(5,), (2, 3), (4, 2, 3), (3, 0, 2)]})
print("like a transposed one:", torch.zeros_like(torch.empty(2, 3).t()).stride())

# %% [markdown]
# ### The storage has no type
# The dtype belongs to the tensor, and the storage is a row of bytes. Give the same bytes another dtype with `view`:

# %% tags=["proof-untyped"]
numbers = torch.tensor([1.0, -2.0])
whole = numbers.view(torch.int32)
print(whole.tolist(), numbers.view(torch.uint8).tolist())
whole[0] += 1 << 23  # one more in the exponent
print(numbers, "  bytes in the storage:", numbers.untyped_storage().nbytes())
print("converted instead:", numbers.to(torch.int32).tolist())

# %% [markdown]
# `view(dtype)` converts nothing: it reads 1.0's bytes as an integer, and adding 1 to the bits of the exponent doubled
# the number. `to(dtype)` keeps the values as well as the new type can, and makes new bytes.
# [Chapter 02b](02b_dtypes_and_dispatch.ipynb) explains what the bits of a float mean.
#
# **Interview · What is a tensor made of?**
#
# - *Thirty seconds:* A storage, which is a flat piece of memory on one device, and what you need to read it: dtype,
#   shape, strides and storage offset. Autograd adds `requires_grad`, `grad` and `grad_fn` (chapter 06).
#   (Sparse tensors are built differently.)
# - *Longer:* Several tensors can share a storage. A view has its own shape, strides and offset, and copies nothing.
# - *They ask next:* Are strides counted in bytes? In PyTorch they count elements; in NumPy, bytes.
# - *The trap:* `x.nbytes` counts what the shape holds; the storage may be larger. *Proof:* `proof-made-of`.
#
# That difference can be expensive. Keep one number out of a million:

# %% tags=["proof-one-number"]
import io

big = torch.zeros(1000, 1000)
one = big[0, 0]
del big
file = io.BytesIO()
torch.save(one, file)
print("elements", one.numel(), "  storage", one.untyped_storage().nbytes(), "bytes")
print("saved:", round(len(file.getvalue()) / 1e6, 1), "MB")
print("after clone:", one.clone().untyped_storage().nbytes(), "bytes")
counts, held = [1, 100, 10_000, 1_000_000], {"view": [], "clone": []}
for count in counts:
    view = torch.zeros(1_000_000)[:count]
    for name, each in (("view", view), ("clone", view.clone())):
        held[name].append(each.untyped_storage().nbytes())
ALT = "A view of 1 to 1,000,000 numbers holds 4,000,000 bytes; a clone holds four for each number."
pictures.curves(held, counts, xlabel="numbers kept", ylabel="memory held (bytes)", log="xy", alt=ALT)

# %% [markdown]
# **Interview · You keep one element of a large tensor. How much memory do you keep?**
#
# - *Thirty seconds:* All of it. `big[0, 0]` is a view, and a view holds on to the storage. `clone()` copies the element
#   into memory of its own.
# - *They ask next:* What does `torch.save` write? The whole storage ([chapter 20](20_saving_and_loading.ipynb)).
# - *The trap:* `del big` frees nothing while the view lives. *Proof:* `proof-one-number`.
#
# ### One storage, no shared element
# Two views of one storage don't have to share an element. Here are the numbers at even and at odd positions of six:

# %% tags=["proof-apart"]
six = torch.arange(6)
even, odd = six[::2], six[1::2]
same = even.untyped_storage().data_ptr() == odd.untyped_storage().data_ptr()
odd += 100
print("even", even.tolist(), "  odd", odd.tolist(), "  one storage:", same)
print("NumPy says: may share", np.may_share_memory(even.numpy(), odd.numpy()), end="")
print(", shares", np.shares_memory(even.numpy(), odd.numpy()))
print("addresses of two empty storages:", [torch.empty(n, 0).untyped_storage().data_ptr() for n in (1, 2)])
pictures.storage(six, {"even": even, "odd": odd})

# %% [markdown]
# **Interview · Do `x[::2]` and `x[1::2]` share memory?**
#
# - *Thirty seconds:* They share the storage and no element. A write to one is never seen in the other.
# - *Longer:* Comparing `untyped_storage().data_ptr()` tells you whether the storage is the same. Comparing the ranges from
#   first to last element tells you whether the views *may* overlap. To be sure you need the strides.
# - *They ask next:* When does it matter? When you save several tensors in one file, for instance: shared weights should be
#   written once.
# - *The trap:* `x.data_ptr()` is the address of the first element, so two overlapping views can have different ones. And
#   tensors without elements may all have the address 0, even if their storages are different.
#   *Proof:* `proof-apart`.
#
# ## Creating tensors
# You can make a tensor from data, from a NumPy array, like another tensor, from constants, or from random numbers.
# Before you run the cell, decide which of these aren't float32.

# %% tags=["proof-created"]
whole = torch.tensor([[1, 2], [3, 4]])
examples = {
    "tensor([[1, 2], [3, 4]])": whole,
    "tensor([1, 2.0])": torch.tensor([1, 2.0]),
    "from_numpy(np.zeros(2))": torch.from_numpy(np.zeros(2)),
    "ones_like(whole)": torch.ones_like(whole),
    "zeros(2)": torch.zeros(2),
    "full((2,), 7)": torch.full((2,), 7),
    "arange(3)": torch.arange(3),
    "arange(0, 1, 0.5)": torch.arange(0, 1, 0.5),
}
for call, t in examples.items():
    print(f"{call:26} {t.dtype!s:14} {t.tolist()}")
random = torch.rand_like(whole, dtype=torch.float)
print("rand_like:", type(check.error(torch.rand_like, whole)).__name__, "  with a dtype:", random.dtype)

# %% [markdown]
# The data decides. Python's integers become int64, its floats the *default dtype* (chapter 01). An array keeps its
# type, and the `_like` functions keep the tensor's. `zeros`, `ones` and `rand` have no data to look at, so they take
# the default dtype.
#
# ### Tensor or tensor
# `torch.tensor` is a function: it takes data and infers the type. `torch.Tensor` is the class: it takes a list, an
# array *or sizes*, and the result has the default dtype. Given sizes, it doesn't initialize the memory, which holds
# whatever was there before.
#
# ### Myth · "torch.Tensor is an alias of FloatTensor"
# An alias would always make float32. Change the default dtype and look.

# %% tags=["proof-constructor"]
print("tensor(3):", torch.tensor(3), "  Tensor(3) has shape", torch.Tensor(3).shape)
print("[1, 2]:   ", torch.tensor([1, 2]).type(), torch.Tensor([1, 2]).type())
torch.set_default_dtype(torch.float64)
print("float64 default:", torch.Tensor([1, 2]).type(), "  one class:", torch.Tensor is torch.FloatTensor)
torch.set_default_dtype(torch.float32)
print("whole is a Tensor:", isinstance(whole, torch.Tensor))
print("whole is a FloatTensor:", isinstance(whole, torch.FloatTensor))

# %% [markdown]
# ### Myth · "Write `torch.tensor(data, dtype)`"
# The type is a keyword argument. As a second positional argument it is refused:

# %% tags=["proof-keyword"]
print(check.error(torch.tensor, [1, 2], torch.float32))
print(torch.tensor([1, 2], dtype=torch.float32))

# %% [markdown]
# **Interview · `torch.Tensor` or `torch.tensor`?**
#
# - *Thirty seconds:* Use `tensor` for data. `Tensor` is the class of all tensors. Its constructor turns integers into
#   floats, and takes a single integer for a size.
# - *They ask next:* Does `tensor` copy? Yes, a NumPy array too (first cell). *The trap:* `Tensor(3)`.
# - *Proof:* `proof-constructor`.
#
# ## NumPy and back
# Both directions share memory, so a write on one side shows on the other. Three conversions below are refused (1 to 3).
# Error 4 is the one you're likely to meet first in training code: NumPy's float64 stays float64, and the weights are float32.

# %% tags=["proof-NumPy"]
array = np.zeros(3)
t = torch.from_numpy(array)
t += 1
back = t.numpy()
back[2] = 7
print(array, "  shared:", np.shares_memory(array, back), "  dtype:", t.dtype)
columns = np.zeros((2, 3)).T
print("strides:", torch.from_numpy(columns).stride(), "elements,", columns.strides, "bytes")
print("1.", check.error(torch.from_numpy, array[::-1]))
print("2.", check.error(torch.ones(2, requires_grad=True).numpy))
print("3.", check.error(torch.ones(2, dtype=torch.bfloat16).numpy))
print("4.", check.error(torch.matmul, torch.from_numpy(columns), torch.ones(2, 4)))

# %% [markdown]
# **Interview · `tensor`, `as_tensor`, `from_numpy`: which ones copy?**
#
# - *Thirty seconds:* `tensor` copies. `from_numpy` shares. `as_tensor` shares the memory of an array or a tensor,
#   unless dtype or device must change.
# - *They ask next:* And `t.numpy()`? It shares too. It refuses a tensor that requires grad, that is on a GPU (chapter 05), or
#   whose type NumPy doesn't have, such as bfloat16.
# - *The trap:* calling `from_numpy` on a buffer that is filled again later. The tensor changes with it.
#   *Proof:* `proof-one-array`.
#
# ### Other libraries, and raw bytes
# NumPy isn't the only library you can share memory with. **DLPack** is a small description that array libraries pass to each
# other: address, shape, strides, dtype, device. `from_dlpack` takes it from any object that offers it, and by default copies
# nothing. `frombuffer` takes raw bytes, and you say which dtype they are.

# %% tags=["proof-DLPack"]
source = np.arange(4.0)
taken = torch.from_dlpack(source)
again = np.from_dlpack(taken)
again[0] = 50
print(
    "from_dlpack", taken.tolist(), "  device (type, number):", tuple(int(each) for each in source.__dlpack_device__())
)
raw = bytearray([1, 0, 2, 0])
print("frombuffer ", [torch.frombuffer(raw, dtype=kind).tolist() for kind in (torch.uint8, torch.int16)])

# %% [markdown]
# **Interview · What is DLPack for?**
#
# - *Thirty seconds:* To pass a tensor from one library to another without a copy, on a GPU too. Both then use the same
#   memory.
# - *They ask next:* How is that different from `from_numpy`? NumPy's arrays are on the CPU. DLPack names the device, so
#   PyTorch, CuPy and JAX can exchange GPU memory.
# - *The trap:* On a GPU both libraries may write to the memory at the same time, since each queues its work on a stream of
#   its own ([chapter 05](05_devices.ipynb)). *Proof:* `proof-DLPack`.
#
# ## The real one
# You'll write `from_numpy` in exercise 2. Here is how `minitorch` does it:

# %%
import inspect

print(inspect.getsource(torch.from_numpy))
print(inspect.getsource(torch.Tensor.stride))

# %% [markdown] tags=["short"]
# `from_numpy_dtype` looks up the dtype, `make_tensor` wraps the array, `_checked_dim` counts a dimension from the
# front, and `strides_of` gives an array's strides in bytes. There is no strided view to make here: a NumPy array *is* storage,
# shape and strides, so `minitorch` keeps the array and divides bytes by `itemsize`. PyTorch has no NumPy below it, so it
# keeps storage, strides and offset itself, and so will you.
#
# ## Ten lines to remember
# 1. A tensor is a strided view of a storage (shape, strides, offset), with a dtype and a device.
# 2. Element $(i, j)$ is at offset + i · stride[0] + j · stride[1]. PyTorch counts elements, NumPy bytes.
# 3. `zeros`, `empty` and `rand` store row by row: the last stride is 1. `zeros_like` keeps the order of its argument.
# 4. The storage is bytes. `view(dtype)` reads them in another way, `to(dtype)` converts the values.
# 5. A view keeps the whole storage alive. A `clone()` doesn't.
# 6. Two views of one storage may have no element in common.
# 7. `tensor` copies, `from_numpy` and `from_dlpack` share, `as_tensor` shares where it can.
# 8. `Tensor(3)` is three uninitialised numbers, `tensor(3)` is the number 3.
# 9. Python's floats become the default dtype, its integers int64. A NumPy array keeps its type.
# 10. A seed fixes the stream of random words, not which call gets which word.
#
# **Rapid fire.** One line each; the cell below has the proofs.
#
# - *Stride of `zeros(4, 5)`?* (5, 1).
# - *dtype of `from_numpy(np.zeros(2))`?* float64.
# - *Offset of `arange(12).reshape(3, 4)[1]`?* 4.
# - *Bytes of `zeros(10, dtype=float16)`?* 20.
# - *Does `torch.tensor(array)` copy?* Yes.

# %% tags=["proof-rapid-fire"]
print(torch.zeros(4, 5).stride(), torch.from_numpy(np.zeros(2)).dtype)
print(torch.arange(12).reshape(3, 4)[1].storage_offset(), torch.zeros(10, dtype=torch.float16).nbytes)
print("shared:", np.shares_memory(array, torch.tensor(array).numpy()))

# %% [markdown]
# ## If you have time · PyTorch's random numbers
# After `manual_seed(0)`, `rand(3)` gives 0.4963, 0.7682, 0.0885. On the CPU they come from the
# **Mersenne Twister** (Matsumoto and Nishimura, 1998): 624 words of 32 bits. A seed fills them, a *twist* renews them
# all, and each word is *tempered* before it is used: a few shifts mix its bits.


# %%
def seeded(seed):
    words = [seed]
    for i in range(1, 624):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + i) % 2**32)
    return words


def twist(words):
    for i in range(624):
        joined = words[i] & 0x80000000 | words[(i + 1) % 624] & 0x7FFFFFFF
        words[i] = words[(i + 397) % 624] ^ joined >> 1 ^ (0x9908B0DF if joined % 2 else 0)


def temper(word):
    word ^= word >> 11
    word ^= word << 7 & 0x9D2C5680
    word ^= word << 15 & 0xEFC60000
    return word ^ word >> 18


words = seeded(0)
twist(words)
print([round(temper(word) % 2**24 / 2**24, 4) for word in words[:3]])

# %% [markdown] given="mytorch.random:Generator.uniform"
# Take the lowest 24 bits of a word and divide by $2^{24}$, and you have `rand` in float32. NumPy has the same generator, in
# C, so `mytorch` takes the words from there and turns them into PyTorch's numbers:

# %% tags=["proof-same-seed"]
for library in (mytorch, torch):
    library.manual_seed(0)
    print(library.rand(3), library.randn(2), library.randint(0, 10, (4,)), library.randperm(5))

# %% [markdown]
# The first line is `mytorch`, on NumPy alone. The second is what PyTorch prints.
#
# Normal numbers come in pairs, by the method of Box and Muller. Two uniform numbers $u$ and $v$ give a radius
# $r = \sqrt{-2 \ln(1-u)}$ and an angle $a = 2 \pi v$; the pair is $r \cos a$ and $r \sin a$. From 16 numbers on,
# PyTorch makes them in groups of 16. You can see it:


# %% tags=["proof-stream"]
def drawn(make, *counts):
    torch.manual_seed(0)
    return torch.cat([make(count) for count in counts])


for name, one, other in (
    ("rand, 20 or 10 and 10", drawn(torch.rand, 20), drawn(torch.rand, 10, 10)),
    ("randn, 20 or 10 and 10", drawn(torch.randn, 20), drawn(torch.randn, 10, 10)),
    ("randn, 15 or the first of 16", drawn(torch.randn, 15), drawn(torch.randn, 16)[:15]),
):
    print(f"{name:29} equal: {(one == other).sum().item():2} of {len(one)}")

# %% [markdown]
# **Interview · Same seed, and `randn` gives other numbers. How?**
#
# - *Thirty seconds:* A seed fixes the stream of words, not which call gets which word. Calls with other sizes, or in
#   another order, get other words.
# - *They ask next:* Is `rand(20)` the same as `rand(10)` twice? On the CPU, yes. For `randn` it isn't.
# - *The trap:* Asking for one more number can change all of them, as with 15 and 16 above. *Proof:* `proof-stream`.
#
# ## You try
# [Six exercises](../exercises/02_tensors_and_storage.ipynb), 15 points. Two of them write `mytorch`: strided views, and random numbers. In the others you predict, count
# the memory that a list of tensors holds, find out whether two views overlap, and repair a camera.
# [Chapter 02b](02b_dtypes_and_dispatch.ipynb) is about dtypes, and about what happens between a call and its kernel.
