# %% [markdown]
# # Features, transfer and pictures
# How do you teach a trained network new classes with a fraction of its parameters? And what does it look at: can a picture prove it? This
# lesson answers the first question with a linear probe, fine-tuning and LoRA, and the second with hooks, patching and attribution. At the
# end, your library runs a ResNet-18 whose features agree with minitorch's.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(21)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Freezing a network: eval mode or no gradients?
# A small ResNet-18 has learned to read the handwritten digits 0 to 4, and you want to freeze it. One colleague calls `eval()`, another
# calls `requires_grad_(False)` on everything but the head, and both then take one step of SGD. Which of the two networks is the same as
# before?

# %% tags=["proof-freezing"]
import numpy as np
from sklearn.datasets import load_digits

import minitorch as torch
from minitorch import nn
from minitorch.models import ResNet18_Weights, resnet18

digits, draw = load_digits(), ResNet18_Weights.DEFAULT.transforms()
a_three = draw(digits.images[digits.target == 3][-1:])


def changed_by_a_step(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model(a_three.repeat(2, 1, 1, 1)).square().mean().backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    return {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}


in_eval_mode = resnet18(weights="DEFAULT").eval()
without_gradients = resnet18(weights="DEFAULT").requires_grad_(False)
without_gradients.fc.requires_grad_()
for name, model in {"eval()": in_eval_mode, "requires_grad_(False)": without_gradients}.items():
    changed = changed_by_a_step(model)
    parameters = changed & {name for name, _ in model.named_parameters()}
    print(f"{name:21} {len(parameters)} parameters and {len(changed - parameters)} buffers changed")

# %% [markdown]
# Neither is, and a frozen network needs both calls. `eval()` freezes batch norm's running statistics but none of the parameters, so all
# 62 moved. `requires_grad_(False)` stops new gradients, so only the two parameters of the head moved, but batch norm went on updating its
# statistics.
#
# There is a third way to get it wrong. Suppose that you freeze the head as well, but only now, after the backward pass:

# %% tags=["proof-frozen-late"]
head = without_gradients.fc.requires_grad_(False)
before = head.weight.clone()
torch.optim.SGD(head.parameters(), lr=0.01).step()
print("the frozen head moved:", not torch.equal(head.weight, before))

# %% [markdown]
# The optimizer applies any `.grad` that it finds, whether or not the parameter still requires one. If you freeze layers during training,
# clear their gradients too.
#
# **Interview · You fine-tune on 500 images: what do you freeze, which learning rates, and what about batch norm?**
#
# - *Thirty seconds:* I freeze everything but the head at first, because that linear probe is the baseline. Then I unfreeze from the top,
#   with a small learning rate for the pretrained layers and a larger one for the new head, and validate as I go. Batch norm stays in
#   evaluation mode.
# - *Longer:* Two rates are two parameter groups ([chapter 16](16_losses_and_optimizers.ipynb)). If the rates shrink from layer to layer
#   towards the input, that is called *layer-wise decay*. In small batches, batch norm's statistics would drift ([chapter
#   12](12_norm_dropout_and_modes.ipynb)).
# - *They ask next:* How do you know that the pretrained weights help? Train the same network from scratch, on several seeds.
# - *They ask next:* What has it forgotten? I run the old evaluation before and after. If it got worse, I mix in old data, lower the rate,
#   or train fewer parameters.
# - *The trap:* People call `model.train()` at the start of each epoch and forget that it puts the frozen batch norms back into training
#   mode.
# - *Proof:* `proof-freezing`, `proof-transfer`, `proof-forgetting`; loading: `proof-wrong-keyword`.

# %% [markdown]
# ## Transfer learning: linear probe and fine-tuning
# Now teach the network the digits 5 to 9 from 100 images, each drawn at a random position. You can
#
# - train the whole network from random weights,
# - train a new head on frozen features, which is called a **linear probe**,
# - or train the whole network from its trained weights, which is **fine-tuning**.
#
# Each way is run with three seeds, at the rate that suited it best among 0.003, 0.01 and 0.03. Which one reads most of 400 new digits?
# (Unlike torchvision's, minitorch's `transforms()` takes a size and positions.)

# %% tags=["proof-transfer"]
from course import pictures

order = np.random.default_rng(0).permutation(np.flatnonzero(digits.target >= 5))


def drawn_anywhere(rows, rng):
    return draw(digits.images[rows], 32, rng.integers(0, 9, (len(rows), 2))), torch.tensor(digits.target[rows] % 5)


def number_correct(model, rows):
    x, y = drawn_anywhere(rows, np.random.default_rng(1))
    with torch.no_grad():
        return (model.eval()(x).argmax(1) == y).sum().item()


def teach(model, lr, rng):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer, losses = torch.optim.AdamW(trained, lr=lr), []
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=40)
    for _ in range(40):
        x, y = drawn_anywhere(rng.permutation(order[:100])[:25], rng)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return sum(parameter.numel() for parameter in trained), losses


