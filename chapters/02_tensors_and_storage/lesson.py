# %% [markdown] tags=["short"]
# # Tensors and storage
# By the end, your own tensor library will make tensors from lists and from NumPy's memory, read an image without copying it, and
# produce PyTorch's random numbers for the same seed. All it needs is NumPy.
#
# ## Four tensors from one array
# Here are four ways to make a tensor from an array, after which the cell writes to the array. Which of the four tensors show
# the change?

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
# The two in the middle changed, although nobody wrote to a tensor. A tensor therefore isn't simply its elements, but a way of
# *finding* elements in a piece of memory, and other objects may use the same memory.
#
# ## The smallest model
# Memory is one flat row of numbers, so suppose that a tensor consists of such a row and a shape. To find element `[i, j]`, you
# skip `i` whole rows and then `j` elements.


# %%
class Toy:
    """A flat row of numbers, and a shape."""

    def __init__(self, flat, shape):
        self.flat, self.shape = flat, shape

    def __getitem__(self, index):
        position = 0
        for i, length in zip(index, self.shape, strict=True):
            position = position * length + i
        return self.flat[position]


memory = np.arange(6)
toy = Toy(memory, (2, 3))
memory[4] = 40
print("toy[0, 2] =", toy[0, 2], "  toy[1, 1] =", toy[1, 1])

# %% [markdown]
# The write to `memory` is visible through the toy, as it was through the tensor of `from_numpy`. To break the model, use NumPy's
# `.T`, which swaps rows and columns without moving an element, and give the toy the same memory with the swapped shape.

# %%
swapped = memory.reshape(2, 3).T
toy = Toy(memory, swapped.shape)
read = [[int(toy[i, j]) for j in range(2)] for i in range(3)]
print("same memory:", np.shares_memory(swapped, memory), "  array:", swapped.tolist(), "  toy:", read)
pictures.grids(("the array", swapped), "≠", ("the toy", read))

# %% [markdown]
# The memory and the shape are correct, yet the result is incorrect, because the toy has no record of *how far to step*. It
# derives the steps from the shape, but `.T` needs different ones, so a tensor has to store them:
#
# - the **stride** of a dimension is how far to move in memory, in elements, for one step along that dimension;
# - the **offset** is the position at which the view starts.
#
# Element $(i, j)$ is therefore found at position $\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1$. Move the
# sliders to see how the strides `(3, 1)` visit neighbours, `(1, 3)` go down the columns of a table that is three wide, and
# `(0, 1)` read one row twice.


# %%
def two_by_three(stride, offset):
    return pictures.storage(range(12), {"x": ((2, 3), stride, offset)})


pictures.slider(two_by_three, stride=[(3, 1), (1, 3), (6, 1), (2, 2), (0, 1)], offset=range(4))

# %% [markdown] tags=["short"] given="mytorch.tensor:Storage mytorch.tensor:Tensor.__init__ mytorch.tensor:Tensor.array"
# ## What a tensor is made of
# `mytorch` is the library that you are about to write, and its tensor is little more than a storage and a strided view of it. The
# code below is provided; the last two pieces are methods of `Tensor`, and `version` counts writes for chapter 03. You will write
# `strided`, which takes a flat array, sizes, strides and an offset, and returns an array on the same memory.

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
# All three tensors show the 60, although it was written only once, into the storage that they share.
#
# ### An image with padded rows, viewed without a copy
# A camera delivers images that are 8 pixels wide, and it pads each row to 10 elements because its hardware needs rows that
# begin at aligned addresses. The padded length is called the *pitch* or the *row stride*. Since the buffer is one flat row of
# numbers, you can view it as an image of shape (8, 8) without copying it, provided that you choose the right strides. Try the
# slider before you read on, and decide which ones you need.

# %%
LETTER = ["..####..", ".##..##.", ".##.....", "..####..", ".....##.", ".##..##.", "..####..", "........"]
buffer = np.array([[pixel == "#" for pixel in row + ".."] for row in LETTER], np.float32).ravel()


def picture(row_stride):
    view = Tensor(Storage(buffer), (8, 8), (row_stride, 1)).numpy()
    ax = pictures.axes(2.4, 2.4)
    ax.imshow(view, cmap="gray_r")
    ax.set(xticks=[], yticks=[], title=f"strides ({row_stride}, 1)")
    return pictures.publish(
        ax, alt=f"Strides ({row_stride}, 1): " + ("a clean S." if row_stride == 10 else "a broken S.")
    )


