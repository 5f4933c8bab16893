# %% [markdown]
# # Saving and loading
# After this chapter your own library writes files that PyTorch opens, and opens PyTorch's. You'll know what is inside a
# `.pt` file, why it can be dangerous, and what a training run needs to go on as if it had never stopped.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(20)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A file that runs
# Somebody sends you weights. You load them:

# %% tags=["proof-runs-while-loading"]
import tempfile
from pathlib import Path

import minitorch as torch
from course import check, pictures
from minitorch import nn


class Weights:
    def __reduce__(self):  # what pickle writes in place of this object: a function, and its arguments
        return print, ("this ran while loading",)


folder = tempfile.TemporaryDirectory()
evil, path = Path(folder.name, "evil.pt"), Path(folder.name, "file.pt")
torch.save({"weight": Weights()}, evil)
print(torch.load(evil, weights_only=False))

# %% [markdown]
# The file called `print`. It could have called `os.system`. Nothing had to be wrong with your code, and the class `Weights`
# isn't even needed to load the file. How can data do that?
#
# ## A pickle is a program
# `torch.save` uses Python's `pickle`, and a pickle isn't a description of an object. It is a list of operations for a small
# machine with a stack. Here is such a program, one operation a line:

# %% tags=["proof-program"]
import pickle
import pickletools

program = pickle.dumps({"lr": 0.5, "betas": [3, 4]}, protocol=2)
for code, argument, place in pickletools.genops(program):
    print(f"{place:3} {code.name:11} {'' if argument is None else argument}")

# %% [markdown]
# Read it aloud: put an empty dict on the stack, remember where the next values begin (`MARK`), push a string, a number, a
# string and a list, and finally move what is above the mark into the dict (`SETITEMS`). `BINPUT` notes an object in the
# **memo**, so that it can be used again. The machine for this takes twenty lines:


# %%
def run(program):
    """The name of each operation, and the stack after it."""
    stack, marks = [], []
    for code, argument, _ in pickletools.genops(program):
        if code.name in ("EMPTY_DICT", "EMPTY_LIST"):
            stack.append({} if code.name == "EMPTY_DICT" else [])
        elif code.name == "MARK":
            marks.append(len(stack))
        elif code.name in ("SETITEMS", "APPENDS"):
            start = marks.pop()
            values, stack[start:] = stack[start:], []
            pairs = zip(values[::2], values[1::2], strict=False)
            stack[-1].update(pairs) if code.name == "SETITEMS" else stack[-1].extend(values)
        elif code.name in ("BININT1", "BINFLOAT", "BINUNICODE"):
            stack.append(argument)
        elif code.name not in ("PROTO", "BINPUT", "STOP"):
            raise ValueError(f"unknown operation {code.name}")
        yield code.name, [repr(each) for each in stack]


def draw(step):
    name, stack = steps[step]
    ax = pictures.axes(6, 2.4)
    bars = ax.barh(range(len(stack)), 1, height=0.9, color=pictures.COLOURS["saved"])
    ax.bar_label(bars, stack, label_type="center", color="#1a1a1a")
    ax.set(xlim=(0, 1), ylim=(-0.5, 4.5), xticks=[], yticks=[], title=f"the stack after {name}")
    return pictures.publish(ax, alt=f"After {name}, from the bottom: {', '.join(stack) or 'nothing'}.")


steps = list(run(program))
print(steps[-1])
pictures.slider(draw, start={"step": 10}, step=list(range(len(steps))))

# %% [markdown]
# ### Break it
# Now give the toy the file from the beginning:

# %% tags=["proof-global"]
program = pickle.dumps(Weights(), protocol=2)
print([f"{code.name} {argument or ''}".strip() for code, argument, _ in pickletools.genops(program)])
print(repr(check.error(list, run(program))))