ways = {
    "from scratch": (lambda: resnet18(num_classes=5, width=8), 0.03),
    "probe": (lambda: resnet18(weights="DEFAULT").eval().requires_grad_(False), 0.03),
    "fine-tuned": (lambda: resnet18(weights="DEFAULT"), 0.003),
}
models, curves = {name: [] for name in ways}, {}
for name, (make, lr) in ways.items():
    counts, histories = [], []
    for seed in range(3):
        torch.manual_seed(seed)
        model = make()
        model.fc = nn.Linear(64, 5)
        size, losses = teach(model, lr, np.random.default_rng(seed))
        counts.append(number_correct(model, order[496:]))
        histories.append(losses)
        models[name].append(model)
    above = sum(count > 320 for count in counts)
    print(f"{name:12} {size:7,} parameters trained, above 80 % accuracy with {above} of 3 seeds")
    curves[name] = np.convolve(np.mean(histories, 0), np.ones(5) / 5, "valid")
pictures.curves(curves, xlabel="step", ylabel="loss (nats)", alt="The fine-tuned loss falls fastest.")

# %% [markdown]
# Exact counts differ a little between processors, so the cell prints a bound. Where this was written, the networks read, of 400 digits,
#
# - 220 to 253 digits when trained from scratch,
# - 249 to 268 with the probe,
# - and 334 to 346 after fine-tuning.
#
# So fine-tuning wins by more than seeds differ, and a probe of 325 parameters reads about as many digits as the whole network trained
# from random weights. All counts are slightly optimistic, since the rates were chosen on the same 400 digits.
#
# ### What did it forget?
# Fine-tuning moved every layer, so can the network still read the old digits, 0 to 4? Put its old head back and count its errors on 400
# of them:

# %% tags=["proof-forgetting"]
original = resnet18(weights="DEFAULT")
old_rows = np.flatnonzero(digits.target < 5)[-400:]
for name in ("probe", "fine-tuned"):
    forgetful = 0
    for model in models[name]:
        model.fc = original.fc
        forgetful += 400 - number_correct(model, old_rows) > 12
    print(f"{name:10} more than 12 errors with {forgetful} of 3 seeds")

# %% [markdown]
# The probe's body never moved, so with the old head it is the original network again, with its 3 errors. After 40 steps of fine-tuning
# there were 24 to 40 errors (where this was written): the network has begun to forget. If it loses an old task while it learns a new one,
# that is called **catastrophic forgetting**.

# %% [markdown] tags=["short"]
# ## LoRA
# Full fine-tuning keeps a copy of all weights for each task, although the change that a task needs is often close to a matrix of low
# rank. **LoRA** therefore freezes a layer's weight $W$ and adds a trainable update, $\frac{\alpha}{r} B A$, where $A$ is
# $r \times \text{in}$ and $B$ is $\text{out} \times r$.
#
# Do the smallest case by hand, with $r = \alpha = 1$, $x = (1, 2)$ and $A = (3, 1)$. You get $Ax = 5$, so the layer returns $Wx + 5B$,
# which agrees with its base as long as $B$ is 0. The gradient of $B$ is 5 times the gradient of the output, while that of $A$ has $B$ as
# a factor and is 0 at first. Here is the same with 64 inputs and rank 4, on the layer `LoRALinear` that you will write in exercise 3:

# %% tags=["proof-LoRA"]
mytorch.manual_seed(0)
base, x = mytorch.nn.Linear(64, 32), mytorch.randn(8, 64)
adapted = mytorch.nn.LoRALinear(base, r=4, alpha=8)
print(f"at the start it differs from its base by {(adapted(x) - base(x)).abs().max().item():.0f}")
adapted(x).square().sum().backward()
for name, matrix in {"A": adapted.lora_A, "B": adapted.lora_B}.items():
    print(f"nonzero entries of the gradient of {name}: {(matrix.grad != 0).sum().item()}")
adapted.lora_B.data -= 0.01 * adapted.lora_B.grad
print(f"after a step it differs from its base by {(adapted(x) - base(x)).abs().max().item():.1f}")
print(f"and from its merged layer by {(adapted(x) - adapted.merge()(x)).abs().max().item():.3f}")