pictures.slider(picture, row_stride=[8, 9, 10])

# %% [markdown]
# With (8, 1) each row begins two elements too early, and because the error adds up, the letter leans and breaks. A leaning
# image is the classic sign of an incorrect row stride. With (10, 1) the view steps over the padding. Transposing is also a
# matter of strides alone, and so is reversing in NumPy, but not in PyTorch:

# %% tags=["proof-padded"]
image = Tensor(Storage(buffer), (8, 8), (10, 1))
transposed = Tensor(image.storage, (8, 8), (1, 10))
print("the S, in pixels:", int(image.numpy().sum()), "of", image.numel(), "  storage:", len(image.storage))
print("transposed:", transposed.stride(), "  contiguous:", image.is_contiguous())
print("reversed by NumPy:", image.numpy()[::-1].strides, "bytes")
print("as a tensor:", str(check.error(torch.from_numpy, image.numpy()[::-1]))[:63], "...")

# %% [markdown]
# NumPy reverses an array with a negative stride, here −40 bytes. PyTorch doesn't allow negative strides, so `from_numpy` raises
# an error, and `flip` makes a copy.
#
# **Interview · Why does `x[::-1]` work in NumPy and not in PyTorch?**
#
# - *Thirty seconds:* PyTorch's strides can't be negative, so it raises an error. NumPy reverses without copying, by starting at the
#   last element and using a negative stride. In PyTorch, indexing with a negative step raises an error, and `x.flip(0)` makes a
#   reversed copy.
# - *They ask next:* How do you get a reversed array into PyTorch? Copy it in NumPy first: `torch.from_numpy(array[::-1].copy())` has
#   positive strides. Even `torch.tensor(array[::-1])` raises, although it copies.
# - *The trap:* `[..., ::-1]` looks like a quick way from BGR to RGB, but it makes such a view, and `from_numpy` refuses it.
# - *Proof:* `proof-padded`.
#
# ### Attributes
# Shape, stride and offset are three of a tensor's attributes, while `dtype` and `device` say how to read the bytes and where
# they are. What strides does a *new* tensor get? Functions such as `empty` and `zeros` store the elements row by row unless you
# ask for a different order, and you will write their rule as `contiguous_strides`. The `_like` functions keep the order of a
# dense argument, such as a transposed one, but if the argument has gaps or overlaps, as a sliced or expanded tensor does, the
# result is dense.

# %% tags=["proof-made-of"]
x = torch.arange(12.0).reshape(3, 4)[1:, ::2]
print("shape", x.shape, "  stride", x.stride(), "  offset", x.storage_offset())
print("dtype", x.dtype, "  device", x.device)
print("bytes", x.nbytes, "of its own, in a storage of", x.untyped_storage().nbytes())
print("new  ", {size: torch.empty(size).stride() for size in [(5,), (2, 3), (4, 2, 3), (3, 0, 2)]})
arguments = [torch.empty(2, 3).t(), torch.empty(3, 1).expand(3, 2), torch.empty(3, 4)[:, ::2]]
print("zeros_like:", [(argument.stride(), "→", torch.zeros_like(argument).stride()) for argument in arguments])

# %% [markdown]
# The slice `x` has 16 bytes of elements, but its storage has the 48 of all twelve.
#
# ### The storage has no type
# The dtype belongs to the tensor, while the storage is a row of bytes. (`mytorch.Storage` does keep a dtype, since a NumPy
# array can't do without one.) You can therefore read the same bytes as another dtype with `view`:

# %% tags=["proof-untyped"]
numbers = torch.tensor([1.0, -2.0])
whole = numbers.view(torch.int32)
print(whole.tolist(), numbers.view(torch.uint8).tolist())
whole[0] += 1 << 23  # one more in the exponent
print(numbers, "  bytes in the storage:", numbers.untyped_storage().nbytes())
print("converted instead:", numbers.to(torch.int32).tolist())

