# %% [markdown]
# # Saving and loading
# By the end of this chapter, your own library will read PyTorch's files and write files that PyTorch can read. You will know what
# is inside a `.pt` file, why it can be dangerous, and what a training run needs to continue as if it had never stopped.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(20)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A file that runs code
# Suppose that somebody sends you a file of weights and you load it:

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
# The file called `print`, and it could just as well have called `os.system`. Your own code did nothing wrong; a program without
# the class `Weights` would have run it, too. How can a file of data run code?
#
# ## A pickle is a program
# `torch.save` relies on Python's `pickle`. A pickle is a list of operations that rebuild an object, and the stack machine that
# executes them is called the *unpickler*. Here is a short one, with one operation per line:

# %% tags=["proof-program"]
import pickle
import pickletools

program = pickle.dumps({"lr": 0.5, "betas": [3, 4]}, protocol=2)
for code, argument, position in pickletools.genops(program):
    print(f"{position:3} {code.name:11} {'' if argument is None else argument}")

# %% [markdown]
# Read it aloud: put an empty dict on the stack, remember where the next values begin (`MARK`), push a string, a number, a string
# and a list. Finally, move everything above the mark into the dict (`SETITEMS`). `BINPUT` stores an object in the **memo**, so
# that the program can use it again. An unpickler for this program takes only twenty lines:


# %%
def run(program):
    """The name of each operation, with the stack and the marks after it."""
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
        yield code.name, [repr(item) for item in stack], [*marks]


def draw(step):
    name, stack, marks = steps[step]
    ax = pictures.axes(6, 2.6)
    bars = ax.barh(range(len(stack)), 1, height=0.9, color=pictures.COLOURS["saved"])
    ax.bar_label(bars, stack, label_type="center", color="#1a1a1a")
    for mark in marks:
        ax.axhline(mark - 0.5, color=pictures.COLOURS["gradient"], linestyle="--")
        ax.text(1, mark - 0.5, " mark", va="center", color=pictures.COLOURS["gradient"])
    ax.set(
        xlim=(0, 1),
        ylim=(-0.7, 4.7),
        xticks=[],
        yticks=[],
        ylabel="top of the stack →",
        title=f"the stack after {name}",
    )
    return pictures.publish(
        ax, alt=f"After {name}, from the bottom: {', '.join(stack) or 'nothing'}; marks below {marks}."
    )


steps = list(run(program))
print(steps[-1][:2])
pictures.slider(draw, start={"step": 10}, step=list(range(len(steps))))

# %% [markdown]
# ### Break it
# The toy unpickler can't run the pickle of the first file:

# %% tags=["proof-global"]
program = pickle.dumps(Weights(), protocol=2)
print([f"{code.name} {argument or ''}".strip() for code, argument, _ in pickletools.genops(program)])
print(repr(check.error(list, run(program))))

# %% [markdown]
# Two operations are to blame: `GLOBAL` looks up any function or class by its name, importing its module if necessary, and
# `REDUCE` calls it. (Which call is written for an object is decided by its `__reduce__` method.) An unpickler can't drop these
# operations, because the program for a tensor names `torch._utils._rebuild_tensor_v2` and calls it. But it can check each name
# against an allow-list and refuse all others.

# %% [markdown] given="mytorch.pickling:rebuild_tensor mytorch.pickling:find_allowed"
# ### An allow-list of names
# `ALLOWED` lists ten dtypes, ten storage classes, `OrderedDict` and two functions, one of which builds a tensor:

# %% tags=["proof-weights-only"]
print(str(check.error(mytorch.load, evil)).partition(" Please")[0])
with torch.serialization.safe_globals([print]):
    print("allowed by hand:", torch.load(evil))

# %% [markdown]
# So `mytorch` refuses the file, and even minitorch's restricted unpickler runs it as soon as somebody allows `print`. You will
# write the unpickler and its allow-list in exercise 2.
#
# **Interview · Why is `pickle` dangerous, and what does `weights_only` do?**
#
# - *Thirty seconds:* A pickle is a program that can name any function and call it while the file is being loaded. With
#   `weights_only=True`, a restricted unpickler allows only harmless types such as tensors, dtypes and plain containers, and
#   anything else raises an error.
# - *Longer:* It has been the default since PyTorch 2.6. You can add names with `torch.serialization.safe_globals`, which the file
#   can then call, although a few modules, such as the one behind `os.system`, stay blocked.
# - *They ask next:* What if a file doesn't load with it? I read the name in the error message, which is often just a NumPy value,
#   such as a metric that was saved as `np.float64` instead of a float. I allow the name if I know what it does, and set
#   `weights_only=False` only if I trust the file's author.
# - *The trap:* It doesn't help that you only read the tensors afterwards: the program has already run.
# - *Proof:* `proof-runs-while-loading`, `proof-global`, `proof-weights-only`, `proof-tiny-file`.