# %% [markdown]
# In the first step only `B` learns, and from the second step on `A` does too. The last line is about the end of training, when the update
# is added to the weight: the *merged* layer gives the same results.
#
# **QLoRA** also shrinks the frozen part: it stores $W$ in 4 bits (the data type NF4), dequantizes it to bfloat16 for each matrix
# multiplication, and trains adapters in 16 bits. The weights of a 7B model then take about 4 GB instead of 14, and gradients and
# optimizer state exist for the adapters only.
#
# **Interview · LoRA: why does B start at 0, what does alpha / r do, and what does it cost at inference?**
#
# - *Thirty seconds:* With $B = 0$, training starts from exactly the pretrained model. The factor $\alpha / r$ is meant to keep the size of
#   the update when you change $r$, so that you needn't tune the learning rate again. At inference, an adapter that is merged into $W$ costs
#   nothing.
# - *Longer:* It trains $r (\text{in} + \text{out})$ parameters, and the optimizer's state shrinks accordingly. Unmerged, it adds two
#   low-rank matrix multiplications, and adapters can be swapped per request. At high ranks $\alpha / r$ shrinks the update too much, so
#   rsLoRA divides by $\sqrt r$ ([Kalajdzievski 2023](https://arxiv.org/abs/2312.03732)).
# - *They ask next:* Why not $A = B = 0$? Because each one's gradient has the other as a factor, so both would stay 0.
# - *The trap:* "The backward pass is nearly free." It isn't: gradients still flow through the frozen layers, and activations are saved for
#   them.
# - *Proof:* `proof-LoRA`, `proof-rapid-fire`.
#
# **Interview · Your LoRA run is worse than full fine-tuning. What do you check?**
#
# - *Thirty seconds:* First the learning rate, because LoRA often needs about ten times that of full fine-tuning. Then I check that it
#   adapts all linear layers, attention's and the MLP's. At last I double the rank until the validation loss no longer improves.
# - *Longer:* The factor of ten is a measurement ([Schulman 2025](https://thinkingmachines.ai/blog/lora/)). The LoRA paper mostly adapted
#   the query and value projections alone, but QLoRA's authors needed all layers to match full fine-tuning. I start with a rank between 8
#   and 64, and when I change $r$, I look at $\alpha$ too, since the update is scaled by $\alpha / r$.
# - *They ask next:* With too little memory, would you adapt fewer layers or lower $r$? I would lower $r$: for a fixed number of parameters,
#   the LoRA paper found more matrices at a lower rank better.
# - *The trap:* People raise $r$ on attention alone, although the missing part is the MLP.
# - *Proof:* what $r$ and $\alpha$ do: `proof-LoRA`; the parameters that a rank costs: `proof-rapid-fire`.

# %% [markdown]
# ## Forward hooks: read and change activations
# So far the network was a black box, and now you want to know what its second stage makes of a 3. You could rewrite `forward` so that it
# returns that, but a **hook** needs no change to the model: it is a function that a module calls after each forward pass ([chapter
# 9](09_modules_and_parameters.ipynb)).

# %% tags=["proof-hook"]
network, kept = resnet18(weights="DEFAULT").eval(), []
handle = network.layer2.register_forward_hook(lambda module, args, result: kept.append(result))
network(a_three)
print(f"{tuple(a_three.shape)} became {tuple(kept[0].shape)}")

# %% [markdown]
# ### Break it: a hook that stays
# Nobody removed the hook, so it runs whenever the network is used:

# %% tags=["proof-leak"]
for _ in range(3):
    network(a_three)
with_graph = [result for result in kept if result.grad_fn is not None]
print(f"results kept: {len(kept)}, with a graph: {len(with_graph)}")
handle.remove()

# %% [markdown]
# Each result keeps its graph alive, with everything that the graph saved for the backward pass, so the memory of four forward passes is in
# use. The result isn't a copy either, and a layer that later works in place overwrites it, as exercise 1 shows. A good tool therefore
#
# - detaches,
# - copies,
# - and removes its hooks, even when something raises an exception.
#
# You will write such a tool in exercise 2: `features(model, names)` needs only `get_submodule` and `register_forward_hook`, so it works on
# minitorch's models as well.
#
# ### Ablate, steer and patch activations
# A hook may also return something, and that replaces the result. This one **ablates** a channel of `layer2`, which means that it sets the
# channel to 0:

# %% tags=["proof-replace"]
mask = (torch.arange(16) != 5).reshape(16, 1, 1)
handle = network.layer2.register_forward_hook(lambda module, args, result: result * mask)
ablated = network(a_three)[0, 3].item()
handle.remove()
print(f"logit of the 3: {network(a_three)[0, 3].item():.1f}, without channel 5 {ablated:.1f}")

# %% [markdown]
# The logit falls, so channel 5 contributed to it. Instead of zeros, you can insert what the network computed for another input, which is
# called **activation patching**. Which channels of `layer4` tell a 4 from a 3? Keep all 64 from a run on a 4, and patch them into a run on
# the 3: first one by one, to rank them, and then the strongest together.

# %% tags=["proof-patch"]
a_four, of_the_four = draw(digits.images[digits.target == 4][-1:]), []
handle = network.layer4.register_forward_hook(lambda module, args, result: of_the_four.append(result.detach().clone()))
network(a_four)
handle.remove()


def margin(image, patched=()):
    """The logit of the 4 minus that of the 3, with these channels from the run on the 4."""
    from_the_four = torch.tensor([channel in patched for channel in range(64)]).reshape(64, 1, 1)
    hook = network.layer4.register_forward_hook(
        lambda module, args, result: torch.where(from_the_four, of_the_four[0], result)
    )
    logits = network(image)[0]
    hook.remove()
    return (logits[4] - logits[3]).item()


effects = [margin(a_three, {channel}) - margin(a_three) for channel in range(64)]
strongest = np.argsort(effects)[::-1].tolist()
print(f"the 3: {margin(a_three):.1f}, the 4: {margin(a_four):.1f}")
for count in (1, 16, 64):
    print(f"the 3, with {count} of 64 channels from the 4: {margin(a_three, strongest[:count]):.1f}")