# %% [markdown]
# Two operations do the harm here. `GLOBAL` looks up any function or class by its name and imports what it needs, and
# `REDUCE` calls it. Tensors need both: a program for a tensor names `torch._utils._rebuild_tensor_v2` and calls it. So the
# machine can't do without them. But it may look names up in a short list, and refuse all others.
#
# %% [markdown] given="mytorch.pickling:rebuild_tensor mytorch.pickling:find_allowed"
# ### In `mytorch`
# `ALLOWED` has ten dtypes, ten classes of storages, `OrderedDict`, and two functions. One of them makes a tensor:

# %% tags=["proof-weights-only"]
print(str(check.error(mytorch.load, evil)).partition(" Please")[0])
with torch.serialization.safe_globals([print]):
    print("allowed by hand:", torch.load(evil))

# %% [markdown]
# You write the machine in exercise 2.
#
# **Interview · Why is `pickle` dangerous, and what does `weights_only` do?**
#
# - *Thirty seconds:* A pickle is a program. It can name any function and call it while the file is loaded.
#   `weights_only=True` uses a machine of its own, with an allow-list: tensors, dtypes, plain containers.
# - *Longer:* It has been the default since PyTorch 2.6. You can add names with `torch.serialization.safe_globals`, and the
#   file can then call them.
# - *They ask next:* What if a file doesn't load with it? Read the name in the error. Allow it if you know what it does, and
#   set `weights_only=False` only if you trust the file's author.
# - *The trap:* "I only read the tensors out of it." By then it has run.
# - *Proof:* `proof-runs-while-loading`, `proof-global`, `proof-weights-only`.
#
# ### Myth · "`weights_only=True` is the old behaviour"
# It is the other way round. Before 2.6 a plain `torch.load(path)` ran everything, and old tutorials still do.

# %% tags=["proof-load-default"]
import inspect

print("mytorch's default:", inspect.signature(mytorch.load).parameters["weights_only"].default)

# %% [markdown] tags=["short"]
# ## Inside a `.pt` file
# Where are the numbers? Save three tensors, two of them views of the first, and open the file as what it is, a zip archive:

# %% tags=["proof-archive"]
import zipfile

x = mytorch.arange(12.0).reshape(3, 4)
mytorch.save({"x": x, "row": x[1], "t": x.t()}, path)
with zipfile.ZipFile(path) as archive:
    print({each.filename: each.file_size for each in archive.infolist()})
    program = archive.read("file/data.pkl")
print(sorted({argument for code, argument, _ in pickletools.genops(program) if code.name == "GLOBAL"}))
pictures.storage(x, {"x": x, "x[1]": x[1], "x.t()": x.t()})

# %% [markdown]
# There is one pickle, `data.pkl`, and a record for each *storage* (PyTorch adds three small ones). The program holds no numbers of tensors. It refers to a
# storage by its key, here "0", and adds an offset, a shape and strides. Three tensors made one storage, with twelve numbers of
# 4 bytes. So what was shared is shared again:

# %% tags=["proof-sharing"]
loaded = mytorch.load(path)
loaded["row"][0] = 100
print(loaded["x"][1], loaded["t"].stride())

big = torch.zeros(1000, 1000)
for value in (big, big[0], big[0].clone()):
    torch.save(value, path)
    print(f"{value.numel():7} numbers in {path.stat().st_size / 1000:4.0f} kB")

# %% [markdown]
# That has a price: if you save a row of a large tensor, its whole storage goes into the file. Clone the row first.
#
# ### Milestone: files of the real PyTorch
# `from_pytorch.pt` was written by PyTorch 2.13. It holds a compiled model, its Adam and some tensors. `mytorch` opens
# it, and what `mytorch` writes, PyTorch opens; the tests of this course do both.

# %% tags=["proof-from-pytorch"]
real = mytorch.load("files/from_pytorch.pt")
print(list(real["model"])[:2], real["types"][0], real["optimizer"]["param_groups"][0]["lr"])
plain = mytorch.nn.Sequential(mytorch.nn.Linear(3, 2))
print("with strict=False:", plain.load_state_dict(real["model"], strict=False).missing_keys, "missing")