# %% [markdown] tags=["short"]
# ## Inside a `.pt` file
# A `.pt` file is a zip archive. To see where the elements end up, save three tensors, two of which are views of the first, and
# open the archive:

# %% tags=["proof-archive"]
import zipfile

x = mytorch.arange(12.0).reshape(3, 4)
mytorch.save({"x": x, "row": x[1], "t": x.t()}, path)
with zipfile.ZipFile(path) as archive:
    print({entry.filename: entry.file_size for entry in archive.infolist()})
    program = archive.read("file/data.pkl")
operations = [(code.name, argument) for code, argument, _ in pickletools.genops(program) if code.name != "BINPUT"]
print(sorted({argument for name, argument in operations if name == "GLOBAL"}))
end = [name for name, _ in operations].index("BINPERSID")
print("a storage:", [argument or name for name, argument in operations[end - 7 : end + 1]])
pictures.storage(x, {"x": x, "x[1]": x[1], "x.t()": x.t()})

# %% [markdown]
# The archive has one pickle, `data.pkl`, and one record for each *storage* (PyTorch adds three small ones). The pickle doesn't
# contain the tensors' elements. Instead, it pushes a storage's type, its key (here "0"), its device and its size, and lets
# `BINPERSID` fetch that storage from its record; an offset, a shape and strides follow. Since all three tensors refer to one
# storage of twelve 4-byte elements, they share memory again after loading:

# %% tags=["proof-sharing"]
loaded = mytorch.load(path)
loaded["row"][0] = 100
print(loaded["x"][1], loaded["t"].stride())

big = torch.zeros(1000, 1000)
for value in (big, big[0], big[0].clone()):
    torch.save(value, path)
    print(f"{value.numel():7} elements in {path.stat().st_size / 1000:4.0f} kB")

# %% [markdown]
# Sharing has a cost: if you save one row of a large tensor, the whole storage goes into the file, so clone the row first.
#
# ### Milestone: files of the real PyTorch
# `from_pytorch.pt` was written by PyTorch 2.13 and holds the state of a compiled model, the state of its Adam optimizer, and some
# tensors. `mytorch` opens it, and PyTorch opens what `mytorch` writes; the course's tests check both.

# %% tags=["proof-from-pytorch"]
real = mytorch.load("files/from_pytorch.pt")
print(list(real["model"])[:2], real["types"][0], real["optimizer"]["param_groups"][0]["lr"])
plain = mytorch.nn.Sequential(mytorch.nn.Linear(3, 2))
print("with strict=False:", plain.load_state_dict(real["model"], strict=False).missing_keys, "missing")

# %% [markdown] tags=["short"]
# **Interview · A checkpoint was saved under `DataParallel` or `torch.compile`. Why doesn't the plain model load it?**
#
# - *Thirty seconds:* The wrapper holds the model as an attribute, `module` or `_orig_mod`, so all names begin with that prefix. I
#   save the state of the model inside, or strip the prefix when I load.
# - *Longer:* `DistributedDataParallel` does the same. If only a submodule is compiled, the prefix appears in the middle of its
#   names, while `model.compile()` changes no names at all.
# - *They ask next:* Doesn't `strict=False` help? No, it only silences the error. No name matches, so nothing is loaded.
# - *The trap:* Don't strip `module.` from a model that really has a submodule of that name.
# - *Proof:* `proof-from-pytorch`.
#
# **Interview · What is inside a `.pt` file?**
#
# - *Thirty seconds:* It is an uncompressed zip archive with one pickle for the structure and one record of bytes per storage. The
#   pickle describes a tensor by its storage's key, an offset, a shape and strides.
# - *Longer:* Views of one dtype that are saved together still share memory after loading, whereas PyTorch refuses to save views
#   with different dtypes. Since nothing is compressed, a file can be mapped into memory.
# - *They ask next:* Why is my file of a small slice so large? Because the slice is saved with its whole storage.
# - *The trap:* Two views saved to separate files each bring the whole storage, although the loaded tensors share nothing.
# - *Proof:* `proof-archive`, `proof-sharing`.
#
# ## What to save of a model
# `torch.save` also accepts a whole model. What ends up in the file then?


