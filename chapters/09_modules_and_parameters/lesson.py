# %% [markdown]
# # Modules and parameters
# You'll write `Module`: how it finds parameters, names them, saves them and loads them. At the end a GPT's state dict
# goes from minitorch into your library and back, key by key.

# %% [markdown] tags=["short"]
# ## A model that forgets half of itself
# This model keeps two hidden layers in a list, and a third layer for the output. It trains, and its state dict loads
# into a second model.

# %% tags=["proof-lost-list"]
import minitorch as torch
from minitorch import nn

x = torch.linspace(-2, 2, 50).reshape(-1, 1)
y = (3 * x).sin()


class Net(nn.Module):
    def __init__(self, container):
        super().__init__()
        self.hidden = container([nn.Linear(1, 16), nn.Linear(16, 16)])
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = layer(x).tanh()
        return self.out(x)


def train(model, steps=600):
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


torch.manual_seed(0)
trained, other = Net(list), Net(list)
losses = {"list": train(trained)}
print(other.load_state_dict(trained.state_dict()))
for name, model in {"trained": trained, "loaded": other, "guessing 0": torch.zeros_like}.items():
    print(f"{name:10} loss {((model(x) - y) ** 2).mean().item():.1f}")

# %% [markdown]
# *All keys matched*, yet the loaded model is worse than guessing 0. Nothing raised, nothing warned. One change fixes
# it: `nn.ModuleList` in place of `list`.

# %%
from course import pictures

torch.manual_seed(0)
losses["nn.ModuleList"] = train(Net(nn.ModuleList))
for container in (list, nn.ModuleList):
    print(f"{container.__name__:11}", *Net(container).state_dict())
pictures.curves(losses, xlabel="step", ylabel="mean squared error", log="y", alt="The list's ends higher.")

# %% [markdown] tags=["short"]
# The hidden layers in the list run in `forward`, but the optimizer never got them and the state dict doesn't hold them.
# How does a module find out what belongs to it?
#
# ## A module is a record of assignments
# `self.weight = ...` calls `__setattr__`. A class can override it and look at each value on its way in.


# %%
class Box:
    def __init__(self):
        self.__dict__["members"] = {}  # not by assignment, which would look for members

    def __setattr__(self, name, value):
        if isinstance(value, (float, Box)):  # here a float is a weight
            self.members[name] = value
        object.__setattr__(self, name, value)

    def named(self, path=""):
        for name, value in self.members.items():
            yield from value.named(f"{path}{name}.") if isinstance(value, Box) else [(path + name, value)]


inner, outer = Box(), Box()
inner.weight, inner.bias = 1.0, 2.0
outer.first, outer.scale, outer.hidden = inner, 3.0, [4.0]
print(dict(outer.named()))

# %% [markdown]
# An assignment registers its value, and a name is the path from the outermost module down. The list holds a weight, but
# the value that was assigned is a list, and `__setattr__` doesn't look inside.
#
# ## Break it
# Use one layer twice, and drop a weight.

# %% tags=["proof-toy-breaks"]
outer.second = inner  # shared, as a GPT shares its embedding
outer.scale = None  # no longer wanted
print([name for name, _ in outer.named()], "and scale is", outer.scale)

# %% [markdown]
# That's two faults. The shared weights are listed twice, so an optimizer would step them twice. And `scale` is None but
# still registered: the value was kept in two places, `members` and the attribute, and the assignment changed only one.
#
# ## Three tables
# So a module keeps a value in exactly one place: a table for parameters, one for submodules, one for buffers, or
# `__dict__` for everything else.

# %% [markdown] given="mytorch.nn.parameter:Parameter mytorch.nn.module:Module.__getattr__"
# A `Parameter` is a tensor that says "train me". It starts as a leaf, it requires grad unless you freeze it, and it
# shares the memory of the tensor you make it from. Python calls `__getattr__` only for a name that it can't find in the
# usual way, so the tables come last:

# %% tags=["proof-registration"]
from course import check, lesson

mytorch = lesson.mytorch(9)