# %% [markdown]
# One channel moves the margin a little, and the sixteen strongest turn the 3 into a 4. All 64 together just repeat the run on the 4, which
# proves nothing about the channels.
#
# **Interview · How do you get an inner activation without touching the model?**
#
# - *Thirty seconds:* I register a forward hook on the module with `register_forward_hook`. The hook keeps `result.detach().clone()`, and
#   when I am done I call `handle.remove()`.
# - *Longer:* The names come from `named_modules`, and `get_submodule("layer2.1.conv2")` returns the module. If you only want the features
#   before the head, set `model.fc = nn.Identity()`. torchvision's `create_feature_extractor` rewrites the graph instead.
# - *They ask next:* Which calls does a hook miss? Functions such as `F.relu`, which aren't modules, and `model.forward(x)`, which bypasses
#   the model's own hooks.
# - *The trap:* If you keep results in a dict by name, a module that runs twice, as ResNet's `relu` does, leaves only its last result.
# - *Proof:* `proof-hook`, `proof-rapid-fire`.
#
# **Interview · What may a forward hook return?**
#
# - *Thirty seconds:* None, which changes nothing, or a value that replaces the module's result. With the second, you can ablate a channel,
#   add noise, or patch in an activation.
# - *They ask next:* What about a hook on a tensor? It sees the tensor's gradient and may replace it ([chapter
#   07b](07b_vector_jacobian_products.ipynb)).
# - *The trap:* It is easy to replace the result by accident, because a lambda returns the value of its expression. `kept.append(…)` gives
#   None, but many other calls don't.
# - *Proof:* `proof-replace`.
#
# **Interview · How do you patch an activation from one prompt into another, and what does the result prove?**
#
# - *Thirty seconds:* I run the first prompt and keep the activation with a hook. Then I run the second, while a hook returns the kept value
#   at one layer and position. If the output moves towards the first prompt's, that activation carries part of what differs between the two,
#   at least for this pair.
# - *Longer:* The prompts should have equal length and differ in one fact. In a language model, people patch the residual stream, a head or
#   an MLP. Adding a fixed vector to the stream is *steering*, and a *sparse autoencoder* writes its activations as a sum of a few features
#   that can be named.
# - *They ask next:* If patching has no effect, does that prove that the part is unused? No, because another part may do the
#   same work.
# - *The trap:* If you patch a layer whole, everything after it repeats the other run, and that proves nothing.
# - *Proof:* `proof-patch`, on a layer's channels.
#
# **Interview · What leaks when hooks stay?**
#
# - *Thirty seconds:* Time and memory. Hooks that aren't removed run in each forward pass, and if they keep results that aren't detached,
#   the graphs of those results stay alive, too.
# - *Longer:* Use a context manager with `finally`, so that the hooks are removed after an exception as well.
# - *They ask next:* Are hooks saved in a state dict? No, only parameters and buffers.
# - *The trap:* In a notebook, running the cell twice registers a second hook beside the first.
# - *Proof:* `proof-leak`, `proof-rapid-fire`.

# %% [markdown]
# ## Saliency maps, occlusion and Grad-CAM
# Which pixels does a score depend on? (A score here is a logit, the output before softmax.) Below are a 3 and two pictures that are meant
# to tell: one is its **saliency map**, the gradient of the score with respect to each pixel, and the other comes from a function called
# `edges`. Which of the two would you show to your boss?

# %% tags=["proof-surprise"]
import sys

from scipy.stats import spearmanr

from minitorch.models import resnet

sys.path.insert(0, "files")
from milestones import on  # runs a file of minitorch's on your library

mine = on(mytorch, resnet)
rows = np.flatnonzero(digits.target < 5)[-30:]
images, classes = mine.digit_images(digits.images[rows]), mytorch.tensor(digits.target[rows])
reader = mine.resnet18(weights="DEFAULT").eval()
mytorch.manual_seed(0)
untrained = mine.resnet18(num_classes=5, width=8).eval()


def edges(model, images, classes):
    return (images[:, 0, :, 3:] - images[:, 0, :, :-3]).abs()


def side_by_side(maps, alt):
    squares = [np.pad(values, (0, 48 - len(values[0])))[:48] for values in maps.values()]
    ax = pictures.axes(7, 2.3)
    ax.imshow(np.hstack([square / square.max() for square in squares]), cmap="gray_r", vmin=0)
    ax.set(xticks=[24 + 48 * index for index in range(len(maps))], xticklabels=maps, yticks=[])
    return pictures.publish(ax, alt)


three = int(np.flatnonzero(digits.target[rows] == 3)[-1])
maps = {"the 3": images[three, 0].numpy()}
for method in (mytorch.utils.saliency, edges):
    of_trained, of_untrained = method(reader, images, classes), method(untrained, images, classes)
    maps[method.__name__] = of_trained[three].numpy()
    correlation = spearmanr(of_untrained.flatten(), of_trained.flatten())[0]
    print(f"{method.__name__}: rank correlation with the map of an untrained network {correlation:.1f}")
side_by_side(maps, "A 3; its saliency map, which is noise around the digit; its vertical edges, an outline.")

# %% [markdown]
# The edges look more convincing, but `edges` never uses its argument `model`, so it gives the same picture for an untrained network. An
# explanation of a network has to change when the network does, and checking this is called a **model randomization test**. Saliency passes
# it only in part, since even an untrained network gives a map that correlates with it at 0.5.
#
# ### Occlusion
# Instead of asking for a derivative, you can intervene: **occlusion** covers a patch and measures how far the score falls. Here each patch
# of 8 × 8 pixels is covered in turn:

# %% tags=["proof-attributions"]
with torch.no_grad():
    score = network(a_three)[0, 3].item()
    drops = np.zeros((48, 48))
    for row in range(0, 48, 8):
        for column in range(0, 48, 8):
            covered = a_three.clone()
            covered[:, :, row : row + 8, column : column + 8] = 0
            drops[row : row + 8, column : column + 8] = score - network(covered)[0, 3].item()
print(f"occluding the most important patch lowers the score from {score:.1f} by {drops.max():.1f}")
side_by_side(
    {"the 3": a_three[0, 0].numpy(), "occlusion": drops.clip(0)}, "A 3; occlusion marks a block at its lower bow."
)

# %% [markdown]
# One block at the lower bow carries most of the score. This is a measurement, although a covered digit is also an image that the network
# has never seen, so part of the fall may come from the cover itself.
#
# ### Grad-CAM and the randomization test
# **Grad-CAM**, which you will write in exercise 4, is coarser on purpose. The maps of a deep layer still have positions, so Grad-CAM
# weights each map by the score's mean gradient, adds the maps up, and keeps what is positive.
#
# To see whether it reacts to the weights, make them random from the head down to some layer, with three different seeds, and compare each
# map with the map before:

# %% tags=["proof-sanity"]


def grad_cam(model, images, classes):
    return mytorch.utils.grad_cam(model, "layer2", images, classes)


def randomize(module):
    for part in module.modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()


layers, methods = ("fc", "layer4", "layer3", "layer2"), (mytorch.utils.saliency, grad_cam, edges)
before = {method: method(reader, images, classes).flatten() for method in methods}
correlations = {(layer, method): [] for layer in layers for method in methods}
for seed in range(3):
    mytorch.manual_seed(seed)
    model = mine.resnet18(weights="DEFAULT").eval()
    for layer in layers:
        randomize(model.get_submodule(layer))
        for method in methods:
            after = method(model, images, classes).flatten()
            correlations[layer, method].append(spearmanr(after, before[method])[0])
print("rank correlation with the map before, lowest to highest of three seeds")
for (layer, method), values in correlations.items():
    print(f"random from {layer} up: {method.__name__} {min(values):.1f} to {max(values):.1f}")

# %% [markdown]
# The edges don't react at all, and saliency still correlates at 0.5 when most layers are random. Grad-CAM keeps less of its map in each of
# the runs. But look at its spread: after the head alone it is between 0.2 and 0.7, so a test with one seed could tell you either.
#
# **Interview · Is a saliency map an explanation?**
#
# - *Thirty seconds:* It is a derivative, so it says what an infinitesimal change of each pixel would do. That isn't what the decision rests
#   on, and the map is noisy.
# - *Longer:* Test any attribution by model randomization: when you randomize the weights layer by layer, the map has to change. Integrated
#   gradients at least add up to the difference of two scores, although they depend on the baseline image.
# - *They ask next:* What is better? Intervene: ablate a channel or occlude a patch, and measure how the score changes. Grad-CAM answers
#   *where*, coarsely, and passes the randomization test better in this chapter's runs.
# - *The trap:* People judge a map by eye, but even an edge detector's picture looks like an explanation.
# - *Proof:* `proof-surprise`, `proof-sanity`, `proof-attributions`, `proof-integrated`; ablation:
#   `proof-replace`.

# %% [markdown]
# ## Milestone: ResNet-18 on your library
# `minitorch/models/resnet.py` runs on `mytorch`, unchanged but for its imports, and your `load` has read the same file of weights. Are the
# features the same?

# %% tags=["proof-milestone"]
names = ["conv1", "layer1", "layer3", "layer4"]
with mytorch.utils.features(reader, names) as yours, mytorch.utils.features(network, names) as expected:
    reader(mytorch.tensor(a_three.tolist()))
    network(a_three)
for name in names:
    largest = expected[name].max().item()
    difference = np.abs(yours[name].numpy() - expected[name].numpy()).max()
    print(f"{name:7} {tuple(yours[name].shape)!s:16} up to {largest:.1f}, differs by {difference:.3f}")

# %% [markdown]
# They are, up to rounding.

# %% [markdown]
# ## The real one
# This is minitorch's method that registers a hook:

# %%
import inspect

print(inspect.getsource(nn.Module.register_forward_hook))

# %% [markdown] tags=["short"]
# PyTorch's method has the same options: keyword arguments for the hook, a hook that runs even if `forward` raises, and a place before the
# other hooks.
#
# ## Rapid fire
# 1. A hook stores each output of a ResNet under its module's name. What is left of a block's `relu`? Only the result of its second call.
# 2. Does `model.forward(x)` run the model's own hooks? No, only a call of the model itself does.
# 3. Are a module's hooks in its state dict? No: parameters and buffers, nothing else.
# 4. What does a ResNet return once its `fc` is `nn.Identity()`? The features before `fc`.
# 5. How many parameters does LoRA with `r = 4` train on a 4,096 × 4,096 layer? 32,768, which is 0.2 % of the layer's.

