# %% [markdown]
# # Modules and parameters
# You'll write `Module`, the class that finds a model's parameters, names them, saves them and loads them. At the end, the state dict
# of a GPT travels from minitorch into your library and back, key by key.

# %% [markdown] tags=["short"]
# ## Layers in a Python list: a model that forgets half of itself
# This model keeps two hidden layers in a list and has a third layer for the output. It trains without an error, and its state dict
# loads into a second model.

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
print(other.load_state_dict(trained.state_dict()))  # with seeds 0 to 4, the loaded model's loss is 1.1 to 6.1
for name, model in {"trained": trained, "loaded": other, "guessing 0": torch.zeros_like}.items():
    print(f"{name:10} loss {((model(x) - y) ** 2).mean().item():.1f}")

# %% [markdown]
# *All keys matched*, and there was neither an error nor a warning. Yet the loaded model is worse than one that always guesses 0.
# One change fixes it: use `nn.ModuleList` instead of `list`.

# %%
from course import pictures

torch.manual_seed(0)
losses["nn.ModuleList"] = train(Net(nn.ModuleList))
for container in (list, nn.ModuleList):
    print(f"{container.__name__:11}", *Net(container).state_dict())
about = "The curve of the list ends higher than that of nn.ModuleList."
pictures.curves(losses, xlabel="step", ylabel="mean squared error", log="y", alt=about)

# %% [markdown] tags=["short"]
# The hidden layers in the list run in `forward`, but the optimizer never received them, and the state dict doesn't contain them: the
# loaded model has its own random ones. How does a module find out what belongs to it?
#
# ## How assignment registers parameters: `__setattr__`
# The statement `self.weight = ...` calls `__setattr__`, which a class can override to look at each value that is assigned. This
# is the smallest version:


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
# Each assignment of a weight or a box registers it under its name, and the full name is the path of attributes from the outermost
# box down. The weight in the list isn't found: the assigned value is the list, and `__setattr__` doesn't look inside.
#
# ## Break it
# To find the faults of this version, the next cell uses one layer twice, as a GPT does with its embedding matrix, and then removes a
# weight.

# %% tags=["proof-toy-breaks"]
outer.second = inner  # shared
outer.scale = None  # no longer wanted
print([name for name, _ in outer.named()], "and scale is", outer.scale)

# %% [markdown]
# There are two faults. The shared weights are listed twice, so an optimizer would update them twice in each step. And `scale` is None but
# still registered, because the value was kept both in `members` and as an attribute, and the assignment changed only the attribute.
#
# ## Three tables: parameters, submodules and buffers
# To avoid the second fault, a module keeps each value in exactly one place: it has a table for parameters, one for submodules and one
# for buffers, and `__dict__` holds everything else.

# %% [markdown] given="mytorch.nn.parameter:Parameter mytorch.nn.module:Module.__getattr__"
# A `Parameter` is a tensor that is meant to be trained. It is a leaf, it requires a gradient unless you freeze it, and it shares the
# memory of the tensor from which it is made. Because Python calls `__getattr__` only for names that ordinary lookup doesn't find, the
# tables are searched last:

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
for table in ("_parameters", "_modules", "_buffers"):
    print(f"{table:12}", list(scale.__dict__[table]))
print("plain in __dict__:", "plain" in scale.__dict__, "  factor in __dict__:", "factor" in scale.__dict__)
print(repr(check.error(setattr, scale, "factor", mytorch.ones(2))))
scale.factor = None
print(list(scale.parameters()), scale.factor)

# %% [markdown]
# The tensor `plain` requires a gradient, but it isn't a parameter. Once a name belongs to a parameter, assigning a plain tensor to it
# raises an error, while `None` leaves the name registered without a value, as in `Linear(bias=False)`. You will write `__setattr__` in
# exercise 2.