# %% [markdown]
# `view(dtype)` converts nothing: here it read the bytes of 1.0 as an integer, and adding 1 to the bits of the exponent doubled
# the value. `to(dtype)`, in contrast, preserves the values as far as the new type allows, and writes new bytes. [Chapter
# 02b](02b_dtypes_and_dispatch.ipynb) explains what the bits of a float mean.
#
# **Interview · What is a tensor made of?**
#
# - *Thirty seconds:* A tensor is a storage, which is a flat piece of memory on one device, together with what you need to read
#   it: dtype, shape, strides and storage offset. For autograd it also has `requires_grad`, `grad` and `grad_fn`.
# - *Longer:* Several tensors can share one storage: a view has its own shape, strides and offset but copies nothing. This holds
#   for strided tensors. A sparse tensor stores indices and values instead, and a jagged nested tensor (`torch.nested`,
#   `layout=torch.jagged`) stores all rows in one tensor of values, with offsets that tell where each row begins.
# - *They ask next:* Are strides counted in bytes or in elements? PyTorch counts elements and NumPy bytes, so the same view reports
#   different strides in the two libraries.
# - *The trap:* `x.nbytes` counts only the elements of the shape. The storage that `x` keeps alive may be much larger.
# - *Proof:* `proof-made-of`.
#
# The difference between a tensor's size and its storage's can be expensive. What remains in memory if you keep one element out
# of a million?

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
    for name, tensor in (("view", view), ("clone", view.clone())):
        held[name].append(tensor.untyped_storage().nbytes())
ALT = "A view of 1 to 1,000,000 elements holds 4,000,000 bytes; a clone holds four for each element."
pictures.curves(held, counts, xlabel="elements kept", ylabel="memory held (bytes)", log="xy", alt=ALT)

# %% [markdown]
# **Interview · You keep one element of a large tensor. How much memory do you keep?**
#
# - *Thirty seconds:* All of it, because `big[0, 0]` is a view, and a view keeps its whole storage alive. `clone()` copies the
#   element into memory of its own, so that the rest can be freed.
# - *Longer:* It is a common leak: a list that keeps one row of each batch keeps every batch. On a GPU `memory_allocated` shows
#   it, and the cure is to clone what you keep.
# - *They ask next:* What does `torch.save` write for such a view? The whole storage, as [chapter 20](20_saving_and_loading.ipynb) shows.
# - *The trap:* `del big` doesn't free the memory while the view is alive.
# - *Proof:* `proof-one-number`.
#
# ### A shape without memory
# A tensor can also be separated from its memory on purpose. Resizing the storage to 0 bytes frees the memory, while the tensor
# and all references to it remain. A *meta* tensor never has any memory, whatever its shape says.

# %% tags=["proof-freed-storage"]
weight = torch.ones(1000, 1000)
print("before:", tuple(weight.shape), weight.untyped_storage().nbytes(), "bytes")
weight.untyped_storage().resize_(0)
print("after: ", tuple(weight.shape), weight.untyped_storage().nbytes(), "bytes")
print("meta:  ", tuple(torch.empty(10**6, 10**6, device="meta").shape), "would need 4 TB, and uses none")

# %% [markdown]
# **Interview · How can a framework free a parameter's memory while the module still holds the parameter?**
#
# - *Thirty seconds:* It resizes the storage to zero bytes with `untyped_storage().resize_(0)`. The tensor keeps its shape and its
#   identity, so the module, the optimizer and autograd still refer to the same object, and the memory can be allocated again when
#   it is needed.
# - *Longer:* FSDP does this with gathered parameters: it frees them after a layer has run and gathers them again for the backward
#   pass ([chapter 23b](23b_shards.ipynb)).
# - *They ask next:* How do you build a model that doesn't fit into memory? Create it on the meta device, and load it with `mmap=True` and
#   `assign=True`, as [chapter 20](20_saving_and_loading.ipynb) shows.
# - *The trap:* Don't read the tensor before its storage has been resized again: until then there is no memory behind it.
# - *Proof:* `proof-freed-storage`.
#
# ### Overlapping views
# Two views of one storage may or may not share an element. Here are the elements at even and at odd positions of six. Can you
# tell from their addresses that they share none?

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
# The storage is the same, and the ranges from first to last element overlap, so NumPy's quick test says *may share*. Only
# `shares_memory`, which computes with the strides, finds that no element is in both.
#
# **Interview · Do `x[::2]` and `x[1::2]` share memory?**
#
# - *Thirty seconds:* They share a storage but no elements, so a write to one is never visible in the other.
# - *Longer:* Comparing `untyped_storage().data_ptr()` tells you whether the storage is the same, and comparing the ranges from
#   first to last element tells you whether the views *may* overlap. To be certain, you have to compute with the strides.
# - *They ask next:* When does the difference matter in practice? When you save several tensors in one file: shared weights should be
#   written only once.
# - *The trap:* `x.data_ptr()` is the address of the first element, so two overlapping views can have different ones. Tensors without
#   elements may all report the address 0, even if their storages differ.
# - *Proof:* `proof-apart`.
#
# ## Creating tensors
# You can make a tensor from data, from a NumPy array, like another tensor, from constants, or from random numbers. Before you run
# the cell, decide which of these tensors aren't float32.

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
# Four of them are int64 and one is float64, because the dtype comes from the data. Python integers become int64 and Python
# floats the *default dtype* (chapter 01), an array keeps its dtype, and the `_like` functions copy that of the tensor. `zeros`,
# `ones` and `rand` have no data to look at, so they take the default dtype. The last line tries `rand_like` on integers: there
# are no random fractions in int64, so it needs a `dtype`.
#
# ### `empty` or `zeros`?
# `empty` allocates memory without writing to it, so its elements are whatever was there before. To find out whether a program
# reads them, switch on deterministic algorithms, which make `empty` fill a floating-point tensor with `nan`:


# %% tags=["proof-empty"]
def mean_of_rows(rows):
    total = torch.empty(len(rows[0]))  # should be zeros
    for row in rows:
        total += torch.tensor(row)
    return total / len(rows)


torch.use_deterministic_algorithms(True)
print(mean_of_rows([[1.0, 2.0], [3.0, 6.0]]))
torch.use_deterministic_algorithms(False)

# %% [markdown]
# **Interview · When do you use `empty` instead of `zeros`?**
#
# - *Thirty seconds:* I use `empty` when every element is written before anybody reads it, for example in the target of `out=` or of a
#   collective. It saves one pass over the memory.
# - *They ask next:* What happens if you read the memory before it is written? You get whatever it contained. Often these are
#   zeros, so the bug stays hidden until the allocator reuses a block.
# - *The trap:* `torch.Tensor(2, 3)` isn't a tensor of zeros. Its memory is uninitialized as well.
# - *Proof:* `proof-empty`.
#
# ### Tensor or tensor
# `torch.tensor` is a function that takes data and infers the dtype. `torch.Tensor` is the class, whose constructor takes a
# list, an array *or sizes*, and the result has the default dtype. Given sizes, it leaves the memory uninitialized, and given
# another tensor, it shares that tensor's memory, as the last line of the cell below shows.
#
# ### Myth · "torch.Tensor is an alias of FloatTensor"
# If it were an alias, it would always create float32, so change the default dtype and look at what you get.

# %% tags=["proof-constructor"]
print("tensor(3):", torch.tensor(3), "  Tensor(3) has shape", torch.Tensor(3).shape)
print("[1, 2]:   ", torch.tensor([1, 2]).type(), torch.Tensor([1, 2]).type())
torch.set_default_dtype(torch.float64)
print("float64 default:", torch.Tensor([1, 2]).type(), "  one class:", torch.Tensor is torch.FloatTensor)
torch.set_default_dtype(torch.float32)
print("whole is a Tensor:", isinstance(whole, torch.Tensor))
print("whole is a FloatTensor:", isinstance(whole, torch.FloatTensor))
floats = torch.tensor([1.0, 2.0])
torch.Tensor(floats)[0] = 9
print("after a write to Tensor(floats):", floats)

# %% [markdown]
# Under a default of float64 the constructor made doubles, and `Tensor` and `FloatTensor` are two different objects. Every
# tensor is a `Tensor`, but an int64 tensor isn't a `FloatTensor`.
#
# ### Myth · "Write `torch.tensor(data, dtype)`"
# The dtype is a keyword argument, and as a second positional argument it is refused:

# %% tags=["proof-keyword"]
print(check.error(torch.tensor, [1, 2], torch.float32))
print(torch.tensor([1, 2], dtype=torch.float32))

# %% [markdown]
# **Interview · `torch.Tensor` or `torch.tensor`?**
#
# - *Thirty seconds:* `tensor` for data, because it infers the dtype and always copies. `Tensor` is the class of all tensors.
#   Its constructor turns a list of integers into floats and takes a single integer for a size.
# - *They ask next:* Does `tensor` copy a NumPy array, too? Yes. In the lesson's first cell, the write to the array didn't change that
#   tensor.
# - *The trap:* `Tensor(t)` looks like a copy, but it shares the memory of `t`.
# - *Proof:* `proof-constructor`.
#
# ## NumPy and back
# Both directions share memory, so a write on one side is visible on the other. The cell shows three conversions that are
# refused, and a fourth error that you are likely to meet in training code, because a float64 array stays float64 while a
# layer's weights are float32.

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
print("4.", check.error(torch.nn.Linear(2, 4), torch.from_numpy(columns)))