# %% [markdown] tags=["short"]
# **Interview · A checkpoint was saved under `DataParallel` or `torch.compile`. Why doesn't the plain model load it?**
#
# - *Thirty seconds:* The wrapper holds your model as an attribute, `module` or `_orig_mod`, so all names begin with it. Save
#   the state of the model inside, or take the prefix off when you load.
# - *Longer:* `DistributedDataParallel` does the same. Where a part of a model is compiled, the prefix is in the middle of
#   its names. `model.compile()` changes no name.
# - *They ask next:* Doesn't `strict=False` help? It silences the error: no name matches, so nothing is loaded.
# - *The trap:* Taking `module.` off a model that has a part of its own called `module`.
# - *Proof:* `proof-from-pytorch`.
#
# **Interview · What is inside a `.pt` file?**
#
# - *Thirty seconds:* An uncompressed zip archive: one pickle with the structure, and the bytes of each storage in a record
#   of its own. Tensors in the pickle are a storage's key, offset, shape and strides.
# - *Longer:* Views saved together share memory after loading. Nothing is compressed, so a file can be mapped into memory.
# - *They ask next:* Why is my file of a small slice so large? The whole storage is saved.
# - *The trap:* Saving two views in two files. Each file has the whole storage, and what you load shares nothing.
# - *Proof:* `proof-archive`, `proof-sharing`.
#
# ## What to save of a model
# You can save a model as an object. What goes into the file?


# %% tags=["proof-code-is-not-saved"]
class Scale(nn.Module):
    def forward(self, x):
        return 2 * x


torch.save(Scale(), path)
Scale.forward = lambda self, x: 10 * x  # next month somebody edits the class
print("saved with 2 * x, loaded:", torch.load(path, weights_only=False)(torch.ones(1)))

# %% [markdown]
# ### Myth · "`torch.save(model)` saves the code"
# It saves the *name* of the class and the object's attributes. The file above came back with other code.
#
# **Interview · Do you save the `state_dict` or the module?**
#
# - *Thirty seconds:* The `state_dict`. It is a dict of names and tensors, so it survives renamed files and classes, loads
#   with `weights_only=True`, and can be loaded in part, as fine-tuning does ([chapter 21](21_features_and_visualization.ipynb)).
# - *Longer:* A pickled module refers to its class by name. A change of its code goes unnoticed.
# - *They ask next:* What isn't in a `state_dict`? The architecture, buffers with `persistent=False`, the optimizer, the mode.
# - *The trap:* Keeping a `state_dict` in a variable as a backup: it shares the model's memory
#   ([chapter 19](19_training_loop.ipynb)). A file is a copy.
# - *Proof:* `proof-code-is-not-saved`.
#
# ### From a GPU to a laptop
# A file remembers the device of each storage. `mytorch` simulates two GPUs here, then none:

# %% tags=["proof-map-location"]
mytorch.cuda.simulate(2)
mytorch.save({"weight": mytorch.ones(1, 1, device="cuda:1"), "bias": mytorch.zeros(1)}, path)
model = mytorch.nn.Linear(1, 1).to("cuda:0")
model.load_state_dict(mytorch.load(path, map_location="cpu"))
print("saved on", mytorch.load(path)["weight"].device, "| loaded into a model on", model.weight.device)

mytorch.cuda.simulate(0)
print(str(check.error(mytorch.load, path)).partition(". ")[0])
print("map_location:", mytorch.load(path, map_location="cpu")["weight"].device)