# %% tags=["proof-rapid-fire"]
calls = []
network.layer1[0].relu.register_forward_hook(lambda *about: calls.append("relu"))
network.register_forward_hook(lambda *about: calls.append("network"))
network.forward(a_three)
print("1.", calls.count("relu"), " 2.", calls.count("network"))
print("3.", len(network.state_dict()) - len(reader.state_dict()), "more entries than without hooks")
network.fc = nn.Identity()
trained = 4 * (4096 + 4096)
print("4.", tuple(network(a_three).shape), f" 5. {trained:,}, {trained / 4096**2:.1%}")

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Freezing takes `requires_grad_(False)` for parameters, `eval()` for batch norm, and cleared gradients.
# 2. First train a probe, then fine-tune, and train from scratch as a control, each on several seeds.
# 3. Run the old evaluation after fine-tuning, because it can make a network forget.
# 4. LoRA starts with B = 0, trains r (in + out) parameters, and is merged at the end. QLoRA also keeps W in 4 bits.
# 5. In a hook, detach and clone; afterwards, remove the hook, even when something raises.
# 6. A value that a forward hook returns, unless None, replaces the result.
# 7. Patch an activation from another run to find out which part carries a difference.
# 8. Ablate a channel or occlude a patch to measure what a score depends on.
# 9. An attribution must change when the weights are randomized, or it doesn't explain the network.
# 10. Grad-CAM adds up a layer's maps, weighted by the mean gradient of the score.
#
# ## You try
# In [the exercises](../exercises/21_features_and_visualization.ipynb) you predict what a hook holds, fix a hook that stops training, and
# measure four ways to teach the network new digits. For `mytorch` you write `features`, LoRA, saliency and Grad-CAM, and from the
# optional end PCA and the events of TensorBoard. [Chapter 22](22_mixed_precision.ipynb), about half precision, is next.

# %% [markdown]
# ## If you have time
# ### Grad-CAM: which digit is the evidence for?
# Here is an image with two digits. Move the 4, and choose which class the heat is evidence for:

# %% tags=["proof-Grad-CAM"]


def explained(digit, column):
    image = mytorch.zeros(1, 3, 48, 80)
    for number, left in ((3, 0), (4, column)):
        image[:, :, 12:36, left : left + 24] = mine.digit_images(digits.images[digits.target == number][-1:], 24)
    heat = mytorch.utils.grad_cam(reader, "layer3", image, mytorch.tensor([digit]))[0].numpy()
    return image[0, 0].numpy(), heat


def overlay(digit, column):
    image, heat = explained(digit, column)
    panel = pictures.axes(5, 3.2)
    panel.imshow(image, cmap="gray_r")
    panel.imshow(heat, cmap="YlOrRd", alpha=0.75 * heat / heat.max(), extent=(-0.5, 79.5, 47.5, -0.5))
    panel.set(xlabel="column (pixels)", ylabel="row (pixels)", title=f"evidence for a {digit}")
    return pictures.publish(panel, f"A 3 on the left, a 4 from column {column} on; the heat is at the {digit}.")


for digit in (3, 4):
    _, heat = explained(digit, 52)
    print(f"for a {digit}, the left two fifths have {heat[:, :2].sum() / heat.sum():.1f} of the heat")
pictures.slider(overlay, start={"digit": 4, "column": 52}, digit=[3, 4], column=[28, 36, 44, 52])

# %% [markdown]
# The network was trained on one digit per image and was never given positions, yet the heat is at the right digit. Each block is one
# position of `layer3`'s maps. It may be hot although the paper below it is blank, because its *receptive field*, the pixels that it
# depends on, is far larger than the block ([chapter 11](11_convolution.ipynb)).
#
# ### Integrated gradients
# **Integrated gradients** stays with derivatives but averages them on the way from a blank image to this one. Multiplied by the pixels, the
# averages add up to the difference of the two scores.

# %% tags=["proof-integrated"]
network = resnet18(weights="DEFAULT").eval()
path = ((torch.arange(64) + 0.5) / 64).reshape(-1, 1, 1, 1) * a_three  # 64 images, from blank to the 3
path.requires_grad_()
(gradients,) = torch.autograd.grad(network(path)[:, 3].sum(), path)
integrated = (a_three * gradients.mean(0))[0].sum(0)
with torch.no_grad():
    difference = (network(a_three) - network(torch.zeros_like(a_three)))[0, 3].item()
print(f"integrated gradients add up to {integrated.sum().item():.1f}; the scores differ by {difference:.1f}")
maps = {"the 3": a_three[0, 0].numpy(), "integrated gradients": integrated.numpy().clip(0)}
side_by_side(maps, "A 3; integrated gradients mark strokes of it.")

# %% [markdown]
# The map marks strokes of the digit. It still depends on the *baseline*, the image from which the way starts.
#
# ### Filters and feature maps
# A **filter** of the first layer can be looked at directly, because its weights form a small image. The upper row has the eight filters,
# and the lower row has the **feature map** that each of them makes of the 3. (The input's three channels are equal, so only the sum of a
# filter's channels matters.)

# %% tags=["proof-filters"]
titles = [f"{kind} {number}" for kind in ("filter", "map") for number in range(8)]
pictures.images([*network.conv1.weight.sum(1).detach().numpy(), *expected["conv1"][0].numpy()], titles, columns=8)