# %% tags=["proof-code-is-not-saved"]
class Scale(nn.Module):
    def forward(self, x):
        return 2 * x


torch.save(Scale(), path)
Scale.forward = lambda self, x: 10 * x  # next month somebody edits the class
print("saved with 2 * x, loaded:", torch.load(path, weights_only=False)(torch.ones(1)))

# %% [markdown]
# ### Myth · "`torch.save(model)` saves the code"
# For an ordinary module, it saves only the *name* of the class and the object's attributes, which is why the module above came
# back with different code. (A `torch.fx.GraphModule` is an exception, because its generated code is an attribute.)
#
# **Interview · Do you save the `state_dict` or the module?**
#
# - *Thirty seconds:* The `state_dict`: a plain dict of names and tensors. It survives renamed files and
#   classes, normally loads with `weights_only=True`, and can be loaded in part, as in fine-tuning ([chapter
#   21](21_features_and_visualization.ipynb)).
# - *Longer:* A pickled module refers to its class by name, so changes to the code go unnoticed. A module with `get_extra_state`
#   may put objects into its `state_dict` that `weights_only` refuses.
# - *They ask next:* What isn't in a `state_dict`? The architecture, buffers with `persistent=False`, the optimizer and the mode.
# - *The trap:* A `state_dict` in a variable is no backup. Unlike a file, it is no copy: it shares the model's memory ([chapter
#   19](19_training_loop.ipynb)).
# - *Proof:* `proof-code-is-not-saved`.
#
# ### `map_location`: from a GPU to a laptop
# A file records the device of each storage. Here `mytorch` simulates two GPUs, and then none:

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
# - *Thirty seconds:* `torch.load` puts each storage back on the device it was saved from, so without a GPU it raises an error.
#   With `map_location="cpu"`, they all go to the CPU.
# - *Longer:* `load_state_dict` copies into the parameters wherever they are, so I load to the CPU even for a model on a GPU,
#   which needs no GPU memory for a second copy.
# - *They ask next:* What goes wrong if eight processes load the same file? Without `map_location`, all eight copies land on the
#   one GPU that wrote it.
# - *The trap:* `model.to("cpu")` after the load comes too late: the load has already failed.
# - *Proof:* `proof-map-location`.
#
# ## safetensors
# If all you want is named tensors, you don't need an unpickler at all. A **safetensors** file begins with 8 bytes that give the
# length of a JSON header; then come the header itself and the bytes of the tensors:

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
# To read a single tensor, you need only the header and that tensor's bytes, while a `.pt` file has to be unpickled first. The
# last line is the price: the format refuses two names for one tensor.
#
# **Interview · What does safetensors refuse, and why can it be lazy?**
#
# - *Thirty seconds:* It holds named tensors and nothing else, so there is nothing to run, and anything but a tensor is refused.
#   The header says where each tensor is, so you can read a single one or map the file into memory.
# - *Longer:* Each process of a sharded model can read just its own slices. The real `save_file` also refuses non-contiguous
#   tensors, which yours writes row by row, but it accepts views of one storage if they don't overlap.
# - *They ask next:* Why does it refuse tied weights? The format has no storages, so shared weights would be written twice and
#   come back as independent copies. `save_model` keeps one of the names and ties the weights again when you load.
# - *The trap:* It can't hold the optimizer's nested state. It has room only for names, tensors, and strings as metadata.
# - *Proof:* `proof-safetensors`; large models are split over files: `proof-sharded`.
#
# ## Atomic saves
# Jobs get killed, sometimes in the middle of a save. The next cell interrupts a save at 25 points, as a kill would. One writer
# overwrites the file directly, and the other writes a second file and renames it at the end. In the output, `1` means that the
# old checkpoint still loads afterwards, `2` that the new one does, and `×` that neither does:

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
    bars = ax.barh([row] * 25, 0.9, left=range(25), color=[pictures.COLOURS[colours[end]] for end in outcomes[way]])
    ax.bar_label(bars, outcomes[way], label_type="center", color="white", weight="bold")
ax.set(
    yticks=[0, 1],
    yticklabels=outcomes,
    ylim=(1.6, -0.6),
    xlabel="killed at point",
    title="1: the old one loads, 2: the new one, ×: lost",
)
pictures.publish(ax, alt=f"In place, {outcomes['in place'].count('×')} of 25 kills lose the file; with replace, none.")