# %% [markdown]
# **Interview · You have a checkpoint from a GPU and a laptop without one. What happens?**
#
# - *Thirty seconds:* `torch.load` puts each storage on the device it was saved from, and raises where there is none.
#   `map_location="cpu"` puts them all on the CPU.
# - *Longer:* `load_state_dict` copies into the parameters wherever they are, so loading to the CPU is right for a model on a
#   GPU too, and needs no GPU memory for a second copy.
# - *They ask next:* Eight processes load the same file. What goes wrong? Without `map_location`, all eight copies land on
#   the one GPU that wrote it.
# - *The trap:* Calling `model.to("cpu")` after the load. The load has already failed.
# - *Proof:* `proof-map-location`.
#
# ## safetensors
# If all you want is named tensors, you don't need a machine. **safetensors** is 8 bytes with the length of a header, the
# header in JSON, then the numbers:

# %% tags=["proof-safetensors"]
import json

mytorch.safetensors.save_file({"table": mytorch.rand(500, 100), "bias": mytorch.tensor([1.0, 2.0])}, path)
with open(path, "rb") as handle:
    length = int.from_bytes(handle.read(8), "little")
    header = json.loads(handle.read(length))
    start, end = header["bias"]["data_offsets"]
    handle.seek(8 + length + start)
    numbers = handle.read(end - start)
print(header)
print(f"read {8 + length + len(numbers)} of {path.stat().st_size} bytes:", memoryview(numbers).cast("f").tolist())

tied = mytorch.ones(3, 2)
print(check.error(mytorch.safetensors.save_file, {"wte": tied, "lm_head": tied}, path))

# %% [markdown]
# To read one tensor you read the header and that tensor. A zip's pickle has to run first.
#
# **Interview · What does safetensors refuse, and why can it be lazy?**
#
# - *Thirty seconds:* It holds tensors by name and nothing else, so nothing can run. The header says where each one lies, so
#   you can read a single one, or map the file.
# - *Longer:* Each process of a sharded model reads its own slices. The real `save_file` also refuses tensors that aren't
#   contiguous, where yours writes row by row; views of one storage are fine there if they don't overlap.
# - *They ask next:* Why does it refuse tied weights? It has no storages, only tensors. Shared ones would be written twice,
#   and be independent after loading.
# - *The trap:* Expecting the optimizer's nested state to fit: names and tensors only, and strings as metadata.
# - *Proof:* `proof-safetensors`.
#
# ## A writer that is killed
# Jobs get killed, sometimes in the middle of a save. This cell cuts a save off at 25 points, as a kill does: first a writer
# that writes straight into the file, then one that writes another file and puts it in the old one's place at the end. `1`
# means that the old checkpoint can be loaded afterwards, `2` the new one, and `×` neither:

# %% tags=["proof-killed"]
import os