# %% [markdown]
# The filters look like noise rather than the edge detectors in textbooks, which come from long training on photographs. Their maps are
# easier to read: they show strokes and outlines. In deeper layers a filter has as many channels as the layer before it has maps, so its
# weights no longer form a picture, and you look at its maps instead.

# %% [markdown]
# ### Embeddings, PCA and t-SNE
# Average each map of a layer over its positions, and you get one vector per image, its features or **embedding**. Take 250 digits from 5
# to 9, which the network has never seen, and their 16 features of `layer2`. Embeddings are usually compared by **cosine similarity**, which
# ignores their lengths. How often is the nearest neighbour the same digit, before and after a projection to two dimensions?

# %% tags=["proof-projections"]
from sklearn.manifold import TSNE

unknown = np.flatnonzero(digits.target >= 5)[:250]
with torch.no_grad(), mytorch.utils.features(network, ["layer2"]) as outputs:
    network(draw(digits.images[unknown]))
vectors, labels = outputs["layer2"].mean((2, 3)).numpy(), digits.target[unknown]
directions, variances = mytorch.utils.pca(mytorch.tensor(vectors), 2)
flat = {"PCA": (vectors - vectors.mean(0)) @ directions.numpy().T}
flat["t-SNE"] = TSNE(random_state=0).fit_transform(vectors)
compared = {"all 16": vectors, "all 16, by cosine": vectors / np.linalg.norm(vectors, axis=1, keepdims=True), **flat}
for name, points in compared.items():
    distances = np.square(points[:, None] - points).sum(2) + np.diag(np.full(250, np.inf))
    print(f"{name:17} the nearest neighbour is the same digit: {np.mean(labels[distances.argmin(1)] == labels):.1f}")
print(f"PCA's two directions have {variances.sum().item() / vectors.var(0, ddof=1).sum():.1f} of the variance")


def clouds(sets, labels, names, alt):
    """Scatter plots beside each other; the labels are the markers."""
    for (title, points), panel in zip(sets.items(), pictures.panels(1, len(sets), 7.5, 3.6), strict=True):
        for label in names:
            panel.scatter(*points[labels == label].T, s=35, marker=f"${label}$")
        panel.set(title=title, xlabel="first direction", ylabel="second direction")
        if title == "t-SNE":
            panel.set(xticks=[], yticks=[], xlabel="no unit, no direction", ylabel="")
    return pictures.publish(panel, alt)


clouds(flat, labels, range(5, 10), "The digits 5 to 9: clouds that overlap under PCA, and islands under t-SNE.")

# %% [markdown]
# PCA finds the directions of largest variance. It is a projection, so a distance in the picture is at most the real one, and whatever
# differs in the other 14 directions is lost. (*Whitening*, which divides each axis by its standard deviation, can lengthen distances.)
#
# t-SNE moves the points until neighbours are neighbours again. Its axes have neither a unit nor a direction, so the picture has no numbers
# beside them. What does that cost?
#
# #### Do t-SNE's distances and cluster sizes mean something?
# A common myth says that they do. To refute it, take three clusters in ten dimensions, of which B is ten times as wide as A, and C is far
# away from both.

# %% tags=["proof-t-SNE"]
clusters = np.random.default_rng(0).normal(size=(3, 60, 10)) * [[[1]], [[10]], [[1]]] + [[[0]], [[200]], [[3000]]]
after = TSNE(random_state=0).fit_transform(clusters.reshape(180, 10)).reshape(3, 60, 2)
for name, points in {"before": clusters, "after": after}.items():
    gaps = np.linalg.norm(np.diff(points.mean(1), axis=0), axis=1)
    widths = (points - points.mean(1, keepdims=True)).std((1, 2))
    print(f"{name:6} widths B : A {widths[1] / widths[0]:4.1f}, distances BC : AB {gaps[1] / gaps[0]:4.1f}")
sets = {"two of the ten dimensions": clusters[..., :2].reshape(-1, 2), "t-SNE": after.reshape(-1, 2)}
clouds(sets, np.repeat([*"ABC"], 60), "ABC", "After t-SNE, the three clouds have about one size.")

# %% [markdown]
# **Interview · t-SNE or PCA?**
#
# - *Thirty seconds:* PCA is linear: new points can be projected too, each axis has a variance, and no distance grows. t-SNE shows which
#   points are neighbours, and only that. Its axes mean nothing, and neither do the sizes of clusters and the gaps between them.
# - *Longer:* Exact PCA gives the same axes in every run, up to sign, if the variances are distinct. Randomized solvers, such as
#   `torch.pca_lowrank`, may not if two variances are close. t-SNE depends on its seed and perplexity; with hundreds of dimensions, run PCA
#   first.
# - *They ask next:* How do you show that classes are separable? Train a linear probe, or count same-class neighbours, before you project.
# - *The trap:* People read sizes and distances off a t-SNE picture as if it were a map.
# - *Proof:* `proof-projections`, [t-SNE](proof-t-SNE).

# %% [markdown]
# ### What TensorBoard reads
# TensorBoard draws curves from **event files**, and writing one doesn't need TensorFlow. A file is a sequence of records, each with a
# length, a checksum of the length, the data, and a checksum of the data. The data is a protocol buffer message ([chapter
# 20b](20b_export.ipynb)).