# %% [markdown]
# **Interview · `tensor`, `as_tensor`, `from_numpy`: which ones copy?**
#
# - *Thirty seconds:* `tensor` copies, and `from_numpy` shares the memory. `as_tensor` shares the memory of an array or a tensor
#   unless the dtype or the device has to change.
# - *Longer:* Sharing saves time and memory for a large array that nobody writes to any more. Copy the data that you keep, so
#   that no later write can reach the tensor, and torch's warning about read-only arrays doesn't appear.
# - *They ask next:* Does `t.numpy()` copy? No, it shares as well. But it refuses a tensor that requires grad, and those that NumPy can't
#   describe: on a GPU (chapter 05), sparse, in bfloat16, or with the conjugate bit set.
# - *The trap:* If the buffer given to `from_numpy` is filled again later, the tensor changes with it.
# - *Proof:* `proof-one-array`.
#
# ### Other libraries, and raw bytes
# NumPy isn't the only library with which you can share memory. **DLPack** is a small description that array libraries exchange,
# consisting of address, shape, strides, dtype and device. `from_dlpack` accepts any object that offers it, and by default copies
# nothing. `frombuffer` takes raw bytes, and you say which dtype they are.

# %% tags=["proof-DLPack"]
source = np.arange(4.0)
taken = torch.from_dlpack(source)
again = np.from_dlpack(taken)
again[0] = 50
print("from_dlpack", taken.tolist(), "  device (type, number):", tuple(map(int, source.__dlpack_device__())))
raw = bytearray([1, 0, 2, 0])
print("frombuffer ", [torch.frombuffer(raw, dtype=kind).tolist() for kind in (torch.uint8, torch.int16)])

# %% [markdown]
# **Interview · What is DLPack for?**
#
# - *Thirty seconds:* DLPack passes a tensor from one library to another without a copy, even on a GPU, so that both libraries use
#   the same memory.
# - *They ask next:* How is DLPack different from `from_numpy`? NumPy arrays are on the CPU, whereas DLPack names the device, so
#   PyTorch, CuPy and JAX can exchange GPU memory. The consumer also passes its stream, so that the producer's queued work is
#   finished first.
# - *The trap:* People forget that the memory is shared: a write in one library changes the other's tensor. `from_numpy` warns about a
#   read-only array, but PyTorch 2.13's `from_dlpack` takes one without a warning and writes into it.
# - *Proof:* `proof-DLPack`.
#
# ## The real one
# You will write `from_numpy` in exercise 2, so compare the version that `minitorch` has, and with it the method `stride`:

# %%
import inspect

print(inspect.getsource(torch.from_numpy))
print(inspect.getsource(torch.Tensor.stride))

# %% [markdown] tags=["short"]
# `from_numpy_dtype` looks up the dtype, `make_tensor` wraps the array, `_checked_dim` turns a negative dimension into a
# positive one, and `strides_of` returns an array's strides in bytes. No strided view has to be built here: a NumPy array
# already *is* storage, shape and strides, so `minitorch` keeps the array and divides bytes by `itemsize`. PyTorch has no NumPy
# below it, so it keeps the storage, strides and offset itself, as you will.
#
# ## Ten lines to remember
# 1. A tensor is a strided view of a storage (shape, strides, offset), with a dtype and a device.
# 2. Element $(i, j)$ is at offset + i · stride[0] + j · stride[1], where PyTorch counts elements and NumPy counts bytes.
# 3. `zeros`, `empty` and `rand` store row by row, and `zeros_like` keeps the order of the argument's dimensions and closes its gaps.
# 4. A storage consists of bytes: `view(dtype)` reinterprets them, `to(dtype)` converts the values.
# 5. A view keeps the whole storage alive; a `clone()` doesn't.
# 6. Two views of one storage may have no element in common.
# 7. `tensor` copies, `from_numpy` and `from_dlpack` share, and `as_tensor` shares where it can.
# 8. `Tensor(3)` has three uninitialized elements, `tensor(3)` is the number 3, and `Tensor(t)` shares t's memory.
# 9. Python floats become the default dtype and Python integers int64, while a NumPy array keeps its type.
# 10. `empty` is safe only if every element is written before it is read.
#
# **Rapid fire.** The cell below proves each answer.
#
# - *What is the stride of `zeros(4, 5)`?* (5, 1): one row down is five elements away.
# - *What is the dtype of `from_numpy(np.zeros(2))`?* Float64, the array's dtype.
# - *What is the storage offset of `arange(12).reshape(3, 4)[1]`?* 4: the view starts after the first row.
# - *How many bytes does `zeros(10, dtype=float16)` take?* 20: two bytes an element.
# - *Does `torch.tensor(array)` copy the memory of a NumPy array?* Yes, always.