class Scale(mytorch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = mytorch.nn.Parameter(mytorch.ones(2))
        self.plain = mytorch.ones(2, requires_grad=True)
        self.register_buffer("count", mytorch.zeros(1))


scale = Scale()
for place in ("_parameters", "_modules", "_buffers"):
    print(f"{place:12}", list(scale.__dict__[place]))
print("plain in __dict__:", "plain" in scale.__dict__, "  factor in __dict__:", "factor" in scale.__dict__)
print(repr(check.error(setattr, scale, "factor", mytorch.ones(2))))
scale.factor = None
print(list(scale.parameters()), scale.factor)

# %% [markdown]
# Once a name belongs to a parameter, a plain tensor is refused, and `None` empties the place. `Linear(bias=False)` has
# such an empty place. You'll write `__setattr__` in exercise 2.
#
# **Interview · How does a module know its parameters?**
#
# - *Thirty seconds:* By assignment. `Module.__setattr__` sorts values by type: a `Parameter` into `_parameters`, a
#   `Module` into `_modules`, a buffer into `_buffers`. The rest are ordinary attributes.
# - *Longer:* Names are paths of attributes. `parameters()`, `state_dict()`, `to()` and `train()` all walk these tables.
# - *They ask next:* What about a tensor with `requires_grad=True`? It gets a gradient, but `parameters()` doesn't list
#   it.
# - *The trap:* layers in a list or dict. Use `ModuleList` or `ModuleDict`.
# - *Proof:* `proof-lost-list`, `proof-registration`.
#
# ## Names
# Everything else is one walk down the tree. `named_modules` gives each module with its path. `named_parameters` and
# `state_dict` ask each module on that walk for its own entries (exercise 3).

# %% tags=["proof-names"]
trunk = mytorch.nn.Linear(3, 3)
model = mytorch.nn.ModuleDict({"first": trunk, "again": trunk, "out": mytorch.nn.Linear(3, 1, bias=False)})
print("modules:   ", [name for name, _ in model.named_modules()])
print("parameters:", {name: tuple(each.shape) for name, each in model.named_parameters()})
print("state dict:", list(model.state_dict()))
pictures.graph(
    model,
    children=lambda module: [(each, name) for name, each in module._modules.items()],
    label=lambda layer: f"{type(layer).__name__}\n{', '.join(layer._parameters) or 'no parameters of its own'}",
    kind=lambda module: "module",
    alt="Two arrows, first and again, lead from one Linear to ModuleDict; a third, out, from another.",
)

# %% [markdown]
# Each arrow points to the module that holds the other. The shared layer has two paths. `named_parameters` visits it
# once, so an optimizer steps it once. `state_dict` lists both names, because the model that loads it may not share.
#
# **Interview · How do you make two layers share weights?**
#
# - *Thirty seconds:* Assign the same module, or the same parameter, to both: `decoder.weight = encoder.weight`.
# - *Longer:* The gradient is the sum over both uses. `parameters()` gives the parameter once.
# - *They ask next:* How do you count parameters? `sum(p.numel() for p in model.parameters())`, not over the state dict.
# - *The trap:* sharing where you wanted copies: `[nn.Linear(4, 4)] * 3` is one layer, three times.
# - *Proof:* `proof-names`, `proof-GPT-keys`.
#
# ### A function for every module: `apply`
# `apply` calls a function with each module, children first. That's how you give a model other initial weights.


# %% tags=["proof-apply"]
@torch.no_grad()
def start(module):
    print(type(module).__name__, end=" ")
    if isinstance(module, nn.Linear):
        module.weight.fill_(0.5)


net = Net(nn.ModuleList).apply(start)
print("\n", {name: each.unique().numel() for name, each in net.hidden.named_parameters()}, sep="")

# %% [markdown]
# `isinstance` picks the layers, and `no_grad` is needed: a write to a leaf that requires grad would raise. The last
# line counts the different values in each tensor. Each weight now has just one.
#
# ### Buffers
# Some tensors aren't trained but belong to the model: running averages, masks, tables. Register them as **buffers**,
# with `register_buffer` or by assigning an `nn.Buffer`.


# %% tags=["proof-buffers"]
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.learned = nn.Parameter(torch.zeros(1))
        self.register_buffer("mean", torch.zeros(1))
        self.mask = nn.Buffer(torch.ones(1), persistent=False)
        self.plain = torch.zeros(1)

    def get_extra_state(self):
        return {"batches": 3}


shift = Shift().double()
print("to train:", [name for name, _ in shift.named_parameters()], "  to save:", list(shift.state_dict()))
print({name: getattr(shift, name).dtype for name in ("learned", "mean", "mask", "plain")})

# %% [markdown]
# A module can save more than tensors: what `get_extra_state` returns goes into the state dict, and loading hands it to
# `set_extra_state`. Write both, because `Shift`, which lacks the second, refuses its own state dict:

# %%
print(check.error(Shift().load_state_dict, Shift().state_dict()))

# %% [markdown]
# **Interview · Parameter, buffer or plain attribute?**
#
# - *Thirty seconds:* A parameter is trained, saved and moved. A buffer is moved, and saved if it is persistent. A plain
#   tensor is none of these: it stays on the CPU when the model goes to the GPU.
# - *They ask next:* When is `persistent=False` right? For what the constructor can compute again, such as a causal
#   mask.
# - *The trap:* `self.mean = torch.zeros(3)`. It works until the model moves or is loaded; exercise 6 repairs one.
# - *Proof:* `proof-buffers`.

# %% [markdown] given="mytorch.nn.module:Module._apply"
# ## Moving everything
# `to`, `double` and `cuda` all end here:

# %% tags=["proof-to-keeps-objects"]
layer, alone = nn.Linear(2, 2), torch.zeros(2)
held = layer.weight  # as an optimizer holds it
optimizer = torch.optim.SGD([held], lr=0.1, momentum=0.9)
layer(torch.ones(1, 2)).sum().backward()
optimizer.step()
print("same module:", layer.double() is layer, "  same parameter:", layer.weight is held, held.dtype)
print("momentum:", optimizer.state[held]["momentum_buffer"].dtype)
mean, early = shift.mean, shift.state_dict()
print("same buffer:", shift.float().mean is mean, shift.mean.dtype, "  in the earlier state dict:", early["mean"].dtype)
print("same tensor:", alone.double() is alone, alone.dtype, "  no change:", alone.float() is alone)

# %% [markdown] tags=["short"]
# A module changes itself. A tensor's method returns another tensor, unless there is nothing to change. The parameters
# stay the same *objects* and get other memory, so an optimizer that you built earlier still holds them. (PyTorch's
# `to("meta")` is an exception: it makes new ones.) Buffers are replaced, so ask the module for them again. An earlier
# state dict keeps the old memory. And build the optimizer after the move: the momentum stayed float32.
#
# **Interview · `model.to(device)` without assigning the result: does it work?**
#
# - *Thirty seconds:* For a module, yes: it changes in place and returns itself. For a tensor, no: the result is lost.
# - *They ask next:* Optimizer before or after `to`? After. Parameters keep their identity, but state such as momentum
#   that already exists doesn't move with the model.
# - *The trap:* holding a buffer, or an earlier state dict, across the move. Both still have the old memory.
# - *Proof:* `proof-to-keeps-objects`; exercise 7 measures what else survives.
#
# ## State dicts
# A state dict is a flat dict: path to tensor. Keep the best one while training:

# %% tags=["proof-state-dict-shares"]
import copy

layer = nn.Linear(1, 1)
best, snapshot = layer.state_dict(), copy.deepcopy(layer.state_dict())
with torch.no_grad():
    layer.weight.fill_(7.0)
print("best:", best["weight"].item(), f"  snapshot: {snapshot['weight'].item():.2f}")
wrong = {"weight": torch.ones(1, 1), "bais": torch.ones(1)}
print(check.error(layer.load_state_dict, wrong))
print("and the weight is now", layer.weight.item())
print("not strict:", layer.load_state_dict(wrong, strict=False))
print(check.error(layer.load_state_dict, {"weight": torch.ones(1, 2)}, strict=False))

# %% [markdown]
# `best` isn't a snapshot. Its tensors are detached, but they *share memory* with the model until a move gives the
# model other memory, so "the best epoch" turns into the last one. And a load that fails has still loaded everything that
# fits.
#
# **Interview · What is in a state dict, and what isn't?**
#
# - *Thirty seconds:* Parameters and persistent buffers by path, and the extra state of modules that define one
#   ([buffers](proof-buffers)). Not the code, not which parameters are frozen, not the `training` flag, not the optimizer's
#   state.
# - *Longer:* Loading copies numbers into existing parameters. `strict=False` forgives missing and unexpected names, but
#   not another shape.
# - *They ask next:* All keys start with `module.`? The model was saved inside `DataParallel` (chapter 23): strip the
#   prefix. A compiled model's keys start with `_orig_mod.`, for the same reason.
# - *The trap:* `best = model.state_dict()` without a deep copy.
# - *Proof:* `proof-state-dict-shares`.
#
# ### The milestone: GPT's keys
# This is the tree of `minitorch/models/gpt.py`, with nanoGPT's names. LayerNorm and Embedding get a `forward` in
# chapters 12 and 13; here they only hold parameters of the right shapes.

# %% tags=["proof-GPT-keys"]
from minitorch.models import GPT, GPTConfig

n = mytorch.nn


class Holds(n.Module):
    def __init__(self, **shapes):
        super().__init__()
        for name, shape in shapes.items():
            setattr(self, name, n.Parameter(mytorch.empty(shape)))


def norm(width):
    return Holds(weight=(width,), bias=(width,))


def block(width):
    attention = n.ModuleDict({"c_attn": n.Linear(width, 3 * width), "c_proj": n.Linear(width, width)})
    mlp = n.ModuleDict({"c_fc": n.Linear(width, 4 * width), "c_proj": n.Linear(4 * width, width)})
    return n.ModuleDict({"ln_1": norm(width), "attn": attention, "ln_2": norm(width), "mlp": mlp})


def tree(words, positions, width, depth):
    parts = {"wte": Holds(weight=(words, width)), "wpe": Holds(weight=(positions, width))}
    parts |= {"h": n.ModuleList([block(width) for _ in range(depth)]), "ln_f": norm(width)}
    model = n.ModuleDict({"transformer": n.ModuleDict(parts), "lm_head": n.Linear(width, words, False)})
    model.transformer.wte.weight = model.lm_head.weight
    return model


def carried(state, library):
    return {name: library.from_numpy(each.numpy()) for name, each in state.items()}


gpt, mine = GPT(GPTConfig(block_size=8, vocab_size=16, n_layer=2, n_head=2, n_embd=8)), tree(16, 8, 8, 2)
print(mine.load_state_dict(carried(gpt.state_dict(), mytorch)))
names, parameters = list(mine.state_dict()), list(mine.parameters())
print(len(names), "names,", len(parameters), "parameters,", gpt.get_num_params(False), "numbers")
print("back:", gpt.load_state_dict(carried(mine.state_dict(), torch)))

# %% [markdown]
# There is one more name than there are parameters, because `lm_head.weight` *is* `transformer.wte.weight`. Chapter 14
# runs the model.
#
# ## A linear layer
# `Linear(in, out)` computes $y = x W^\top + b$ on the last dimension. The weight has shape (out, in): a row for each
# output. It starts uniform in $\pm 1/\sqrt{in}$, and so does the bias.

# %% tags=["proof-linear"]
for library in (torch, mytorch):
    library.manual_seed(0)
    layer = library.nn.Linear(400, 3)
    batch = layer(library.ones(5, 7, 400))
    print(tuple(layer.weight.shape), "->", tuple(batch.shape), "  bias:", layer.bias.tolist())
wide, data = nn.Linear(1000, 1000), torch.randn(100, 1000)
print(f"mean square: {(data**2).mean().item():.1f} in, {(wide(data) ** 2).mean().item():.2f} out")


def histogram(inputs):
    ax, bound = pictures.axes(), inputs**-0.5
    ax.hist(nn.Linear(inputs, 20_000 // inputs).weight.detach().flatten().tolist(), bins=40, range=(-1, 1))
    ax.set(xlabel="weight", ylabel="count")
    return pictures.publish(ax, alt=f"{inputs} inputs: flat between -{bound:.3f} and {bound:.3f}.")


pictures.slider(histogram, start={"inputs": 16}, inputs=[4, 16, 64, 256])

# %% [markdown]
# The same seed gives minitorch's numbers in every digit. A sum of $n$ terms with weights of variance $1/(3n)$ keeps a
# third of the inputs' mean square; chapter 10 asks what that does to a deep network.
#
# **Interview · What are the parameters of `nn.Linear(128, 10)`, and how do they start?**
#
# - *Thirty seconds:* Weight (10, 128) and bias (10): 1,290 numbers, uniform in $\pm 1/\sqrt{128}$.
# - *Longer:* The code says `kaiming_uniform_(a=sqrt(5))`. Kaiming's formula turns that into exactly $1/\sqrt{in}$.
# - *They ask next:* Which inputs does it take? One dimension or more, and the last must be 128.
# - *The trap:* storing (in, out). TensorFlow's `Dense` does, and so does GPT-2's original code.
# - *Proof:* `proof-linear`.
#
# ### Bilinear layers
# $y_k = x_1^\top W_k\, x_2 + b_k$: a matrix for each output, and *two* inputs. Without the bias it is linear in each
# input, but not in both at once. Double the first, the second, then both:

# %% tags=["proof-bilinear"]
pair = nn.Bilinear(3, 4, 2, bias=False)
u, v = torch.randn(5, 3), torch.randn(5, 4)
print("grows by:", *((pair(*each) / pair(u, v)).mean().item() for each in ((2 * u, v), (u, 2 * v), (2 * u, 2 * v))))

# %% [markdown]
# ### Lazy layers
# How many inputs does the layer after a few convolutions need? A lazy layer waits for the first batch and reads it off.

# %% tags=["proof-lazy"]
head = nn.Sequential(nn.Flatten(), nn.LazyLinear(2))
held = head[1].weight
print(head[1], held)
head(torch.ones(5, 3, 4))
print(head[1], "the same parameter:", head[1].weight is held, tuple(held.shape))

# %% [markdown] tags=["short"]
# A *pre-hook*, called before `forward`, creates the numbers, removes itself, and turns the object into a `Linear` by
# assigning to `__class__`. The parameter stays the same object, so an optimizer may hold it before it has a shape.
#
# ## Calling
# You call `model(x)`, not `model.forward(x)`. The difference is the hooks: functions that somebody has attached to a
# module. Here a hook on each layer prints the shape of its result. Another prints the shape of the gradient at the
# first layer's output.

# %% tags=["proof-call"]
model = mytorch.nn.Sequential(mytorch.nn.Linear(2, 3), mytorch.nn.Identity(), mytorch.nn.Linear(3, 1))
for each in model:
    each.register_forward_hook(lambda module, args, result: print("  ", module, tuple(result.shape)))
model[0].register_full_backward_hook(lambda module, grad_in, grad_out: print("   grad", grad_out[0].shape))
model(mytorch.ones(1, 2)).sum().backward()
print("forward of the first layer:", tuple(model[0].forward(mytorch.ones(1, 2)).shape))

# %% [markdown]
# The last line called `forward`, and no hook ran. `__call__` runs the pre-hooks, then `forward`, then the forward
# hooks. What a pre-hook returns, unless it's None, replaces the arguments, and what a forward hook returns replaces the
# result. [Chapter 21](21_features_and_visualization.ipynb) uses hooks to look into networks.
#
# **Interview · Why `model(x)` and not `model.forward(x)`?**
#
# - *Thirty seconds:* `__call__` runs the hooks around `forward`. Lazy layers and pruning depend on them.
# - *They ask next:* When does `forward` give another result? When a hook replaces the arguments or the result, and in a
#   lazy layer before its first call, where it raises.
# - *The trap:* testing without hooks. Both give the same numbers until somebody registers one.
# - *Proof:* `proof-call`, `proof-lazy`.
#
# ## All parameters as one vector

# %% tags=["proof-vector"]
layer, vector = nn.Linear(2, 2), torch.arange(6.0)
nn.utils.vector_to_parameters(vector, layer.parameters())
vector[0] = 100.0
joined = nn.utils.parameters_to_vector(layer.parameters()).neg_()
print("model:", layer.weight.tolist(), layer.bias.tolist(), "  joined:", joined.tolist(), joined.grad_fn.name())
pictures.storage(vector, {"weight": layer.weight.detach(), "bias": layer.bias.detach()})

# %% [markdown]
# After `vector_to_parameters`, each parameter is a piece of the vector, so a write to the vector changes the model.
# `parameters_to_vector` is a concatenation: new memory, so `neg_` didn't reach the model, and a history. Some methods treat all weights as one vector:
# L-BFGS, evolution strategies, or a walk along the line between two trained models.
#
# ## The real one
# minitorch's `register_parameter`, with PyTorch's checks:

# %%
import inspect

print(inspect.getsource(nn.Module.register_parameter))

# %% [markdown] tags=["short"]
# mytorch has the same table and the same type check. `_check_name` refuses names that are in use, and names with dots, which
# would make paths ambiguous. Like PyTorch, minitorch does two things more. It refuses a parameter with a `grad_fn`: that would
# be the result of an operation, not a leaf. And `registered(...)` runs global hooks, so that a tool can see the parameters
# of all models.
#
# ## Myths
# Three half-truths about modules, each with the cell that refutes it:
# - "`state_dict()` is a copy." It [shares the model's memory](proof-state-dict-shares).
# - "`model.to(device)` gives a moved copy." It [moves the model itself](proof-to-keeps-objects).
# - "A tensor that requires grad is a parameter." It gets a gradient, but only a `Parameter` is in
#   [`parameters()`](proof-registration).
#
# ## Rapid fire
# - *Does `load_state_dict` replace the parameters?* No. It writes into them (unless `assign=True`), so the optimizer
#   still holds the right ones. Exercise 7 measures it.
# - *Does `eval()` freeze parameters?* No. It sets a flag that some layers read ([chapter
#   12](12_norm_dropout_and_modes.ipynb)).
# - *`nn.ModuleList` or `nn.Sequential`?* A list can't be called; you write the `forward`.
# - *Does `zero_grad()` write zeros?* By default it sets `.grad` to `None` ([chapter
#   16](16_losses_and_optimizers.ipynb)).
# - *What does `bias=False` register?* The name `bias`, with `None`. It isn't in the state dict.
#
# ## Ten lines to remember
# 1. Assignment registers parameters, modules and buffers, each kind in a table of its own.
# 2. Plain lists and dicts hide layers. Use `ModuleList` and `ModuleDict`.
# 3. A name is the path of attributes.
# 4. A shared parameter is in `parameters()` once, and in the state dict under each name.
# 5. Parameter: trained, saved, moved. Buffer: moved, and saved if persistent.
# 6. `module.to` changes the module; `tensor.to` returns a tensor.
# 7. `state_dict()` shares memory. Deep-copy to keep it.
# 8. `Linear`: weight (out, in), uniform in $\pm 1/\sqrt{in}$.
# 9. Call the module, not `forward`, so that hooks run.
# 10. `vector_to_parameters` shares the vector's memory.
#
# ## You try
# [The exercises](../exercises/09_modules_and_parameters.ipynb): predict what is registered; write `__setattr__`, the names, the state
# dict both ways, linear layers, and calls; repair a layer that forgets; measure what survives a change. [Chapter
# 10](10_activations_and_initialization.ipynb) asks how the initial weights should be drawn.