# %% [markdown]
# **Interview · How does a module know its parameters?**
#
# - *Thirty seconds:* It registers them on assignment. `Module.__setattr__` sorts values by their type, so a `Parameter` goes into
#   `_parameters`, a `Module` into `_modules` and a buffer into `_buffers`, while everything else stays an ordinary attribute.
# - *Longer:* A parameter's name is the path of attributes that leads to it, and the methods `parameters()`, `state_dict()`, `to()`
#   and `train()` all traverse these tables.
# - *They ask next:* What about a tensor with `requires_grad=True` that isn't a `Parameter`? It gets a gradient, but `parameters()`
#   doesn't list it, so no optimizer updates it.
# - *The trap:* A plain list or dict of layers isn't registered. Use a `ModuleList` or `ModuleDict`.
# - *Proof:* `proof-lost-list`, `proof-registration`; for a property that hides its error, `proof-property-error`.
#
# ## Traversing a model: `named_modules` and `named_parameters`
# Everything else is a traversal of the tree: `named_modules` yields each module with its path, and `named_parameters` and `state_dict`
# collect the entries of each module on the way. You will write them in exercises 3 and 4.

# %% tags=["proof-names"]
trunk = mytorch.nn.Linear(3, 3)
model = mytorch.nn.ModuleDict({"first": trunk, "again": trunk, "out": mytorch.nn.Linear(3, 1, bias=False)})
print("modules:   ", [name for name, _ in model.named_modules()])
print("parameters:", {name: tuple(parameter.shape) for name, parameter in model.named_parameters()})
print("state dict:", list(model.state_dict()))
pictures.graph(
    model,
    children=lambda module: [(child, name) for name, child in module._modules.items()],
    label=lambda layer: f"{type(layer).__name__}\n{', '.join(layer._parameters) or 'no parameters of its own'}",
    kind=lambda module: "module",
    alt="Two arrows, first and again, lead from one Linear to ModuleDict; a third, out, from another.",
)

# %% [markdown]
# Each arrow points from a module to the module that contains it, and the shared layer has two paths. `named_parameters` visits
# the layer once, so an optimizer updates it once. `state_dict`, however, lists it under both names, because the model that loads
# the dict may not share the layer.
#
# **Interview · How do you make two layers share weights?**
#
# - *Thirty seconds:* I assign the same parameter to both, as in `decoder.weight = encoder.weight`, or I use the same module twice. The
#   gradient is then the sum over both uses, and `parameters()` yields the parameter once.
# - *They ask next:* What can break the tie? Both `to("meta")` and `load_state_dict(assign=True)` create separate parameters, so tie
#   the weights again afterwards. `deepcopy` and `to` to a real device keep the tie.
# - *The trap:* `[nn.Linear(4, 4)] * 3` looks like three layers, but it is one layer three times.
# - *Proof:* `proof-names`, `proof-GPT-keys`, `proof-meta-device`.
#
# **Interview · How do you count a model's parameters, and what makes the count wrong?**
#
# - *Thirty seconds:* I sum `p.numel()` over `model.parameters()`, with a condition on `p.requires_grad` if only the trainable ones count.
#   The state dict is the wrong source, because it lists shared parameters twice and contains buffers.
# - *They ask next:* When does the count raise an error? A lazy layer before its first call has parameters without a shape, for which
#   `numel()` raises a ValueError.
# - *The trap:* Layers in a plain list are missing from the sum, as they are from the optimizer.
# - *Proof:* `proof-names`, `proof-buffers`, `proof-lazy`, `proof-lost-list`.
#
# ### Parameter groups
# `named_parameters` is also the way to give parameters different settings. Weight decay is usually applied to matrices only, so biases
# and the parameters of norm layers, which have one dimension, get none:

# %% tags=["proof-groups"]
block = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
decayed, others = {}, {}
for name, parameter in block.named_parameters():
    (decayed if parameter.ndim >= 2 else others)[name] = parameter