torch.save({"epoch": 1, "weight": torch.ones(100)}, path)
old = path.read_bytes()
torch.save({"epoch": 2, "weight": torch.zeros(100)}, path)
new, outcomes = path.read_bytes(), {}
for way, written in {"in place": path, "replace": Path(folder.name, "new.pt")}.items():
    outcomes[way] = ""
    for point in range(25):
        path.write_bytes(old)
        written.write_bytes(new[: len(new) * point // 22])
        if point > 22:
            os.replace(written, path)
        outcomes[way] += "×" if check.error(torch.load, path) else str(torch.load(path)["epoch"])
    print(f"{way:8} {outcomes[way]}")

# %%
ax, colours = pictures.axes(6.4, 1.5), {"1": "data", "2": "weight", "×": "result"}
for row, way in enumerate(outcomes):
    bars = ax.barh([row] * 25, 0.9, left=range(25), color=[pictures.COLOURS[colours[each]] for each in outcomes[way]])
    ax.bar_label(bars, outcomes[way], label_type="center", color="white", weight="bold")
ax.set(yticks=[0, 1], yticklabels=outcomes, xlabel="killed at point", title="1: old, 2: new, ×: lost")
pictures.publish(ax, alt=f"In place, {outcomes['in place'].count('×')} of 25 kills lose the file; with replace, none.")

# %% [markdown]
# `os.replace` is **atomic** within one file system: other programs see the old file or the new one, and nothing between.
# `mytorch.save` writes that way, and its tests kill a real process at 25 points. PyTorch's `torch.save` writes in place, so
# with PyTorch you replace the file yourself. A power failure needs one thing more: the bytes must be on the disk before
# the name is. That is exercise 6.
#
# ## Exact resume
# A run has trained for five steps and is saved. If you resume it, do the next six steps come out the same? The run has four
# parts: weights, Adam's memory, a schedule, and random numbers for data and dropout. Leave out one at a time:


# %% tags=["proof-resume"]
def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    return {"model": model, "optimizer": optimizer, "schedule": schedule}


def train(run, steps):
    for _ in range(steps):
        x = torch.randn(8, 4)
        run["optimizer"].zero_grad()
        ((run["model"](x) - x.sum(1, keepdim=True)) ** 2).mean().backward()
        run["optimizer"].step()
        run["schedule"].step()
        yield torch.cat([each.detach().flatten() for each in run["model"].parameters()])


first, apart = build(), {}
list(train(first, 5))
torch.save({name: part.state_dict() for name, part in first.items()} | {"random": torch.get_rng_state()}, path)
straight = list(train(first, 6))
for name in ("all four", "no model", "no optimizer", "no schedule", "no random"):
    saved, again = torch.load(path), build()
    for part in again.keys() - {name.removeprefix("no ")}:
        again[part].load_state_dict(saved[part])
    if name != "no random":
        torch.set_rng_state(saved["random"])
    apart[name] = [(one - other).abs().max().item() for one, other in zip(train(again, 6), straight, strict=True)]
    print(f"{name:12} the weights differ by", *[f"{each:.2f}" if each else "0" for each in apart[name]])
pictures.curves(apart, xlabel="step after resuming", ylabel="largest difference of a weight")

# %% [markdown]
# With all four, every bit agrees. Without the schedule the first step is still right, and the error begins with the second,
# because Adam's saved options include the learning rate of that moment. Such a fault can hide for a long time.
#
# **Interview · What does a checkpoint need for an exact resume?**
#
# - *Thirty seconds:* Model, optimizer, schedule, the state of every random generator, and where you were in the data.
#   With mixed precision, the `GradScaler` too.
# - *Longer:* Save at the end of a step, to another name, and replace. `weights_only` refuses NumPy's generator state, which
#   holds an array: save its numbers as a list.
# - *They ask next:* How do you test it? Train 5 + 6 steps and 11 steps, and compare weights.
# - *The trap:* Setting the same seed again: the run repeats the random numbers of its beginning.
# - *Proof:* `proof-resume`; killed writers: `proof-killed`.
#
# ## Larger than memory
# A model on the device `meta` has shapes and no numbers. Build one and load into it:

# %% tags=["proof-meta-device"]
state = nn.Linear(2, 2).state_dict()
empty = nn.Linear(2, 2, device="meta")
print(empty.load_state_dict(state))
print("before:", empty.weight.device, end=" ")
empty.load_state_dict(state, assign=True)
print("| with assign:", empty.weight.device, "| shares memory:", empty.weight.data_ptr() == state["weight"].data_ptr())

# %% [markdown]
# ### Myth · "Matched keys mean loaded"
# All keys matched, and nothing was loaded: copying into a tensor without memory does nothing. (PyTorch also warns.)
# `assign=True` doesn't copy: the loaded tensors become the parameters. An optimizer that was made before doesn't know them,
# and two more things get lost:

# %% tags=["proof-assign"]
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
model.load_state_dict({name: value.clone() for name, value in state.items()}, assign=True)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
print("the step moved the bias by", (model.bias - state["bias"]).abs().max().item())

with torch.device("meta"):
    tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    tied.register_buffer("mask", torch.ones(2), persistent=False)
print(tied.load_state_dict({"0.weight": state["weight"], "1.weight": state["weight"]}, assign=True), end=" ")
print("| one parameter:", tied[0].weight is tied[1].weight, "| mask on", tied.mask.device)

# %% [markdown]
# The optimizer still holds the old parameters, and it moves those. So make it afterwards. What was tied is now two
# parameters, and a buffer that isn't in the state is still on `meta`: tie and fill them again.
#
# And how do you get a `state` that is larger than memory? You don't read it:

# %% tags=["proof-mmap"]
import tracemalloc

torch.save({"table": torch.ones(2500, 1000)}, path)
for mmap in (False, True):
    tracemalloc.start()
    table = torch.load(path, mmap=mmap)["table"]
    print(f"mmap={mmap}: {tracemalloc.get_traced_memory()[0] / 1e6:.0f} of {table.nbytes / 1e6:.0f} MB in memory")
    tracemalloc.stop()

# %% [markdown]
# With `mmap=True` the file itself is the memory: the system reads a page of it when you look at the numbers there.
#
# **Interview · How do you load a 70 GB model on a machine with 64 GB?**
#
# - *Thirty seconds:* Build it on `meta`, `torch.load(path, mmap=True)`, then `load_state_dict(state, assign=True)`. The
#   numbers exist once, in the file, and are read when they are used.
# - *Longer:* The plain way needs twice the size: a model with random weights and the loaded copy.
# - *They ask next:* When do you make the optimizer? After `assign`. An earlier one steps parameters that nobody uses.
# - *The trap:* Forgetting `assign`: all keys match and the model stays empty. With it, forgetting buffers and tied weights.
# - *Proof:* `proof-meta-device`, `proof-assign`, `proof-mmap`.
#
# ## The real one
# This is what minitorch does at `REDUCE`, after the name has been looked up:

# %%
from minitorch.pickling import WeightsUnpickler

print(inspect.getsource(WeightsUnpickler._load_reduce))

# %% [markdown] tags=["short"]
# It asks a second time, at the call, and so does PyTorch.
#
# ## Rapid fire
# 1. Does a loaded tensor remember `requires_grad`? Yes.
# 2. Does a loaded tensor remember its graph? No, it comes back as a leaf.
# 3. Is a `.pt` file compressed? No: twelve numbers of 4 bytes take 48.
# 4. What happens with half of a `.pt` file? A `RuntimeError`, because the zip's directory is at its end.
# 5. Does `strict=False` ignore wrong shapes? No, only missing and unexpected names.

# %% tags=["proof-rapid-fire"]
torch.save(torch.ones(2, requires_grad=True) * 2, path)
z = torch.load(path)
print("1.", z.requires_grad, " 2.", z.is_leaf, z.grad_fn)
path.write_bytes(path.read_bytes()[:300])
error = check.error(nn.Linear(3, 2).load_state_dict, state, strict=False)
print("4.", type(check.error(torch.load, path)).__name__, " 5.", type(error).__name__)

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A pickle is a program; `GLOBAL` and `REDUCE` can call anything.
# 2. `weights_only=True` looks names up in an allow-list. It is the default since 2.6.
# 3. A `.pt` file is a zip: one pickle, and the bytes of each storage.
# 4. Views stay views; a small slice takes its whole storage along.
# 5. Save `state_dict`s. A pickled module is a name, not code.
# 6. `map_location="cpu"`, then `load_state_dict`.
# 7. safetensors: length, JSON, bytes. No code, no sharing, lazy.
# 8. Write elsewhere, sync, `os.replace`.
# 9. An exact resume needs model, optimizer, schedule, random state, place in the data.
# 10. Large: `meta`, `mmap`, `assign`; make the optimizer afterwards.
#
# ## You try
# [The exercises](../exercises/20_saving_and_loading.ipynb): predict what a file holds; write the pickle machine, the container and
# safetensors for `mytorch`; take prefixes off names; write a checkpoint that survives a power failure; and measure which
# parts a resume needs. [Chapter 20b](20b_export.ipynb) gets a model out of Python, and
# [chapter 21](21_features_and_visualization.ipynb) starts from saved weights to teach a network new classes.