# %% [markdown]
# `os.replace` is **atomic** within one file system, so other programs see either the old file or the new one, and nothing in
# between. `mytorch.save` works this way, and its tests kill a real process at 25 points. PyTorch's `torch.save` writes in place,
# so there the renaming is up to you. It doesn't even take a kill to lose a checkpoint: if the object can't be pickled,
# `torch.save` raises an error *after* it has emptied the old file. (minitorch keeps the old file in this case.)
#
# To survive a power failure as well, the bytes must reach the disk before the new name does. `os.fsync(file.fileno())` waits for
# the bytes, and an `fsync` of the folder, which you also write in exercise 6, does the same for the name.
#
# **Interview · How do you write checkpoints so that a crash never costs you the last one?**
#
# - *Thirty seconds:* I write to a temporary file in the same folder, flush and `fsync` it, and then rename it with `os.replace`,
#   so a reader finds either the old checkpoint or the new one. I also keep the last few, because a good file can hold bad
#   weights.
# - *Longer:* In a run on many GPUs, only rank 0 saves a replicated model, and the others wait at a barrier. With sharded
#   weights, each rank writes its own part, and `torch.distributed.checkpoint` can load them on a different number of GPUs
#   ([chapter 23b](23b_shards.ipynb)).
# - *They ask next:* How do you keep saving from stalling the training? I copy the state to CPU memory, which takes seconds, and
#   let a thread or a process write it, as `torch.distributed.checkpoint.async_save` does.
# - *The trap:* `torch.save(state, "last.pt")` overwrites `last.pt`, so a kill, a full disk or an object that can't be pickled leaves you
#   with neither checkpoint.
# - *Proof:* `proof-killed`.
#
# ## Exact resume
# A run is saved after five training steps. If you resume it, will the next six steps be the same as without the interruption? The
# run's state has four parts: the weights, Adam's state, the scheduler's, and that of the generator of random numbers, which draws
# the data and the dropout masks. Resume with all four, and then leave out one at a time:


# %% tags=["proof-resume"]
def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    return {"model": model, "optimizer": optimizer, "scheduler": scheduler}


def train(run, steps):
    for _ in range(steps):
        x = torch.randn(8, 4)
        run["optimizer"].zero_grad()
        ((run["model"](x) - x.sum(1, keepdim=True)) ** 2).mean().backward()
        run["optimizer"].step()
        run["scheduler"].step()
        yield torch.cat([parameter.detach().flatten() for parameter in run["model"].parameters()])


first, apart = build(), {}
list(train(first, 5))
torch.save({name: part.state_dict() for name, part in first.items()} | {"random": torch.get_rng_state()}, path)
straight = list(train(first, 6))
for name in ("all four", "no model", "no optimizer", "no scheduler", "no random"):
    saved, again = torch.load(path), build()
    for part in again.keys() - {name.removeprefix("no ")}:
        again[part].load_state_dict(saved[part])
    if name != "no random":
        torch.set_rng_state(saved["random"])
    apart[name] = [(one - other).abs().max().item() for one, other in zip(train(again, 6), straight, strict=True)]
    print(f"{name:12} the weights differ by", *[f"{gap:.2f}" if gap else "0" for gap in apart[name]])
pictures.curves(apart, xlabel="step after resuming", ylabel="largest difference of a weight")

# %% [markdown]
# With all four, every bit agrees. Without the scheduler the first step is still correct and the error begins only with the
# second, because the optimizer's saved `param_groups` include the current learning rate. A bug like this can stay hidden for a
# long time.
#
# **Interview · What does a checkpoint need for an exact resume?**
#
# - *Thirty seconds:* The model, the optimizer, the scheduler, the state of every random generator, and the position in the data;
#   with float16, the `GradScaler` as well.
# - *Longer:* The generators are `torch.get_rng_state()` for the CPU, `torch.cuda.get_rng_state_all()` for the GPUs, Python's
#   `random`, NumPy's, and those of the data loader's workers. On a GPU, bitwise equality also requires deterministic kernels.
# - *They ask next:* How do you test it? I train once for 5 + 6 steps and once for 11 steps, and compare the weights.
# - *The trap:* If you just set the same seed again, the run repeats the random numbers from its beginning.
# - *Proof:* `proof-resume`, `proof-generators`.
#
# ## Models larger than memory
# Usually, memory is needed twice: for the random weights of a new model, and for the state that replaces them. A model on the
# `meta` device avoids the first, because it has shapes but no data. The next cell builds one and loads a state into it, first by
# copying and then without a copy:

# %% tags=["proof-meta-device"]
state = nn.Linear(2, 2).state_dict()
empty = nn.Linear(2, 2, device="meta")
print(empty.load_state_dict(state))
print("before:", empty.weight.device, end=" ")
empty.load_state_dict(state, assign=True)
print("| with assign:", empty.weight.device, "| shares memory:", empty.weight.data_ptr() == state["weight"].data_ptr())

# %% [markdown]
# ### Myth · "Matched keys mean loaded"
# All keys matched and yet nothing was loaded, because copying into a tensor without memory does nothing. (PyTorch also warns
# you.) With `assign=True`, the loaded tensors themselves become the parameters. But then an optimizer that was created earlier
# still holds the old ones, and two more things get lost:

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
print(tied.load_state_dict({"0.weight": state["weight"], "1.weight": state["weight"]}, assign=True))
one, other = tied[0].weight, tied[1].weight
print(
    "one parameter:", one is other, "| same memory:", one.data_ptr() == other.data_ptr(), "| mask on", tied.mask.device
)

# %% [markdown]
# Loading with `assign=True` therefore takes three more steps:
#
# - The old optimizer didn't move the new bias, so create the optimizer after loading.
# - The tied weight has become two parameters that still share memory. With plain SGD this goes unnoticed, because the two updates
#   add up, but Adam keeps a state for each of them, so training differs. Tie the weights again.
# - A buffer that isn't in the state is still on `meta`, so recompute it.
#
# How do you load a `state` that is larger than memory? You leave it in the file until it is used:

# %% tags=["proof-mmap"]
import tracemalloc

torch.save({"table": torch.ones(2500, 1000)}, path)
for mmap in (False, True):
    tracemalloc.start()
    table = torch.load(path, mmap=mmap)["table"]
    print(f"mmap={mmap}: {tracemalloc.get_traced_memory()[0] / 1e6:.0f} of {table.nbytes / 1e6:.0f} MB in memory")
    tracemalloc.stop()

# %% [markdown]
# With `mmap=True`, the file itself serves as memory, and the operating system reads a page only when you touch an element on
# it.
#
# **Interview · How do you load a 70 GB model on a machine with 64 GB?**
#
# - *Thirty seconds:* First I ask whether it must be 16-bit: in 8 or 4 bits it fits. If it must, I build it on `meta`, load it with
#   `mmap=True`, and call `load_state_dict(state, assign=True)`, so the weights exist once, in the file. It then runs at the disk's
#   speed, so to serve it I split it over machines.
# - *Longer:* The naive way needs memory for two copies: the model with its random weights, and the loaded state. With `mmap`, a
#   page is read when it is used, and every pass reads the pages that don't fit into memory again.
# - *They ask next:* When do you create the optimizer? After `assign`, because an earlier one would update parameters that the
#   model no longer uses.
# - *The trap:* Without `assign` all keys match but the model stays empty; with it, people forget about buffers and tied weights.
# - *Proof:* `proof-meta-device`, `proof-assign`, `proof-mmap`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Does a tensor that is saved and loaded keep `requires_grad`? Yes.
# 2. Does a tensor that is saved and loaded keep its graph? No, it comes back as a leaf.
# 3. Is a `.pt` file compressed? No: twelve values of 4 bytes take 48 bytes.
# 4. What happens if you load half of a `.pt` file? A `RuntimeError`: the zip's directory is at its end.
# 5. Does `load_state_dict(..., strict=False)` ignore wrong shapes? No, it only ignores missing and unexpected names.

# %% tags=["proof-rapid-fire"]
torch.save(torch.ones(2, requires_grad=True) * 2, path)
z = torch.load(path)
print("1.", z.requires_grad, " 2.", z.is_leaf, z.grad_fn)
path.write_bytes(path.read_bytes()[:300])
error = check.error(nn.Linear(3, 2).load_state_dict, state, strict=False)
print("4.", type(check.error(torch.load, path)).__name__, " 5.", type(error).__name__)

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A pickle is a program, in which `GLOBAL` and `REDUCE` can call anything.
# 2. `weights_only=True` looks names up in an allow-list, and has been the default since 2.6.
# 3. A `.pt` file is a zip with one pickle and the bytes of each storage.
# 4. Views of one dtype stay views, and a small slice is saved with its whole storage.
# 5. Save `state_dict`s, because an ordinary module is pickled as a name, not as code.
# 6. Load with `map_location="cpu"`, then call `load_state_dict`.
# 7. A safetensors file is a length, JSON and bytes, so it runs no code, shares no storage, and can be read lazily.
# 8. Write to another file, `fsync`, then `os.replace`, and let only rank 0 save.
# 9. An exact resume needs model, optimizer, scheduler, every random generator, and the position in the data.
# 10. For large models, use `meta`, `mmap` and `assign`, and create the optimizer afterwards.
#
# ## You try
# In [the exercises](../exercises/20_saving_and_loading.ipynb) you predict what a file holds; write the unpickler, the container
# and safetensors for `mytorch`; strip prefixes from names; write a checkpoint that survives a power failure; and measure which
# parts a resume needs. [Chapter 20b](20b_export.ipynb) takes a model out of Python, and [chapter
# 21](21_features_and_visualization.ipynb) starts from saved weights to teach a network new classes.