# %% tags=["proof-rapid-fire"]
print(torch.zeros(4, 5).stride(), torch.from_numpy(np.zeros(2)).dtype)
print(torch.arange(12).reshape(3, 4)[1].storage_offset(), torch.zeros(10, dtype=torch.float16).nbytes)
print("shared:", np.shares_memory(array, torch.tensor(array).numpy()))

# %% [markdown]
# ## You try
# The [six exercises](../exercises/02_tensors_and_storage.ipynb) are worth 15 points. In exercise 2 you write strided
# views for `mytorch`, while in others you predict, count the memory that a list of tensors keeps alive, find out whether two
# views overlap, and repair a camera. Exercise 6, random numbers, belongs to the optional section below. [Chapter
# 02b](02b_dtypes_and_dispatch.ipynb) is about dtypes, and about what happens between a call and its kernel.

# %% [markdown]
# ## If you have time
# ### PyTorch's random numbers
# Whenever you call `manual_seed(0)`, the next `rand(3)` returns 0.4963, 0.7682, 0.0885. On the CPU these numbers come from the
# **Mersenne Twister** (Matsumoto and Nishimura, 1998), whose state is 624 words of 32 bits. A seed fills the words, a *twist*
# renews all of them, and each word is *tempered* before it is used, which means that a few shifts mix its bits.


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
# The lowest 24 bits of a word, divided by $2^{24}$, are what `rand` returns in float32. NumPy has the same generator in C, so
# `mytorch` takes the words from there and turns them into PyTorch's numbers:

# %% tags=["proof-same-seed"]
for library in (mytorch, torch):
    library.manual_seed(0)
    print(library.rand(3), library.randn(2), library.randint(0, 10, (4,)), library.randperm(5))

# %% [markdown]
# The first line comes from `mytorch`, which uses NumPy alone, and the second line is what PyTorch prints.
#
# PyTorch generates normally distributed numbers in pairs, with the Box–Muller method: two uniform numbers $u$ and $v$ give a
# radius $r = \sqrt{-2 \ln(1-u)}$ and an angle $a = 2 \pi v$, and the pair is $r \cos a$ and $r \sin a$. When you ask for 16
# numbers or more, PyTorch makes them in groups of 16. Does it then matter how you divide the calls?


# %% tags=["proof-stream"]
def drawn(make, *counts):
    torch.manual_seed(0)
    return torch.cat([make(count) for count in counts])


for name, one, other in (
    ("rand, 20 or 10 and 10", drawn(torch.rand, 20), drawn(torch.rand, 10, 10)),
    ("randn, 20 or 10 and 10", drawn(torch.randn, 20), drawn(torch.randn, 10, 10)),
    ("randn, 32 or 16 and 16", drawn(torch.randn, 32), drawn(torch.randn, 16, 16)),
    ("randn, 15 or the first of 16", drawn(torch.randn, 15), drawn(torch.randn, 16)[:15]),
):
    print(f"{name:29} equal: {(one == other).sum().item():2} of {len(one)}")

# %% [markdown]
# For `rand` it doesn't, but for `randn` the two ways agree here only where they ask for whole groups of 16.
#
# **Interview · Same seed, same code, two GPUs, different losses. Name four causes.**
#
# - *Thirty seconds:* First, kernels with atomic additions add in a different order each time. Second, the two GPU models choose
#   different algorithms, or one of them TF32. Third, the loader's workers or the number of processes differ, and with them the
#   batches. Fourth, something draws one more random number, after which all later numbers differ.
# - *Longer:* A seed fixes the stream of random words, but not which call gets which word. `randn` even takes them in groups of 16, so
#   asking for 16 numbers instead of 15 changes all of them.
# - *They ask next:* How do you find the cause? Compare the first batch, then the first loss, then the gradients of the first step, and
#   stop at the first difference. Switch on deterministic algorithms ([chapter 19](19_training_loop.ipynb)).
# - *The trap:* Don't blame the seed. A CPU and a GPU have different generators, and no seed makes their numbers equal.
# - *Proof:* the stream of words: `proof-stream`; the other causes: [chapter 19](19_training_loop.ipynb).