groups = [{"params": decayed.values(), "weight_decay": 0.1}, {"params": others.values(), "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=1e-3)
for names, group in zip((decayed, others), optimizer.param_groups, strict=True):
    print("weight decay", group["weight_decay"], "for", *names)

# %% [markdown]
# **Interview · How do you exclude biases and norm layers from weight decay?**
#
# - *Thirty seconds:* I split `named_parameters()` into two groups: parameters with at least two dimensions get weight decay, the
#   others none. The optimizer takes a list of dicts, and each dict may override settings such as `weight_decay` or `lr`.
# - *Longer:* Decay keeps the weights of matrix multiplications small, whereas biases and norm scales are few, so pulling them towards 0
#   restricts the layer without regularizing much. Embeddings are matrices too, and for them conventions differ.
# - *They ask next:* How do you check the split? I compare the groups' total number of parameters with the model's. A shared parameter
#   must occur only once, since the optimizer refuses a parameter that is in two groups, and `named_parameters` ensures that.
# - *The trap:* Layers that are added later are easily forgotten: unless one group takes all remaining parameters, they are never trained.
# - *Proof:* `proof-groups`.
#
# ### Replacing layers: `set_submodule`
# Quantization and LoRA replace the linear layers of an existing model. The next cell replaces them by layers without a bias, and then
# counts how many of the model's parameters the optimizer holds.

# %% tags=["proof-replace"]
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 2), nn.ReLU()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for name, module in list(model.named_modules()):
    if isinstance(module, nn.Linear):
        model.set_submodule(name, nn.Linear(module.in_features, module.out_features, bias=False))
print(*model.state_dict())
held = {id(parameter) for parameter in optimizer.param_groups[0]["params"]}
print("held by the optimizer:", sum(id(parameter) in held for parameter in model.parameters()), "of 2")

# %% [markdown]
# The paths stay the same, but the parameters are new, so this optimizer would train layers that are no longer part of the model.
#
# **Interview · How do you replace every linear layer of a model, for example by a LoRA layer?**
#
# - *Thirty seconds:* I loop over a list of `named_modules()`, build the new layer from each `Linear`, and put it at the same path with
#   `set_submodule`, or with `setattr` on the parent module.
# - *They ask next:* What has to be done afterwards? I build the optimizer again, since the old one holds the old parameters, and I tie
#   shared weights again, because each new layer has its own.
# - *The trap:* `for layer in model.modules(): layer = New(layer)` only assigns to a local variable.
# - *Proof:* `proof-replace`; LoRA: [chapter 21](21_features_and_visualization.ipynb).
#
# ### Buffers: tensors that are saved but not trained
# Some tensors belong to the model without being trained, such as running averages, masks and tables. They are registered as
# **buffers**, either with `register_buffer` or by assigning an `nn.Buffer`.


# %% tags=["proof-buffers"]
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.learned = nn.Parameter(torch.zeros(1))
        self.register_buffer("mean", torch.zeros(1))
        self.mask = nn.Buffer(torch.ones(1), persistent=False)
        self.plain = torch.zeros(1)


shift = Shift().double()
print("to train:", [name for name, _ in shift.named_parameters()], "  to save:", list(shift.state_dict()))
print({name: getattr(shift, name).dtype for name in ("learned", "mean", "mask", "plain")})

# %% [markdown]
# The buffer `mask` was converted but isn't saved, and the plain tensor was left behind in float32.
#
# **Interview · Parameter, buffer or plain attribute?**
#
# - *Thirty seconds:* A parameter is trained, saved and moved with the model. A buffer is moved and, if it is persistent, saved, but
#   the optimizer doesn't see it. A plain tensor is only an attribute, so it stays on the CPU when the model goes to the GPU.
# - *They ask next:* When is `persistent=False` right? For tensors that the constructor can compute again, such as a causal mask.
# - *The trap:* `self.mean = torch.zeros(3)` works until the model is moved or loaded. That is the bug in exercise 6.
# - *Proof:* `proof-buffers`.

# %% [markdown] given="mytorch.nn.module:Module._apply"
# ## Moving a model with `to`
# The methods `to`, `double` and `cuda` all end in `_apply`:

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
# `to` changes a module in place, whereas a tensor's `to` returns another tensor unless nothing has to change. The parameters remain the
# same *objects* with new memory, so an optimizer that was built earlier still holds them (a move to the meta device is the exception).
# Buffers, in contrast, are replaced by new tensors, and a state dict from before the move keeps the old memory. The optimizer's momentum
# stayed in float32 as well, which is why you build the optimizer after the move.
#
# **Interview · `model.to(device)` without assigning the result: does it work?**
#
# - *Thirty seconds:* For a module, yes: `to` changes it in place and returns it. For a tensor, no: the result is a new tensor, which
#   is lost.
# - *They ask next:* Should the optimizer be built before or after `to`? After it, because existing state such as momentum isn't moved
#   with the model, although the parameters keep their identity.
# - *The trap:* A buffer or an earlier state dict that you hold across the move still refers to the old memory.
# - *Proof:* `proof-to-keeps-objects`; exercise 7 measures what else survives.
#
# ## State dicts
# A state dict is a flat dict from paths to tensors, and people often use it to keep the best weights during training:

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
# `best` isn't a snapshot. Its tensors are detached from the graph, but they *share memory* with the model until a move gives the
# model new memory, so the best epoch silently turns into the last one. A failed load isn't undone either: every entry that fits
# has been loaded before the error is raised.
#
# **Interview · What is in a state dict, and what isn't?**
#
# - *Thirty seconds:* The parameters and persistent buffers by their paths, and the extra state of modules that define one. It doesn't
#   contain the code, the `training` flag, the optimizer's state, or which parameters are frozen.
# - *Longer:* Loading copies values into the existing parameters. Besides the tensors, the dict has an attribute `_metadata` with a
#   version for each module, so that a newer class can recognize and convert what an older one saved.
# - *They ask next:* How do you keep the best epoch? I deep-copy the state dict or save it to a file.
# - *The trap:* `best = model.state_dict()` isn't a copy and follows the model through all later steps.
# - *Proof:* `proof-state-dict-shares`, [buffers](proof-buffers), [extra state](proof-extra-state).
#
# **Interview · A checkpoint doesn't load because its keys don't match. What do you do?**
#
# - *Thirty seconds:* I compare the two sets of keys. The usual cause is a common prefix: `module.` comes from
#   `DistributedDataParallel`, and `_orig_mod.` from `torch.compile(model)`. I strip it from the keys, or better, save the inner model
#   in the first place.
# - *Longer:* `model.compile()` compiles in place and leaves the names as they are. Keys such as `parametrizations.weight.original0` come
#   from `nn.utils.parametrize`, which computes a weight from other parameters, as weight norm does.
# - *They ask next:* What if a new version of the class has renamed a parameter? I register a hook with
#   `register_load_state_dict_pre_hook`, which receives the dict before the module's own entries are read. The hook renames the old
#   keys, so that old checkpoints still load.
# - *They ask next:* Does `strict=False` help? It ignores missing and unexpected keys, but a different shape still raises an error.
# - *The trap:* With `strict=False` you have to read the result: with a prefix on all keys nothing is loaded, and only the list of missing
#   keys says so.
# - *Proof:* `proof-state-dict-shares`.
#
# ### Loading without allocating twice: the meta device
# The constructor fills every weight, only to have the checkpoint overwrite it. On the **meta device** tensors have no memory, and with
# `assign=True` the checkpoint's tensors become the parameters ([chapter 20](20_saving_and_loading.ipynb) has the details). What does a
# module lose on the way?

# %% tags=["proof-meta-device"]
with torch.device("meta"):
    large = nn.ModuleDict({"embed": nn.Linear(4, 4), "head": nn.Linear(4, 4)})
large["head"].weight = large["embed"].weight
saved = {name: torch.ones(tensor.shape) for name, tensor in large.state_dict().items()}
before = large["embed"].weight
large.load_state_dict(saved, assign=True)
after = large["embed"].weight
print(
    before.device, "->", after.device, "  same object:", after is before, "  still tied:", large["head"].weight is after
)
print("memory of the checkpoint:", after.data_ptr() == saved["embed.weight"].data_ptr())

# %% [markdown]
# The parameters are new objects, so the optimizer has to be built afterwards, and the tie between the two weights has to be restored.
#
# **Interview · How do you load a model that is too large to allocate twice?**
#
# - *Thirty seconds:* I build it on the meta device, where nothing is allocated, and load the checkpoint with `mmap=True` and
#   `assign=True`, so that its tensors become the parameters. Then I tie shared weights again and build the optimizer.
# - *They ask next:* What isn't in the checkpoint? Non-persistent buffers, which are still on the meta device and have to be computed
#   again.
# - *The trap:* Without `assign=True` the values are copied into a meta tensor, which does nothing: PyTorch only warns, and reports that all
#   keys matched.
# - *Proof:* `proof-meta-device`.
#
# ## A linear layer
# `Linear(in, out)` computes $y = x W^\top + b$ along the last dimension. The weight has the shape (out, in), with one row for each
# output. It is initialized uniformly in $\pm 1/\sqrt{in}$, as is the bias.

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
# With the same seed, your library draws the same values as minitorch, digit for digit. A sum of $n$ terms with weights of variance
# $1/(3n)$ keeps a third of the input's mean square, and [chapter 10](10_activations_and_initialization.ipynb) shows what that does to
# a deep network.
#
# **Interview · What are the parameters of `nn.Linear(128, 10)`, and how do they start?**
#
# - *Thirty seconds:* The weight has the shape (10, 128) and the bias has 10 elements, so there are 1,290 parameters. All of them are
#   initialized uniformly between plus and minus one over the square root of 128.
# - *Longer:* The source calls `kaiming_uniform_(a=sqrt(5))`, and Kaiming's formula turns that into exactly $1/\sqrt{in}$.
# - *They ask next:* Which inputs does it accept? Any tensor with at least one dimension, as long as the last one has
#   length 128.
# - *The trap:* The weight isn't (in, out), which is how TensorFlow's `Dense` stores it, and GPT-2's original code as well.
# - *Proof:* `proof-linear`.

# %% [markdown]
# ## Calling a module: hooks
# You call `model(x)` rather than `model.forward(x)`, and the difference is the *hooks*, which are functions attached to a module. Here
# a hook on each layer prints the shape of its result, and another prints the shape of the gradient at the first layer's output.

# %% tags=["proof-call"]
model = mytorch.nn.Sequential(mytorch.nn.Linear(2, 3), mytorch.nn.Identity(), mytorch.nn.Linear(3, 1))
for layer in model:
    layer.register_forward_hook(lambda module, args, result: print("  ", module, tuple(result.shape)))
model[0].register_full_backward_hook(lambda module, grad_in, grad_out: print("   grad", grad_out[0].shape))
model(mytorch.ones(1, 2)).sum().backward()
print("forward of the first layer:", tuple(model[0].forward(mytorch.ones(1, 2)).shape))

# %% [markdown]
# The last line called `forward`, so no hook ran. Calling the module instead runs the pre-hooks, then `forward`, then the forward
# hooks. A pre-hook may return new arguments and a forward hook a new result; None leaves things as they are. Hooks receive
# positional arguments only, unless they are registered with `with_kwargs=True`, which PyTorch and minitorch have. [Chapter
# 21](21_features_and_visualization.ipynb) uses hooks to look into networks.
#
# **Interview · Why `model(x)` and not `model.forward(x)`?**
#
# - *Thirty seconds:* Calling the module runs the hooks around `forward`, and calling `forward` directly skips them. Feature extraction,
#   FSDP and lazy layers depend on those hooks.
# - *Longer:* FSDP2's `fully_shard` registers a pre-hook that gathers the module's full parameters, and a forward hook that frees them again.
#   To call a module with *other* parameters, use `torch.func.functional_call(model, parameters, args)`, which runs the hooks as well.
# - *They ask next:* When does `forward` give a different result? When a hook replaces the arguments or the result. A lazy layer that was
#   never called raises an error.
# - *The trap:* A test without hooks finds no difference: the bug appears only when somebody registers one.
# - *Proof:* `proof-call`, `proof-lazy`.
#
# ## Milestone: GPT's keys
# Tables, state dicts and a linear layer are enough for the module tree of `minitorch/models/gpt.py`, with the names that nanoGPT uses.
# LayerNorm and Embedding get their `forward` in chapters 12 and 13, so here they only hold parameters of the right shapes.

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
    return {name: library.from_numpy(tensor.numpy()) for name, tensor in state.items()}


gpt, mine = GPT(GPTConfig(block_size=8, vocab_size=16, n_layer=2, n_head=2, n_embd=8)), tree(16, 8, 8, 2)
print(mine.load_state_dict(carried(gpt.state_dict(), mytorch)))
names, parameters = list(mine.state_dict()), list(mine.parameters())
print(len(names), "names,", len(parameters), "parameters,", gpt.get_num_params(False), "elements")
print("back:", gpt.load_state_dict(carried(mine.state_dict(), torch)))

# %% [markdown]
# There is one more name than there are parameters: `lm_head.weight` *is* `transformer.wte.weight`. You will run this
# model in chapter 14, when your library has all of its layers.
#
# ## Common myths
# Three common claims about modules are wrong, and each links to the cell that refutes it:
# - "`state_dict()` returns a copy." Its tensors [share the model's memory](proof-state-dict-shares).
# - "`model.to(device)` returns a moved copy." It [moves the model itself](proof-to-keeps-objects).
# - "A tensor that requires a gradient is a parameter." It gets a gradient, but only a `Parameter` is in
#   [`parameters()`](proof-registration).

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *Does `load_state_dict` replace the parameters?* No, it copies into them (unless `assign=True`), so the optimizer still
#   updates them.
# - *Does `model.eval()` freeze the parameters?* No, it sets a flag that some layers read ([chapter
#   12](12_norm_dropout_and_modes.ipynb)).
# - *What does `nn.Sequential` have that `nn.ModuleList` lacks?* A `forward`, which with a `ModuleList` you write yourself.
# - *Does `optimizer.zero_grad()` write zeros?* By default it sets `.grad` to `None` ([chapter
#   16](16_losses_and_optimizers.ipynb)).
# - *What does `nn.Linear(2, 3, bias=False)` register instead of the bias?* The name `bias` with the value `None`, which isn't
#   in the state dict.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Assignment registers parameters, modules and buffers, each in a table of its own.
# 2. Plain lists and dicts hide layers, so use `ModuleList` and `ModuleDict`.
# 3. A name is the path of attributes from the outermost module down.
# 4. A shared parameter is in `parameters()` once, and in the state dict under each of its names.
# 5. A parameter is trained, saved and moved; a buffer is moved and, if persistent, saved.
# 6. `module.to` changes the module in place; `tensor.to` returns a tensor.
# 7. `state_dict()` shares the model's memory, so deep-copy what you want to keep.
# 8. A large model is built on the meta device and loaded with `assign=True`.
# 9. `Linear` has a weight of shape (out, in), which starts uniformly in $\pm 1/\sqrt{in}$.
# 10. Call the module and not its `forward`, so that the hooks run.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/09_modules_and_parameters.ipynb) you predict what is registered and write `__setattr__`, the names,
# the state dict in both directions, linear layers and calls. You also repair a layer that forgets its state, and measure what survives a
# change. [Chapter 10](10_activations_and_initialization.ipynb) asks how the initial weights should be drawn.

# %% [markdown]
# ## If you have time
# ### A function for every module: `apply`
# `apply` calls a function on each module, children first, which is how a model gets other initial weights.


# %% tags=["proof-apply"]
@torch.no_grad()
def start(module):
    print(type(module).__name__, end=" ")
    if isinstance(module, nn.Linear):
        module.weight.fill_(0.5)


net = Net(nn.ModuleList).apply(start)
print("\n", {name: parameter.unique().numel() for name, parameter in net.hidden.named_parameters()}, sep="")

# %% [markdown]
# `isinstance` picks the layers, and `no_grad` is needed because an in-place write to a leaf that requires a gradient would raise an
# error. The last line counts the distinct values in each tensor, so it shows that each weight matrix now contains a single value.
# Unlike `named_modules`, `apply` doesn't skip what it has visited, so a layer that two parents share is initialized twice.
#
# ### Lazy layers
# How many inputs does a linear layer need after a few convolutions? A lazy layer waits for the first batch and takes the number
# from its shape.

# %% tags=["proof-lazy"]
head = nn.Sequential(nn.Flatten(), nn.LazyLinear(2))
held = head[1].weight
print(head[1], held)
print("numel:", str(check.error(held.numel)).split(" in ")[0])
head(torch.ones(5, 3, 4))
print(head[1], "the same parameter:", head[1].weight is held, tuple(held.shape))

# %% [markdown]
# A *pre-hook*, which runs before `forward`, allocates the parameters, removes itself, and turns the object into a `Linear` by
# assigning to `__class__`. The parameter remains the same object, so SGD and Adam may hold it before it has a shape. PyTorch's
# Adagrad can't (minitorch's can), because it allocates its state at once, and `numel()` needs the shape as well. It is therefore
# safer to run one batch before you build the optimizer.
#
# ### Bilinear layers
# A bilinear layer computes $y_k = x_1^\top W_k\, x_2 + b_k$, so it has *two* inputs and a matrix for each output. Without the bias it
# is linear in each input, but not in both at once, which you see when the cell doubles the first input, then the second, then both:

# %% tags=["proof-bilinear"]
pair = nn.Bilinear(3, 4, 2, bias=False)
u, v = torch.randn(5, 3), torch.randn(5, 4)
print("grows by:", *((pair(*scaled) / pair(u, v)).mean().item() for scaled in ((2 * u, v), (u, 2 * v), (2 * u, 2 * v))))

# %% [markdown]
# ### All parameters as one vector

# %% tags=["proof-vector"]
layer, vector = nn.Linear(2, 2), torch.arange(6.0)
nn.utils.vector_to_parameters(vector, layer.parameters())
vector[0] = 100.0
joined = nn.utils.parameters_to_vector(layer.parameters()).neg_()
print("model:", layer.weight.tolist(), layer.bias.tolist(), "  joined:", joined.tolist(), joined.grad_fn.name())
pictures.storage(vector, {"weight": layer.weight.detach(), "bias": layer.bias.detach()})

# %% [markdown]
# After `vector_to_parameters`, each parameter is a view of the vector, so a write to the vector changes the model. In contrast,
# `parameters_to_vector` concatenates, so its result has new memory and a history, and the `neg_` in the cell didn't reach the
# model. Methods that treat all weights as one vector include L-BFGS, evolution strategies and interpolation between two trained
# models.
#
# ### A property that hides its error
# `__getattr__` is called last, which has a surprising consequence. If a *property* raises an AttributeError, Python falls back to
# `__getattr__`, and the message then blames the property instead of the misspelled name inside it:


# %% tags=["proof-property-error"]
class Misspelled(nn.Module):
    @property
    def width(self):
        return self.wieght.shape[1]


print(check.error(lambda: Misspelled().width))

# %% [markdown]
# ### Extra state
# A module can also save something other than a tensor. The object that its `get_extra_state` returns becomes the entry `_extra_state` of
# the state dict and is passed to `set_extra_state` when the dict is loaded. `Counting` lacks the second method, and therefore refuses its
# own state dict:


# %% tags=["proof-extra-state"]
class Counting(Shift):
    def get_extra_state(self):
        return {"batches": 3}


print(list(Counting().state_dict()))
print(check.error(Counting().load_state_dict, Counting().state_dict()))

# %% [markdown]
# ### The real one
# This is minitorch's `register_parameter`, with PyTorch's checks:

# %%
import inspect

print(inspect.getsource(nn.Module.register_parameter))

# %% [markdown]
# mytorch has the same table and the same type check. `_check_name` refuses names that are in use, and names with dots, which would make
# paths ambiguous. Like PyTorch, minitorch does two more things. It refuses a tensor with a `grad_fn`, which is the result of an operation
# rather than a leaf, and `registered(...)` runs global hooks, with which a tool can observe the parameters of all models.