# %% [markdown]
# ## If you have time
# ### Myth · "`weights_only=True` makes any file safe"
# It keeps a file from running code, and it blocks `os.system` even if you allow it by hand, but it doesn't make the contents
# trustworthy. The second file below takes about a kilobyte and holds a single element, yet it claims a shape that would fill four
# terabytes as soon as it is copied:


# %% tags=["proof-tiny-file"]
class Command:
    def __reduce__(self):
        return os.system, ("echo gone",)


torch.save(Command(), path)
with torch.serialization.safe_globals([os.system]):
    print("os.system, allowed by hand:", "blocked" if "is blocked" in str(check.error(torch.load, path)) else "called")
torch.save(torch.zeros(1).expand(10**6, 10**6), path)
claimed = torch.load(path)
print(f"{path.stat().st_size // 1000} kB in the file, {claimed.numel() * 4 / 1e12:.0f} TB if it is copied")

# %% [markdown]
# **Interview · Is `weights_only=True` enough for a file from a stranger?**
#
# - *Thirty seconds:* It is necessary, but I'd still prefer safetensors. Bugs have let files run code in spite of it, up to
#   PyTorch 2.5.1 and again up to 2.9.1, so I update first. After loading, I check names, shapes and dtypes against what I expect.
# - *Longer:* The second of these bugs ([CVE-2026-24747](https://github.com/advisories/GHSA-63cw-57p8-fm3p), after CVE-2025-32434)
#   let `SETITEMS` write into objects that aren't dicts, which could corrupt memory; since 2.10 the unpickler refuses that. But
#   safe loading says nothing about the weights themselves, which can contain a backdoor, or about Python code that comes with a
#   model.
# - *They ask next:* Which Python code comes with a model? Hugging Face's `trust_remote_code=True` runs files from the model's
#   repository, whatever the format of its weights.
# - *The trap:* Whoever catches the error and loads again with `weights_only=False` does what an attacker hopes for.
# - *Proof:* `proof-weights-only`, `proof-tiny-file`.
#
# ### Random states of NumPy and Python
# `torch.get_rng_state()` returns the state of the CPU's generator only. Each GPU has a generator of its own, and so do Python and
# NumPy, whose states this cell saves in two ways:

# %% tags=["proof-generators"]
import random

import numpy as np

torch.save({"NumPy": np.random.default_rng(0).bit_generator.state, "Python": random.getstate()}, path)
print("loads with weights_only:", sorted(torch.load(path)))
torch.save(np.random.get_state(), path)
print("NumPy's legacy state:   ", type(check.error(torch.load, path)).__name__)

# %% [markdown]
# ### Sharded safetensors
# Large models come as several files with an index, which maps each tensor's name to the file that holds it. To load one layer,
# you open only the index and that file:

# %% tags=["proof-sharded"]
table = {"embed.weight": mytorch.ones(4, 2), "head.weight": mytorch.zeros(4, 2)}
files = {name: f"model-0000{number}-of-00002.safetensors" for number, name in enumerate(table, 1)}
for name, file in files.items():
    mytorch.safetensors.save_file({name: table[name]}, Path(folder.name, file))
Path(folder.name, "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))

index = json.loads(Path(folder.name, "model.safetensors.index.json").read_text())["weight_map"]
print("head.weight is in", index["head.weight"])
print(mytorch.safetensors.load_file(Path(folder.name, index["head.weight"]))["head.weight"].sum().item())

# %% [markdown]
# ### The real one
# This is how minitorch executes `REDUCE`, after the name has been looked up:

# %%
import inspect

from minitorch.pickling import WeightsUnpickler

print(inspect.getsource(WeightsUnpickler._load_reduce))

# %% [markdown]
# It checks the allow-list a second time, at the call, and so does PyTorch.
