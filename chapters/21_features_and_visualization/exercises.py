# %% [markdown]
# # Exercises · Features, transfer and pictures
# Five of the exercises add to your library, and once you have solved them, it keeps features, computes
# attributions, finds principal components, trains adapters and writes for TensorBoard. These five run inside files
# of `mytorch`, where all names that a task or a docstring mentions are defined; import anything else in the cell
# itself.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn

# %% [markdown] exercise="features_predict_hook" kind="predict" points=1
# ### Exercise 1 · What did the hook keep?
# The program has a network in training mode, a hook on its batch norm, and one backward pass:
#
# ```python
# model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(64, 2))
# kept = {}
# model[1].register_forward_hook(lambda module, args, result: kept.update(bn=result.detach()))
# prediction = model(torch.randn(8, 1, 6, 6))
# (prediction * labels).sum().backward()
# ```
#
# There is no optimizer in this program. Set `prediction` to a list of three values: the smallest element of
# `kept["bn"]`, rounded to one decimal; how many of the nine entries of `model.state_dict()` have changed; and whether
# the gradient of the last layer's bias depends on the `labels`.

# %% solution="features_predict_hook"
### BEGIN SOLUTION
prediction = [0.0, 3, True]
### END SOLUTION

# %% check="features_predict_hook"
smallest, changed, depends = prediction
shown = {
    "smallest, in tenths": round(10 * smallest),
    "entries that changed": int(changed),
    "depends on the labels": bool(depends),
}
check.show(shown, secret=True)

# %% [markdown] hint="features_predict_hook"
# Into which tensor does `inplace=True` write? And what did the hook keep: the values, or a tensor that shares memory?

# %% [markdown] hint="features_predict_hook"
# `detach()` shares memory, and a batch norm in training mode updates its buffers.

# %% [markdown] hint="features_predict_hook"
# ReLU leaves no value below 0. `running_mean`, `running_var` and `num_batches_tracked` are entries as well. In this
# program the labels are multiplied, not subtracted.

# %% mutant="features_predict_hook"
# The output of batch norm
# The output of batch norm had values near -2 when the hook was called. Then `ReLU(inplace=True)` overwrote them with
# its own output, in the memory that `detach` shares.
prediction = [-2.1, 3, True]

# %% mutant="features_predict_hook"
# Backward updates parameters
# `backward` fills `.grad`, which isn't in the state dict, and only an optimizer changes parameters. The forward pass
# changed the three buffers of the batch norm.
prediction = [0.0, 9, True]

# %% mutant="features_predict_hook"
# Nothing changes without an optimizer
# That is true of the parameters. But in training mode, each forward pass of a batch norm counts a batch and updates
# two running statistics.
prediction = [0.0, 0, True]

# %% mutant="features_predict_hook"
# As for a difference
# The derivative of a difference is 1, whatever the labels are, but that of this product is the label itself.
prediction = [0.0, 3, False]


# %% [markdown] exercise="features_context" kind="core" points=4 part="mytorch.utils.inspection:features"
# ### Exercise 2 · Look inside
# `with features(model, ["layer2", "fc"]) as found:` gives a dict that each call of the model inside the block fills.
# The values in it must not change, whatever the network or the reader does next, and none of them may hold a graph.
# When the block ends, normally or by an exception, the model is as it was before.


# %% docstrings="features_context"
def features():
    """Copies of the outputs of the modules with these names, when the model is called in the block.

    The package keeps the decorator `@contextmanager`, so write a generator that yields the dict once.

    The dict is empty at first, and each call of the model stores the latest outputs by name, detached and cloned.
    `model.get_submodule(name)` finds a module, and `module.register_forward_hook(hook)` returns a handle with
    `remove()`. A hook is called as `hook(module, args, result)`; the model's own results must not change.

    Its hooks, and no others, are removed at the end, even if the block raises. If a name is invalid, `get_submodule`
    raises, and then no hook may be left on the other modules either.
    """


# %% check="features_context" raises="AttributeError RuntimeError ZeroDivisionError"
generator = check.rng()
layers, numbers = mytorch.nn, generator.normal(size=(5, 3)).round(3)
mytorch.manual_seed(check.seed())


class Rectify(layers.Module):
    """Writes into its input, as `ReLU(inplace=True)` does."""

    def forward(self, x):
        return x.mul_((x > 0).float())


model = layers.Sequential(layers.Linear(3, 4), Rectify(), layers.Sequential(layers.Linear(4, 2)))
x = mytorch.tensor(numbers.astype("float32"))
plain, first = model(x), model[0](x)
model[0].register_forward_hook(lambda module, args, result: None)  # a hook of the caller's own, which stays


def hooks():
    return sum(len(module._forward_hooks) for module in model.modules())


def with_hooks(names, x, fail=None):
    try:
        with mytorch.utils.features(model, names) as found:
            model(x)
            if fail:
                raise fail
    except (ZeroDivisionError, AttributeError, RuntimeError, KeyboardInterrupt) as error:
        return type(error).__name__
    return found


with mytorch.utils.features(model, ["0", "2.0"]) as found:
    empty = dict(found)
    result = model(x)
    once = dict(found.items())
    result.sum().backward()
    model(2 * x)
    latest = dict(found.items())
    inside = hooks()
model(3 * x)
afterwards = dict(found.items())
twice = layers.Linear(3, 3)
shared = layers.Sequential(twice, twice)
with mytorch.utils.features(shared, ["0", "1"]) as under_two_names:
    shared(x)
same = all((latest[name] == afterwards[name]).all().item() for name in latest)
values = {
    "before the first call": list(empty),
    "names": list(once),
    "the first layer": once["0"],
    "the inner layer": once["2.0"],
    "what the layer gives": first.detach(),
    "result of the model": result.detach() - plain.detach(),
    "with a graph": [value.requires_grad for value in once.values()],
    "the first layer has gradients": model[0].weight.grad is not None,
    "after a second call": latest["0"],
    "hooks in the block, and after it": [inside, hooks()],
    "filled after the block": not same,
    "the block fails": [
        with_hooks(["0", "2"], x, each) for each in (ZeroDivisionError, RuntimeError, KeyboardInterrupt)
    ],
    "hooks after that": hooks(),
    "a wrong name": with_hooks(["0", "9"], x),
    "hooks after a wrong name": hooks(),
    "one name": list(with_hooks(["2"], x)),
    "the name of the model itself": with_hooks([""], x),
    "a module with two names": under_two_names,
    "the model is still in training mode": model.training,
}
check.show(values, text="A model with three submodules, of which the second writes into the first one's output.")

# %% [markdown] hint="features_context"
# The hook for each name needs that name. Write a function that makes the hook, or pass the name as a default value.

# %% [markdown] hint="features_context"
# Use `result.detach().clone()`, because `detach` drops the graph but shares memory, while `clone` alone keeps the
# graph, and let the hook return nothing.