# %% [markdown] given="mytorch.utils.tensorboard:crc32c mytorch.utils.tensorboard:record"
# CRC-32C is the remainder of a division of polynomials over bits, computed a byte at a time with a table of 256 remainders:

# %% tags=["proof-events"]
import tempfile

with tempfile.TemporaryDirectory() as folder, mytorch.utils.tensorboard.EventWriter(folder) as writer:
    writer.add_scalar("loss", 0.5, 0, wall_time=0.0)
    writer.add_scalar("loss", 0.25, 300, wall_time=0.0)
    data = np.fromfile(writer.file.name, "u1").tobytes()
while data:
    length = int.from_bytes(data[:8], "little")
    print(f"{length} bytes, after the time:", data[21 : 12 + length])
    data = data[16 + length :]
for text in (b"123456789", b"123456788"):
    print(f"checksum of {text}: {mytorch.utils.tensorboard.crc32c(text):08x}")

# %% [markdown]
# The first record gives the version, while the others show the step (`\x10`), the tag `loss`, and four bytes of float32: `\x00\x00\x00?`
# is 0.5. The command `tensorboard --logdir FOLDER` draws them, and in exercise 6 you write the functions that make these bytes.
#
# **Interview · What is in a TensorBoard file?**
#
# - *Thirty seconds:* A sequence of records with checksums, each of which has one event: time, step, and a summary with tags and values. The
#   file is only appended to, so a killed run keeps what it wrote.
# - *They ask next:* Why checksums? A reader that follows a growing file must tell a half-written record from a whole one.
# - *The trap:* If two runs write into one folder, they are drawn as one zigzag line.
# - *Proof:* `proof-events`.
#
# ### A loss that ignores the labels
# You may have seen this program in a tutorial: ResNet-18, a forward pass, `loss = (prediction - labels).sum()`, `loss.backward()`. Run it
# twice, with labels that have nothing in common:


# %% tags=["proof-labels"]
def gradients_with(labels):
    torch.manual_seed(0)
    model = resnet18(num_classes=10, width=8)
    (model(torch.rand(2, 3, 64, 64)) - labels).sum().backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


one, other = gradients_with(torch.zeros(2, 10)), gradients_with(torch.full((2, 10), 1000.0))
print(f"of {one.numel():,} entries of the gradient, {(one != other).sum().item()} depend on the labels")

# %% [markdown]
# #### Myth · "`(prediction - labels).sum()` is a loss"
# The derivative of that sum with respect to each prediction is 1, whatever the label. Train a linear model with it, and watch the mean
# squared error as well:

# %% tags=["proof-falls-forever"]
torch.manual_seed(0)
x, line, history = torch.rand(20, 3), nn.Linear(3, 1), {"the sum": [], "mean squared error": []}
y, optimizer = x.sum(1, keepdim=True), torch.optim.SGD(line.parameters(), lr=0.01)
for _ in range(50):
    optimizer.zero_grad()
    errors = line(x) - y
    errors.sum().backward()
    optimizer.step()
    history["the sum"].append(errors.sum().item())
    history["mean squared error"].append(errors.square().mean().item())
for name, values in history.items():
    print(f"{name}: from {values[0]:.0f} to {values[-1]:.0f}")

# %% [markdown]
# The "loss" falls without end because the predictions do, whereas a real loss has its minimum where the prediction is right.
#
# #### Myth · "`backward` adjusts the parameters"

# %% tags=["proof-who-moves-weights"]
before = line.weight.clone()
optimizer.zero_grad()
nn.functional.mse_loss(line(x), y).backward()
print(f"moved by backward: {(line.weight - before).abs().max().item():.1f}", end=", ")
optimizer.step()
print(f"by the step: {(line.weight - before).abs().max().item():.1f}")

# %% [markdown]
# **Interview · What does `loss.backward()` change?**
#
# - *Thirty seconds:* It adds gradients to the `.grad` of the leaves. No parameter moves: that is the work of `optimizer.step()`.
# - *Longer:* It also frees the tensors that the graph has saved. Batch norm's running statistics have changed earlier, in the forward pass.
# - *They ask next:* What must a loss satisfy to teach anything? For one thing, its gradient has to depend on the labels.
# - *The trap:* A loss that falls needn't teach anything: `(prediction - labels).sum()` falls forever.
# - *Proof:* `proof-who-moves-weights`, `proof-labels`, `proof-falls-forever`; running statistics: `proof-freezing`.
#
# #### Myth · "`resnet18(weight=…)` loads trained weights"
# The keyword is `weights`, and a wrong one raises an error, as does a number of classes that the weights don't have:

# %% tags=["proof-wrong-keyword"]
from course import check

print(repr(check.error(resnet18, weight=ResNet18_Weights.DEFAULT)))
print(repr(check.error(resnet18, weights="DEFAULT", num_classes=10)))
about = ResNet18_Weights.DEFAULT.meta
print(about["categories"], f"{about['num_params']:,} parameters, {about['acc@1']} % right")

# %% [markdown]
# torchvision raises the same two errors, except that it expects 1000 classes, since its weights are for ImageNet.