# %% [markdown] hint="features_context"
# First find all modules, then register the hooks, then `try: yield found`, and remove each handle in `finally`.


# %% mutant="features_context"
# Keeps the tensor itself
# The tensor that was kept shares its memory with the one that the next layer writes into. Clone it.
def features(model, names):
    modules, found = {name: model.get_submodule(name) for name in names}, {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.detach()

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


# %% mutant="features_context"
# Keeps the graph
# `clone` is recorded, so the copy holds the graph of the forward pass, and its memory. Detach it.
def features(model, names):
    modules, found = {name: model.get_submodule(name) for name in names}, {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.clone()

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


# %% mutant="features_context"
# Stores everything under the last name
# The closures share the loop's variable, which has the last name by the time they run.
def features(model, names):
    modules, found, handles = {name: model.get_submodule(name) for name in names}, {}, []
    for name, module in modules.items():

        def hook(module, args, result):
            found[name] = result.detach().clone()  # noqa: B023

        handles.append(module.register_forward_hook(hook))
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


# %% mutant="features_context"
# Leaves the hooks if the block raises
# Without `finally`, an exception in the block skips the lines that remove the hooks.
def features(model, names):
    modules, found = {name: model.get_submodule(name) for name in names}, {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.detach().clone()

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    yield found
    for handle in handles:
        handle.remove()


# %% mutant="features_context"
# Registers hooks while it finds modules
# If the second name is invalid, the first module already has its hook, and nothing holds a handle to remove it.
def features(model, names):
    found = {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.detach().clone()

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


# %% mutant="features_context"
# Clears the hooks of the modules
# Hooks that somebody else registered on these modules are gone as well. Remove your own by their handles.
def features(model, names):
    found = {}

    def keep(name):
        return lambda module, args, result: found.update({name: result.detach().clone()})

    modules = {name: model.get_submodule(name) for name in names}
    for name, module in modules.items():
        module.register_forward_hook(keep(name))
    try:
        yield found
    finally:
        for module in modules.values():
            module._forward_hooks.clear()


# %% mutant="features_context"
# Returns the copy
# The value that a hook returns replaces the module's output, here by a copy without history, so no gradient reaches
# the layers before it.
def features(model, names):
    modules, found = {name: model.get_submodule(name) for name in names}, {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.detach().clone()
            return found[name].clone()

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


# %% mutant="features_context"
# Keeps the first outputs
# Each call of the model stores the latest outputs, whereas here the first ones stay.
def features(model, names):
    modules, found = {name: model.get_submodule(name) for name in names}, {}

    def keep(name):
        def hook(module, args, result):
            found.setdefault(name, result.detach().clone())

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


# %% [markdown] exercise="features_lora" kind="core" points="1 1 1" part="mytorch.nn.lora:LoRALinear.__init__ mytorch.nn.lora:LoRALinear.forward mytorch.nn.lora:LoRALinear.merge"
# ### Exercise 3 · LoRA
# A trained layer, $W x + b$, gets a trainable term: $W x + b + \frac{\alpha}{r} B A x$, where $A$ has shape (r, in)
# and $B$ has shape (out, r). The adapted layer must start as the layer that it adapts, and in the end the two must
# merge into a single layer again.


# %% docstrings="features_lora"
def __init__():
    """Takes over a layer, freezes it, and creates the two low-rank matrices.

    Call `super().__init__()` first. `base` becomes an attribute, and its parameters no longer require gradients.
    `scaling` is alpha / r. `lora_A` is a parameter (r, in_features), made with `empty` and initialized by
    `draw([self.lora_A], in_features)`, like a linear layer's weight. `lora_B` is a parameter (out_features, r) of
    zeros. Both have the dtype and device of `base.weight`.
    """


def forward():
    """The frozen layer's output plus scaling · B A x, for x (..., in), without computing the product B A.

    `linear(x, weight)` is x weightᵀ, on the last dimension.
    """


def merge():
    """An ordinary `Linear` that computes the same function: its weight is W + scaling · B A.

    Its parameters require gradients. This layer and its base stay unchanged, and frozen. Autograd records nothing.
    """


# %% check="features_lora"
generator = check.rng()
inputs, outputs, r = (int(each) for each in generator.permutation([7, 5, 3]))
alpha = float(r + generator.integers(1, 3))
mytorch.manual_seed(check.seed())
x = mytorch.tensor(generator.normal(size=(2, 4, inputs)), dtype=mytorch.float64)


def adapted(bias=True, dtype=None):
    base = mytorch.nn.Linear(inputs, outputs, bias=bias, dtype=dtype)
    return base, mytorch.nn.LoRALinear(base, r, alpha)


def products(layer):
    """The shapes of all intermediate results."""
    shapes = []

    def watch(op, args, below):
        result = below(op, args)
        shapes.append(tuple(result.shape))
        return result

    mytorch.dispatch.fill("autocast", watch)
    layer(x)
    mytorch.dispatch.fill("autocast", None)
    return shapes


base, layer = adapted(dtype=mytorch.float64)
trained = {name: list(each.shape) for name, each in layer.named_parameters() if each.requires_grad}
start = layer(x)
start.square().sum().backward()
slopes = [parameter.grad for parameter in (layer.lora_A, layer.lora_B)]
drawn = mytorch.nn.LoRALinear(mytorch.nn.Linear(100, 2), 50, 1.0).lora_A
with mytorch.no_grad():
    layer.lora_B.copy_(mytorch.tensor(generator.normal(size=(outputs, r))))
before = [each.clone() for each in base.parameters()]
merged = layer.merge()
without_bias = adapted(bias=False)[1].merge()
rank_1 = mytorch.nn.LoRALinear(mytorch.nn.Linear(inputs, outputs), 1, alpha)
given = x.clone().requires_grad_()
layer(given).square().sum().backward()


def on_a_gpu():
    """The devices of an adapter's matrices and of its merged layer, or the error."""
    mytorch.cuda.simulate(1)
    try:
        moved = mytorch.nn.LoRALinear(mytorch.nn.Linear(inputs, outputs).to("cuda"), r, alpha)
        found = [each.device for each in (moved.lora_A, moved.lora_B, *moved.merge().parameters())]
    except RuntimeError as error:
        found = str(error)
    mytorch.cuda.State.gpus = None
    return found


def changes():
    return [(now - then).abs().max().item() for now, then in zip(base.parameters(), before, strict=True)]


def after_a_step():
    """The base's changes once the merged layer's parameters have moved."""
    with mytorch.no_grad():
        for each in merged.parameters():
            each += 1.0
    return changes()


check.show(
    {
        "in, out, r, alpha": [inputs, outputs, r, alpha],
        "trained": trained,
        "types": [layer.lora_A.dtype, layer.lora_B.dtype],
        "scaling": layer.scaling,
        "differs from the base at the start": (start - base(x)).abs().max().item(),
        "gradient of A at the start": slopes[0],
        "gradient of B at the start": slopes[1],
        "the base has gradients": base.weight.grad is not None,
        "A is drawn within ±0.1 for 100 inputs": [drawn.abs().max().item() <= 0.1, drawn.abs().max().item() > 0.09],
        "A": layer.lora_A.detach(),
        "B": layer.lora_B.detach(),
        "with B filled": layer(x).detach(),
        "of one row, and of one vector": [layer(x[:1, 0]).detach(), layer(x[0, 0]).detach()],
        "with r = 1": [rank_1.scaling, tuple(rank_1.lora_A.shape), tuple(rank_1.lora_B.shape)],
        "gradient of the input": given.grad,
        "of a layer on a GPU: devices of A, B, and the merged weight and bias": on_a_gpu(),
        "intermediate results of shape (out, in)": products(layer).count((outputs, inputs)),
        "merged": merged(x).detach(),
        "merged weight": merged.weight.detach().clone(),
        "merged is a": type(merged).__name__,
        "merged can be trained": [each.requires_grad for each in merged.parameters()],
        "merged is recorded": merged.weight.grad_fn is not None,
        "the base's weight and bias changed by": changes(),
        "the base's parameters require gradients": [each.requires_grad for each in base.parameters()],
        "merged without a bias": without_bias.bias is None,
        "and after a step of the merged layer by": after_a_step(),
    },
    text="A layer and its adapter, before and after the adapter was trained.",
)

# %% [markdown] hint="features_lora"
# `base.requires_grad_(False)` freezes the layer and returns it. A `Parameter` that is assigned to an attribute is
# registered automatically.

# %% [markdown] hint="features_lora"
# Call `linear` twice: the call with `lora_A` gives (..., r), and the call with `lora_B` then gives (..., out).

# %% [markdown] hint="features_lora"
# `copy.deepcopy(self.base)` is a separate layer, which is still frozen. Under `no_grad`, add `self.lora_B @
# self.lora_A * self.scaling` to its weight, and then call `requires_grad_()`.


# %% mutant="features_lora"
# Trains everything
# The trained layer has to stay as it is. Freeze it, since otherwise the adapter saves nothing.
def __init__(self, base, r, alpha):
    super(LoRALinear, self).__init__()
    self.base, self.scaling = base, alpha / r
    where = {"dtype": base.weight.dtype, "device": base.weight.device}
    self.lora_A = Parameter(empty(r, base.in_features, **where))
    self.lora_B = Parameter(zeros(base.out_features, r, **where))
    draw([self.lora_A], base.in_features)


# %% mutant="features_lora"
# Initializes both with zeros
# The gradient of A has B as a factor, and that of B has A. If both are 0, neither ever changes.
def __init__(self, base, r, alpha):
    super(LoRALinear, self).__init__()
    self.base, self.scaling = base.requires_grad_(False), alpha / r
    where = {"dtype": base.weight.dtype, "device": base.weight.device}
    self.lora_A = Parameter(zeros(r, base.in_features, **where))
    self.lora_B = Parameter(zeros(base.out_features, r, **where))


# %% mutant="features_lora"
# Initializes both at random
# The network would no longer start as the one that was trained. With B at 0 it starts as exactly that network.
def __init__(self, base, r, alpha):
    super(LoRALinear, self).__init__()
    self.base, self.scaling = base.requires_grad_(False), alpha / r
    where = {"dtype": base.weight.dtype, "device": base.weight.device}
    self.lora_A = Parameter(empty(r, base.in_features, **where))
    self.lora_B = Parameter(empty(base.out_features, r, **where))
    draw([self.lora_A], base.in_features)
    draw([self.lora_B], r)


# %% mutant="features_lora"
# Scales by alpha
# The scaling is alpha / r, because the product is a sum over r terms, which would grow with r.
def __init__(self, base, r, alpha):
    super(LoRALinear, self).__init__()
    self.base, self.scaling = base.requires_grad_(False), alpha
    where = {"dtype": base.weight.dtype, "device": base.weight.device}
    self.lora_A = Parameter(empty(r, base.in_features, **where))
    self.lora_B = Parameter(zeros(base.out_features, r, **where))
    draw([self.lora_A], base.in_features)


# %% mutant="features_lora"
# Always float32
# An adapter of a float64 layer has to be float64 as well, or the multiplication raises an error.
def __init__(self, base, r, alpha):
    super(LoRALinear, self).__init__()
    self.base, self.scaling = base.requires_grad_(False), alpha / r
    self.lora_A = Parameter(empty(r, base.in_features))
    self.lora_B = Parameter(zeros(base.out_features, r))
    draw([self.lora_A], base.in_features)


# %% mutant="features_lora"
# Forgets the scaling
# B A x has to be multiplied by alpha / r before it is added.
def forward(self, input):
    return self.base(input) + linear(linear(input, self.lora_A), self.lora_B)


# %% mutant="features_lora"
# Scales the frozen layer as well
# Only the added term is scaled, while the trained layer keeps its weight.
def forward(self, input):
    return (self.base(input) + linear(linear(input, self.lora_A), self.lora_B)) * self.scaling


# %% mutant="features_lora"
# Computes the product B A
# B A is as large as the frozen weight, and it is recomputed in each pass. Two low-rank multiplications, first by A
# and then by B, cost far less.
def forward(self, input):
    return self.base(input) + linear(input, self.lora_B @ self.lora_A) * self.scaling


# %% mutant="features_lora"
# Merges into the base
# The frozen layer has changed. If you merge twice, or continue training, the update is counted twice.
def merge(self):
    with no_grad():
        self.base.weight += self.lora_B @ self.lora_A * self.scaling
    return self.base


# %% mutant="features_lora"
# Merges without the scaling
# The update that `forward` adds is scaling · B A, so the merged weight needs the scaling as well.
@no_grad()
def merge(self):
    merged = copy.deepcopy(self.base).requires_grad_()
    merged.weight += self.lora_B @ self.lora_A
    return merged


# %% mutant="features_lora"
# Shares the bias with the base
# A parameter that is made of the base's bias has the base's memory, so training the merged layer changes the frozen
# one. Copy the bias.
@no_grad()
def merge(self):
    merged = Linear(self.base.in_features, self.base.out_features, bias=self.base.bias is not None)
    merged.weight = Parameter(self.base.weight + self.scaling * (self.lora_B @ self.lora_A))
    if self.base.bias is not None:
        merged.bias = Parameter(self.base.bias.detach())
    return merged


# %% mutant="features_lora"
# Unfreezes the base
# The merged layer can be trained, but now so can the base. Call `requires_grad_` on the copy only.
def merge(self):
    merged = copy.deepcopy(self.base)
    with no_grad():
        merged.weight += self.scaling * self.lora_B @ self.lora_A
    self.base.requires_grad_(True)
    return merged.requires_grad_(True)


# %% mutant="features_lora"
# Returns a frozen layer
# A copy of a frozen layer is frozen, but merging should return an ordinary layer, which can be trained.
@no_grad()
def merge(self):
    merged = copy.deepcopy(self.base)
    merged.weight += self.lora_B @ self.lora_A * self.scaling
    return merged


# %% [markdown] exercise="features_grad_cam" kind="core" points="1 2" part="mytorch.utils.attribution:saliency mytorch.utils.attribution:grad_cam"
# ### Exercise 4 · Saliency and Grad-CAM
# Write two attribution methods. A saliency map has a value for each pixel, while Grad-CAM has one for each position
# of a layer's feature maps and keeps only what counts as evidence *for* the class. Neither may have side effects,
# such as a `.grad` or a hook that remains.


# %% docstrings="features_grad_cam"
def saliency():
    """The gradient of each image's logit for its class, at each pixel: its absolute value, the largest of the channels.

    Images (N, C, H, W) and classes (N,) give (N, H, W). `model(images)` returns logits (N, classes). The given images
    aren't changed, and neither is whether they require gradients. No parameter's `.grad` is changed: `grad(result,
    tensor)` returns a tuple of gradients and writes nothing.
    """


def grad_cam():
    """A layer's feature maps, weighted by their mean gradients and added up; negative sums become 0.

    Images (N, C, H, W) give (N, h, w), where the layer with this name gives feature maps (N, channels, h, w). The
    weight of an image's map is the mean over (h, w) of the gradient of its logit. The result has no history.

    It has to work if all parameters are frozen, and if the next layer writes into its input, so let a hook start a new
    graph at the layer. The hook is removed even if the model raises. No `.grad` is changed.
    """


# %% check="features_grad_cam" raises="RuntimeError"
generator = check.rng()
layers = mytorch.nn
mytorch.manual_seed(check.seed())


class Rectify(layers.Module):
    """Writes into its input, as `ReLU(inplace=True)` does."""

    def forward(self, x):
        return x.mul_((x > 0).float())


body = layers.Sequential(layers.Conv2d(2, 5, 3, padding=1), Rectify(), layers.Conv2d(5, 4, 3, stride=2))
model = layers.Sequential(body, layers.Flatten(), layers.Linear(4 * 3 * 2, 3))
images = mytorch.tensor(generator.normal(size=(3, 2, 7, 6)).astype("float32"))
classes = mytorch.tensor(generator.permutation(3))


earlier = mytorch.ones(3)
model[2].bias.grad = earlier.clone()  # for instance from a training step
body[2].register_forward_hook(lambda module, args, result: None)  # a hook of the caller's own, which stays


def traces():
    hooks = sum(len(module._forward_hooks) for module in model.modules())
    kept = model[2].bias.grad is not None and bool((model[2].bias.grad == earlier).all())
    frozen = sum(not each.requires_grad for each in model.parameters())
    gradients = sum(each.grad is not None for each in model.parameters())
    return [gradients, kept, hooks, images.requires_grad, frozen, model.training]


found = {
    "classes": classes,
    "saliency": mytorch.utils.saliency(model, images, classes),
    "saliency of one image": mytorch.utils.saliency(model, images[:1], classes[:1]),
    "side effects of saliency: gradients, the earlier one is kept, hooks, images, frozen, training": traces(),
}
for place in ("0.0", "0.2"):
    heat = mytorch.utils.grad_cam(model, place, images, classes)
    found[f"Grad-CAM of {place}"] = heat.detach()
    found[f"Grad-CAM of {place}, with a history"] = heat.requires_grad
found["side effects of Grad-CAM"] = traces()
found["Grad-CAM of the images themselves"] = mytorch.utils.grad_cam(
    layers.Sequential(layers.Identity(), model), "0", images, classes
).detach()
found["side effects of Grad-CAM of the images themselves"] = traces()
images.requires_grad_(False)
found["Grad-CAM of one image"] = mytorch.utils.grad_cam(model, "0.2", images[:1], classes[:1]).detach()
watched = images.clone().requires_grad_()
found["saliency of images that require gradients"] = mytorch.utils.saliency(model, watched, classes)
found["Grad-CAM of images that require gradients"] = mytorch.utils.grad_cam(model, "0.2", watched, classes).detach()
found["these images still require gradients, and have none"] = [watched.requires_grad, watched.grad is None]
failed = check.error(mytorch.utils.grad_cam, model, "0.0", images[:, :, :5], classes)
found["the model fails"] = type(failed).__name__
found["side effects of that"] = traces()
model.requires_grad_(False)
found["Grad-CAM, all frozen"] = mytorch.utils.grad_cam(model, "0.2", images, classes).detach()
check.show(
    found,
    rtol=1e-4,
    atol=1e-5,
    text="The attributions of three images; the layer after 0.0 writes into that layer's output.",
)

# %% [markdown] hint="features_grad_cam"
# `model(x).gather(1, classes.unsqueeze(1)).sum()` is a scalar whose gradient is that of each image's own logit,
# provided that the images don't influence each other.

# %% [markdown] hint="features_grad_cam"
# `images.detach().requires_grad_()` is a leaf that shares memory with the images. In Grad-CAM, the hook makes such a
# leaf of the layer's output, keeps it, and returns a clone of it, with which the network continues.

# %% [markdown] hint="features_grad_cam"
# With `(slopes,) = grad(score, maps)`, the result is `relu((slopes.mean((2, 3), keepdim=True) *
# maps.detach()).sum(1))`. Remove the hook in `finally`, directly after the forward pass.


# %% mutant="features_grad_cam"
# Keeps the signs
# A pixel that lowers the logit matters as much as one that raises it, so take absolute values before the maximum.
def saliency(model, images, classes):
    pixels = images.detach().requires_grad_()
    (slopes,) = grad(model(pixels).gather(1, classes.unsqueeze(1)).sum(), pixels)
    return slopes.amax(1)


# %% mutant="features_grad_cam"
# All classes at once
# The gradient of the sum of all logits shows what raises any of them. Select each image's class first.
def saliency(model, images, classes):
    pixels = images.detach().requires_grad_()
    (slopes,) = grad(model(pixels).sum(), pixels)
    return slopes.abs().amax(1)


# %% mutant="features_grad_cam"
# Fills the parameters' gradients
# `backward` writes into every leaf, parameters included, and the next training step would use that. `grad` only
# returns the gradients.
def saliency(model, images, classes):
    pixels = images.detach().requires_grad_()
    model(pixels).gather(1, classes.unsqueeze(1)).sum().backward()
    return pixels.grad.abs().amax(1)


# %% mutant="features_grad_cam"
# Clears the parameters' gradients
# A gradient that was there before is lost, although somebody may be accumulating it. `grad` only returns the
# gradients, so nothing has to be cleared.
def saliency(model, images, classes):
    images = images.detach().requires_grad_()
    model(images).gather(1, classes.unsqueeze(1)).sum().backward()
    for each in model.parameters():
        each.grad = None
    return images.grad.abs().amax(1)


# %% mutant="features_grad_cam"
# Sums over the channels
# The largest value of the channels counts, because a sum would make a colour image brighter than a grey one.
def saliency(model, images, classes):
    pixels = images.detach().requires_grad_()
    (slopes,) = grad(model(pixels).gather(1, classes.unsqueeze(1)).sum(), pixels)
    return slopes.abs().sum(1)


# %% mutant="features_grad_cam"
# Keeps negative evidence
# Grad-CAM keeps only positive values, which are the positions that count as evidence for the class.
def grad_cam(model, layer, images, classes):
    seen = []

    def hook(module, args, result):
        seen.append(result.detach().requires_grad_())
        return seen[-1].clone()

    handle = model.get_submodule(layer).register_forward_hook(hook)
    try:
        score = model(images).gather(1, classes.unsqueeze(1)).sum()
    finally:
        handle.remove()
    (slopes,) = grad(score, seen[0])
    return (slopes.mean((2, 3), keepdim=True) * seen[0].detach()).sum(1)


# %% mutant="features_grad_cam"
# A weight for each position
# That is gradient times input. Grad-CAM has a single weight for each feature map, which is the mean of its gradient.
def grad_cam(model, layer, images, classes):
    seen = []

    def hook(module, args, result):
        seen.append(result.detach().requires_grad_())
        return seen[-1].clone()

    handle = model.get_submodule(layer).register_forward_hook(hook)
    try:
        score = model(images).gather(1, classes.unsqueeze(1)).sum()
    finally:
        handle.remove()
    (slopes,) = grad(score, seen[0])
    return relu((slopes * seen[0].detach()).sum(1))


# %% mutant="features_grad_cam"
# The same weights for all images
# Each image has its own gradient, so take the mean over its positions, not over the images as well.
def grad_cam(model, layer, images, classes):
    seen = []

    def hook(module, args, result):
        seen.append(result.detach().requires_grad_())
        return seen[-1].clone()

    handle = model.get_submodule(layer).register_forward_hook(hook)
    try:
        score = model(images).gather(1, classes.unsqueeze(1)).sum()
    finally:
        handle.remove()
    (slopes,) = grad(score, seen[0])
    return relu((slopes.mean((0, 2, 3), keepdim=True) * seen[0].detach()).sum(1))


# %% mutant="features_grad_cam"
# Leaves its hook
# If the model raises, the hook stays, and every later call of the layer is cut off from the layers before it.
def grad_cam(model, layer, images, classes):
    seen = []

    def hook(module, args, result):
        seen.append(result.detach().requires_grad_())
        return seen[-1].clone()

    handle = model.get_submodule(layer).register_forward_hook(hook)
    score = model(images).gather(1, classes.unsqueeze(1)).sum()
    handle.remove()
    (slopes,) = grad(score, seen[0])
    return relu((slopes.mean((2, 3), keepdim=True) * seen[0].detach()).sum(1))


# %% mutant="features_grad_cam"
# Reads the maps too late
# The next layer overwrote the feature maps that you kept. Keep the leaf, and let the network continue with a clone of
# it.
def grad_cam(model, layer, images, classes):
    seen = []

    def hook(module, args, result):
        leaf = result.detach().clone().requires_grad_()
        going_on = leaf.clone()
        seen.extend([leaf, going_on])
        return going_on

    handle = model.get_submodule(layer).register_forward_hook(hook)
    try:
        score = model(images).gather(1, classes.unsqueeze(1)).sum()
    finally:
        handle.remove()
    (slopes,) = grad(score, seen[0])
    return relu((slopes.mean((2, 3), keepdim=True) * seen[1].detach()).sum(1))


# %% [markdown] exercise="features_pca" kind="core" points=2 part="mytorch.utils.components:pca"
# ### Exercise 5 · Principal components
# If you multiply a vector by a symmetric matrix again and again, it turns towards the eigenvector with the largest
# eigenvalue. This method is called **power iteration**. Subtract that direction's contribution from the matrix, and
# the next iteration finds the next direction.


# %% docstrings="features_pca"
def pca():
    """The `k` orthogonal directions (k, D) in which rows (N, D) vary most, and their variances along them (k,).

    Both are in descending order of variance. Directions have length 1, and the element with the largest absolute value
    in each is positive, as in scikit-learn. The covariance divides by N - 1. For each direction, begin with `randn(D)`
    of the dtype and device of `x`, and multiply `steps` times. The variance along v is v · C v; subtracting the
    direction from C leaves C - variance · v vᵀ. Autograd records nothing. `stack` makes a tensor of a list of tensors.
    """


# %% check="features_pca"
generator = check.rng()
sizes = generator.permutation([9.0, 5.0, 2.5, 1.0, 0.3])
turn = np.linalg.qr(generator.normal(size=(5, 5)))[0]
rows = mytorch.tensor(generator.normal(size=(40, 5)) * sizes @ turn + generator.normal(size=5) * 20)
mytorch.manual_seed(check.seed())
directions, variances = mytorch.utils.pca(rows, 3)
mytorch.manual_seed(check.seed() + 1)
many = mytorch.tensor(generator.normal(size=(30, 20)) * np.linspace(1, 3, 20))
before = many.clone()
early = mytorch.utils.pca(many, 1, steps=2)
mytorch.manual_seed(check.seed() + 2)
mytorch.utils.pca(many, 2, steps=1)
drawn = mytorch.rand(1)
recorded = mytorch.utils.pca(rows.clone().requires_grad_(), 1)[0].requires_grad
largest = [max(direction, key=abs) > 0 for direction in directions.tolist()]
mytorch.cuda.simulate(1)
on_gpu = []
gpu_error = check.error(lambda: on_gpu.extend(mytorch.utils.pca(rows.to("cuda"), 2)))
mytorch.cuda.State.gpus = None
check.show(
    {
        "directions": directions,
        "variances": variances,
        "lengths": (directions * directions).sum(1),
        "products of two directions": [
            (directions[a] * directions[b]).sum().item() for a, b in ((0, 1), (0, 2), (1, 2))
        ],
        "largest element is positive": largest,
        "type": directions.dtype,
        "types of float32 rows": [each.dtype for each in mytorch.utils.pca(rows.to(mytorch.float32), 1)],
        "of 20 features, one direction after two steps": early,
        "a random number after two directions": drawn,
        "the rows are unchanged": mytorch.equal(many, before),
        "recorded": recorded,
        "of rows with one feature": mytorch.utils.pca(rows[:, 1:2], 1),
        "of rows on a GPU": gpu_error or [each.cpu() for each in on_gpu],
    },
    rtol=1e-3,
    atol=1e-4,
    text="The three directions in which 40 rows of five features vary most.",
)

# %% [markdown] hint="features_pca"
# Subtract the mean of each column first, because the covariance of the centred rows `z` is `z.T @ z / (len(z) - 1)`.

# %% [markdown] hint="features_pca"
# In each step, compute `v = covariance @ v`, and then divide `v` by its length, which is the root of `(v * v).sum()`.

# %% [markdown] hint="features_pca"
# `v * v[v.abs().argmax()].sign()` determines the sign. `v.unsqueeze(1) * v` is v vᵀ, which you multiply by the
# variance and subtract from the covariance.


# %% mutant="features_pca"
# Doesn't centre
# Without subtracting the mean, the first direction points from the origin to the centre of the data.
def pca(x, k, steps=200):
    with no_grad():
        covariance, directions, variances = x.T @ x / (len(x) - 1), [], []
        for _ in range(k):
            v = randn(x.shape[1], dtype=x.dtype, device=x.device)
            for _ in range(steps):
                v = covariance @ v
                v = v / (v * v).sum().sqrt()
            v = v * v[v.abs().argmax()].sign()
            variance = v @ covariance @ v
            covariance = covariance - variance * v.unsqueeze(1) * v
            directions.append(v)
            variances.append(variance)
        return stack(directions), stack(variances)


# %% mutant="features_pca"
# The same direction each time
# Each direction that was found has to be subtracted from the covariance. Otherwise the largest one is found again.
def pca(x, k, steps=200):
    with no_grad():
        z = x - x.mean(0)
        covariance, directions, variances = z.T @ z / (len(x) - 1), [], []
        for _ in range(k):
            v = randn(x.shape[1], dtype=x.dtype, device=x.device)
            for _ in range(steps):
                v = covariance @ v
                v = v / (v * v).sum().sqrt()
            v = v * v[v.abs().argmax()].sign()
            directions.append(v)
            variances.append(v @ covariance @ v)
        return stack(directions), stack(variances)


# %% mutant="features_pca"
# Divides by N
# The variance of a sample divides by N - 1.
def pca(x, k, steps=200):
    with no_grad():
        z = x - x.mean(0)
        covariance, directions, variances = z.T @ z / len(x), [], []
        for _ in range(k):
            v = randn(x.shape[1], dtype=x.dtype, device=x.device)
            for _ in range(steps):
                v = covariance @ v
                v = v / (v * v).sum().sqrt()
            v = v * v[v.abs().argmax()].sign()
            variance = v @ covariance @ v
            covariance = covariance - variance * v.unsqueeze(1) * v
            directions.append(v)
            variances.append(variance)
        return stack(directions), stack(variances)


# %% mutant="features_pca"
# Subtracts a direction without its variance
# C - v vᵀ subtracts a variance of 1, whatever the direction's own variance is.
def pca(x, k, steps=200):
    with no_grad():
        z = x - x.mean(0)
        covariance, directions, variances = z.T @ z / (len(x) - 1), [], []
        for _ in range(k):
            v = randn(x.shape[1], dtype=x.dtype, device=x.device)
            for _ in range(steps):
                v = covariance @ v
                v = v / (v * v).sum().sqrt()
            v = v * v[v.abs().argmax()].sign()
            variance = v @ covariance @ v
            covariance = covariance - v.unsqueeze(1) * v
            directions.append(v)
            variances.append(variance)
        return stack(directions), stack(variances)


# %% mutant="features_pca"
# Any sign
# Both v and -v are correct, but the element with the largest absolute value has to be positive, so that two runs
# agree.
def pca(x, k, steps=200):
    with no_grad():
        z = x - x.mean(0)
        covariance, directions, variances = z.T @ z / (len(x) - 1), [], []
        for _ in range(k):
            v = -randn(x.shape[1], dtype=x.dtype, device=x.device)
            for _ in range(steps):
                v = covariance @ v
                v = v / (v * v).sum().sqrt()
            v = v * -v[v.abs().argmax()].sign()
            variance = v @ covariance @ v
            covariance = covariance - variance * v.unsqueeze(1) * v
            directions.append(v)
            variances.append(variance)
        return stack(directions), stack(variances)


# %% mutant="features_pca"
# Records everything
# Put the computation under `no_grad`, so that two hundred products for each direction aren't recorded.
def pca(x, k, steps=200):
    z = x - x.mean(0)
    covariance, directions, variances = z.T @ z / (len(x) - 1), [], []
    for _ in range(k):
        v = randn(x.shape[1], dtype=x.dtype, device=x.device)
        for _ in range(steps):
            v = covariance @ v
            v = v / (v * v).sum().sqrt()
        v = v * v[v.abs().argmax()].sign()
        variance = v @ covariance @ v
        covariance = covariance - variance * v.unsqueeze(1) * v
        directions.append(v)
        variances.append(variance)
    return stack(directions), stack(variances)


# %% [markdown] exercise="features_events" kind="core" points="1 1" part="mytorch.utils.tensorboard:event mytorch.utils.tensorboard:EventWriter.add_scalar"
# ### Exercise 6 · A point that TensorBoard draws
# The lesson shows the bytes of three events. Write the functions that produce them. A protocol buffers message is a
# sequence of fields, and `message({number: value})` from [chapter 20b](20b_export.ipynb) encodes one from integers,
# floats (32 bits), strings, and bytes, such as those of another message. Only the time needs 64 bits, so you write
# that field by hand, as a key followed by eight bytes.


# %% docstrings="features_events"
def event():
    """An event: a message that begins with the time in seconds, followed by the other fields that are given.

    The time is field 1. Its key is `varint(1 << 3 | 1)`, where wire type 1 means 64 bits, and `struct.pack("<d",
    wall_time)` follows. The other fields are `step` (2), `file_version` (3) and `summary` (5); those that are given go
    into one `message`.
    """


def add_scalar():
    """Writes one point of the curve `tag`: `self.write` gets an event with the time, the step and a summary.

    A summary is a message whose field 1 is a value. A value is a message with the tag in field 1 and the number, as a
    Python float, in field 2. `wall_time` is the time; None means the current time, `time.time()`.
    """


# %% check="features_events"
import struct
import time

generator = check.rng()
board = mytorch.utils.tensorboard
tag, step = "loss/" + "abcdefgh"[: int(generator.integers(3, 8))], int(generator.integers(200, 10**6))
value, moment = float(generator.integers(1, 999)) / 8, float(generator.integers(10**9, 2 * 10**9)) + 0.5


class Memory(board.EventWriter):
    """Keeps the events instead of writing them to a file."""

    def __init__(self):
        self.events = []

    def write(self, data):
        self.events.append(data)


writer = Memory()
writer.add_scalar(tag, value, step, wall_time=moment)
writer.add_scalar(tag, mytorch.tensor(value), step + 1, moment)
writer.add_scalar(tag, 1, step, wall_time=0.0)
writer.add_scalar(tag, value, 1, moment)
before = time.time()
writer.add_scalar(tag, value, step)
now = struct.unpack("<d", writer.events[4][1:9])[0] if len(writer.events[4]) > 9 else None
check.show(
    {
        "tag, value, step, time": [tag, value, step, moment],
        "an event with a step": board.event(moment, step=step).hex(" "),
        "with step 0": board.event(moment, step=0).hex(" "),
        "a point of step 1": writer.events[3].hex(" "),
        "with a version": board.event(moment, file_version="brain.Event:2").hex(" "),
        "with a step and a summary": board.event(moment, step=step, summary=b"abc").hex(" "),
        "a point": writer.events[0].hex(" "),
        "the next one, a tensor": writer.events[1].hex(" "),
        "an integer, at time 0": writer.events[2].hex(" "),
        "without a time: the time of the call": now is not None and before <= now <= time.time(),
    },
    text="Events as bytes, in hexadecimal.",
)

# %% [markdown] hint="features_events"
# Read a point in the lesson's cell from the inside to the outside: the number, the value with its tag, the summary,
# the event.

# %% [markdown] hint="features_events"
# `numbers = {"step": 2, "file_version": 3, "summary": 5}` maps the names of the fields to their numbers. `event`
# returns the bytes of the time plus `message({numbers[name]: value for name, value in fields.items()})`.

# %% [markdown] hint="features_events"
# The summary is `message({1: message({1: tag, 2: float(value)})})`, and `self.write(event(..., step=step,
# summary=...))` writes the event.


# %% mutant="features_events"
# The time in 32 bits
# A float32 has 24 bits of precision, but seconds since 1970 need 31, so the time would be off by up to about a minute. The
# format has 64 bits, wire type 1.
def event(wall_time, **fields):
    numbers = {"step": 2, "file_version": 3, "summary": 5}
    seconds = varint(1 << 3 | 5) + struct.pack("<f", wall_time)
    return seconds + message({numbers[name]: value for name, value in fields.items()})


# %% mutant="features_events"
# Numbers the fields by position
# The numbers of the fields are part of the format: `step` is 2, `file_version` 3 and `summary` 5, whichever of them
# are given.
def event(wall_time, **fields):
    seconds = varint(1 << 3 | 1) + struct.pack("<d", wall_time)
    return seconds + message(dict(enumerate(fields.values(), start=2)))


# %% mutant="features_events"
# One message too few
# A summary contains values, and each value has a tag and a number, so two messages are nested.
def add_scalar(self, tag, value, step, wall_time=None):
    point = message({1: tag, 2: float(value)})
    self.write(event(time.time() if wall_time is None else wall_time, step=step, summary=point))


# %% mutant="features_events"
# Time 0 is now
# `wall_time or time.time()` treats 0.0 as "no time given". Test `wall_time is None` instead.
def add_scalar(self, tag, value, step, wall_time=None):
    point = message({1: message({1: tag, 2: float(value)})})
    self.write(event(wall_time or time.time(), step=step, summary=point))


# %% mutant="features_events"
# Leaves integers as they are
# An integer is written as a varint, which is another wire type. The number of a point is a float: `float(value)`.
def add_scalar(self, tag, value, step, wall_time=None):
    point = message({1: message({1: tag, 2: value if isinstance(value, int) else float(value)})})
    self.write(event(time.time() if wall_time is None else wall_time, step=step, summary=point))


# %% [markdown] exercise="features_repair_hook" kind="repair" points=3
# ### Exercise 7 · Since we started watching it, it has stopped learning
# A colleague logs activations during training with `found, handles = watch(model, ["0", "2"])`. Since then the loss
# decreases much more slowly, and the first layer's weight has no gradient at all. In evaluation, moreover, all
# batches get the predictions of the first one. If the handles are removed, the network is healthy again.
#
# Fix `watch`. `found` must hold, by name, the outputs of these modules in the latest forward pass, unaffected by
# whatever happens to the network's tensors afterwards, and without holding a graph.


# %% solution="features_repair_hook"
def watch(model, names):
    """A dict that each forward pass fills with copies of the outputs of the named modules, and the hooks' handles."""
    found = {}
    ### BEGIN SOLUTION

    def keep(name):
        def hook(module, args, result):
            found[name] = result.detach().clone()

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    ### END SOLUTION
    ### BEGIN STUB
    # handles = [
    #     model.get_submodule(name).register_forward_hook(
    #         lambda module, args, result, name=name: found.setdefault(name, result.detach().clone())
    #     )
    #     for name in names
    # ]
    ### END STUB
    return found, handles


# %% check="features_repair_hook"
generator = check.rng()
torch.manual_seed(check.seed())
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))
batches = [torch.tensor(generator.normal(size=(rows, 3)).astype("float32")) for rows in (5, 3, 1)]
alone = [model(batch).detach() for batch in batches]
given = [model[0](batch).detach() for batch in batches]
found, handles = watch(model, ["0", "2"])
first = model(batches[0])
first.square().sum().backward()
slopes = model[0].weight.grad
kept = {name: value.detach().clone() for name, value in found.items()}
second = model(batches[1])
kept_second = found["0"].detach().clone() if "0" in found else None
third = model.eval()(batches[2])
values = {
    "names": sorted(kept),
    "kept of the first layer": kept.get("0"),
    "the first layer's output": given[0],
    "kept of the last layer": kept.get("2"),
    "predictions": first.detach(),
    "predictions without hooks": alone[0],
    "gradient of the first layer": slopes,
    "predictions for the second batch": second.detach(),
    "kept of the second batch": kept_second,
    "predictions for one example": third.detach(),
    "kept of one example": found["0"].detach() if "0" in found else None,
    "kept with a graph": any(value.requires_grad for value in found.values()),
    "handles": len(handles),
}
for handle in handles:
    handle.remove()
values["hooks left"] = sum(len(module._forward_hooks) for module in model.modules())
check.show(values, text="A network that is watched, in three forward passes: a batch of 5, of 3 and of 1.")

# %% [markdown] hint="features_repair_hook"
# Follow the value that passes from layer 0 to layer 1. Which tensor is it in the first forward pass, and which in the
# second?

# %% [markdown] hint="features_repair_hook"
# A lambda returns the value of its expression. What does `dict.setdefault` return, and what does a module do with the
# value that its hook returns?

# %% [markdown] hint="features_repair_hook"
# Write the hook with `def`, assign `found[name] = result.detach().clone()` in it, and return nothing. Make sure that
# each hook has its own name.


# %% mutant="features_repair_hook"
# Returns the output, but keeps the first copy
# The network is healthy again. But `setdefault` doesn't replace an existing entry, so the second batch's activations
# are never stored.
def watch(model, names):
    found = {}

    def keep(name):
        def hook(module, args, result):
            found.setdefault(name, result.detach().clone())

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    return found, handles


# %% mutant="features_repair_hook"
# Replaces the output by the latest copy
# The second batch is correct now. But the copy is detached and replaces the output, so gradients still stop there.
def watch(model, names):
    found = {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.detach().clone()
            return found[name]

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    return found, handles


# %% mutant="features_repair_hook"
# Doesn't detach
# Gradients flow again, but the tensor that is kept holds the graph of its forward pass.
def watch(model, names):
    found = {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.clone()

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    return found, handles


# %% mutant="features_repair_hook"
# Doesn't clone
# `detach` shares memory, and `ReLU(inplace=True)` writes into it, so the entry for the first layer contains the
# second layer's output.
def watch(model, names):
    found = {}

    def keep(name):
        def hook(module, args, result):
            found[name] = result.detach()

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    return found, handles


# %% mutant="features_repair_hook"
# Stores everything under the last name
# Each hook needs its own name. Otherwise it uses the loop's variable, which has the last name by the time the hook
# runs.
def watch(model, names):
    found, handles = {}, []
    for name in names:

        def hook(module, args, result):
            found[name] = result.detach().clone()  # noqa: B023

        handles.append(model.get_submodule(name).register_forward_hook(hook))
    return found, handles


# %% [markdown] exercise="features_measure_transfer" kind="measure" points=2
# ### Exercise 8 · How many parameters must be trained?
# `prepare(way)` returns a ResNet-18 that was trained to read the digits 0 to 4 and has a new head for the digits 5
# to 9. Some of its parameters are frozen:
#
# | way | trained |
# |---|---|
# | `"probe"` | the head |
# | `"last block"` | the head and `layer4.1` |
# | `"LoRA"` | the head, and an adapter of rank 4 beside each 3 × 3 convolution of the blocks |
# | `"all"` | everything |
#
# `teach(model)` trains the parameters that aren't frozen on 100 digits, each at a random position, and returns the
# fraction of 400 other digits that the network then reads correctly. It takes from ten seconds to a minute. Batch
# norms are in training mode in all four ways, so that only the trained parameters differ; the lesson's linear probe
# has them in evaluation mode.
#
# Measure all four ways, and set `trained` to a dict with the number of trained parameters of each way, and `over_78`
# to the list of ways that read more than 78 % of the digits. Set `exception` to the pair of ways (a, b) in which a
# trains more parameters than b but reads at least ten percentage points fewer of the digits.


# %% setup=true
from minitorch.models import ResNet18_Weights, resnet18
from sklearn.datasets import load_digits


class LoRAConv2d(nn.Module):
    """A frozen convolution, and in parallel one to r channels followed by a 1 × 1 convolution that starts at 0."""

    def __init__(self, base, r):
        super().__init__()
        self.base = base.requires_grad_(False)
        geometry = (base.kernel_size, base.stride, base.padding)
        self.down = nn.Conv2d(base.in_channels, r, *geometry, bias=False)
        self.up = nn.Conv2d(r, base.out_channels, 1, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + 2 * self.up(self.down(x))


def prepare(way):
    torch.manual_seed(0)
    model = resnet18(weights="DEFAULT").requires_grad_(way == "all")
    model.fc = nn.Linear(64, 5)
    if way == "last block":
        model.layer4[1].requires_grad_(True)
    if way == "LoRA":
        for layer in (model.layer1, model.layer2, model.layer3, model.layer4):
            for block in layer:
                block.conv1, block.conv2 = LoRAConv2d(block.conv1, 4), LoRAConv2d(block.conv2, 4)
    return model


def teach(model, steps=60):
    digits, generator = load_digits(), np.random.default_rng(2)
    order = generator.permutation(np.flatnonzero(digits.target >= 5))
    draw = ResNet18_Weights.DEFAULT.transforms()

    def somewhere(rows):
        corners = generator.integers(0, 17, (len(rows), 2))
        return draw(digits.images[rows], 40, corners), torch.tensor(digits.target[rows] - 5)

    model.train()
    trained = [each for each in model.parameters() if each.requires_grad]
    lr = 0.03 if len(trained) == 2 else 0.003 if len(trained) == 62 else 0.01
    optimizer = torch.optim.AdamW(trained, lr=lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)
    for _ in range(steps):
        x, y = somewhere(generator.permutation(order[:100])[:25])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    x, y = somewhere(order[496:])
    with torch.no_grad():
        return (model.eval()(x).argmax(1) == y).float().mean().item()


# %% solution="features_measure_transfer"
### BEGIN SOLUTION
trained = {"probe": 325, "last block": 74_309, "LoRA": 17_509, "all": 177_037}
over_78 = ["LoRA", "all"]
exception = ("last block", "LoRA")
### END SOLUTION

# %% check="features_measure_transfer"
shown = {f"trained by {way}": int(trained[way]) for way in ("probe", "last block", "LoRA", "all")}
shown["over 78 %"] = sorted(str(way) for way in over_78)
shown["more parameters, ten points fewer"] = [str(way) for way in exception]
check.show(shown, secret=True)

# %% [markdown] hint="features_measure_transfer"
# The number of trained parameters is `sum(each.numel() for each in model.parameters() if each.requires_grad)`, before
# or after `teach`.

# %% [markdown] hint="features_measure_transfer"
# Prepare a new model for each way, because `teach` changes the one it gets. Running statistics are buffers, so they
# don't count as trained parameters.

# %% [markdown] hint="features_measure_transfer"
# Sort the four ways by trained parameters, write the accuracies beside them, and look for the neighbouring pair that
# is in the wrong order.

# %% mutant="features_measure_transfer"
# More parameters, more digits
# It matters where they are: the last block only sees what the frozen layers before it pass on, while adapters change
# the early layers as well.
trained = {"probe": 325, "last block": 74_309, "LoRA": 17_509, "all": 177_037}
over_78 = ["last block", "all"]
exception = ("last block", "probe")

# %% mutant="features_measure_transfer"
# Counts what is frozen
# Frozen parameters are used in the forward pass but not trained, so count those with `requires_grad`.
trained = {"probe": 177_037, "last block": 177_037, "LoRA": 194_221, "all": 177_037}
over_78 = ["LoRA", "all"]
exception = ("last block", "LoRA")

# %% mutant="features_measure_transfer"
# Counts only the layers' weights
# The head and each batch norm have biases, and batch norms have weights. These are trained as well.
trained = {"probe": 320, "last block": 74_048, "LoRA": 17_504, "all": 174_632}
over_78 = ["LoRA", "all"]
exception = ("last block", "LoRA")
