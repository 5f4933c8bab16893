# %% [markdown]
# # Features, transfer and pictures
# After this chapter you can look inside a trained network, ask it which pixels a score depends on, and teach it new
# classes by training a fraction of its numbers. Your library gets the tools for that, and writes files that TensorBoard
# draws.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(21)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A loss that ignores the labels
# You may have seen this program: ResNet-18, a forward pass, `loss = (prediction - labels).sum()`, `loss.backward()`. Run it
# twice, with labels that have nothing in common:

# %% tags=["proof-labels"]
import minitorch as torch
from course import check, pictures
from minitorch import nn
from minitorch.models import ResNet18_Weights, resnet, resnet18


def gradients(labels):
    torch.manual_seed(0)
    model = resnet18(num_classes=10, width=8)
    (model(torch.rand(2, 3, 64, 64)) - labels).sum().backward()
    return torch.cat([each.grad.flatten() for each in model.parameters()])


one, other = gradients(torch.zeros(2, 10)), gradients(torch.full((2, 10), 1000.0))
print(f"of {one.numel():,} numbers in the gradient, {(one != other).sum().item()} depend on the labels")

# %% [markdown]
# ### Myth 17 · "`(prediction - labels).sum()` is a loss"
# The derivative of that sum with respect to each prediction is 1, whatever the label. Train a linear model with it, and
# watch the mean squared error as well:

# %% tags=["proof-myth-17"]
torch.manual_seed(0)
x, line, found = torch.rand(20, 3), nn.Linear(3, 1), {"the sum": [], "mean squared error": []}
y, optimizer = x.sum(1, keepdim=True), torch.optim.SGD(line.parameters(), lr=0.01)
for _ in range(50):
    optimizer.zero_grad()
    errors = line(x) - y
    errors.sum().backward()
    optimizer.step()
    found["the sum"].append(errors.sum().item())
    found["mean squared error"].append(errors.square().mean().item())
print({name: f"from {values[0]:.0f} to {values[-1]:.0f}" for name, values in found.items()})
pictures.curves(found, xlabel="step", ylabel="sum, and squared error")

# %% [markdown]
# What looks like a loss falls without end, because the predictions fall without end. A loss has to be smallest where the
# prediction is right.
#
# ### Myth 16 · "`backward` adjusts the parameters"

# %% tags=["proof-myth-16"]
before = line.weight.clone()
optimizer.zero_grad()
nn.functional.mse_loss(line(x), y).backward()
print(f"moved by backward: {(line.weight - before).abs().max().item():.1f}", end=", ")
optimizer.step()
print(f"by the step: {(line.weight - before).abs().max().item():.1f}")

# %% [markdown]
# **Interview · What does `loss.backward()` change?**
#
# - *Thirty seconds:* It adds to the `.grad` of leaves. No parameter moves: that is the work of `optimizer.step()`.
# - *Longer:* It also frees the tensors that the graph has saved. Batch norm's running statistics have changed before, in
#   the forward pass.
# - *They ask next:* What must a loss satisfy for that to teach anything? Its gradient has to depend on the labels.
# - *The trap:* `(prediction - labels).sum()`: it runs, it falls, and it learns nothing.
# - *Proof:* `proof-myth-16`, `proof-labels`, `proof-myth-17`; running statistics: `proof-freezing`.
#
# ### Myth 7 · "`resnet18(weight=…)` loads trained weights"
# The keyword is `weights`, and a wrong one raises:

# %% tags=["proof-myth-7"]
print(repr(check.error(resnet18, weight=ResNet18_Weights.DEFAULT)))
print(repr(check.error(resnet18, weights="DEFAULT", num_classes=10)))
network, about = resnet18(weights="DEFAULT").eval(), ResNet18_Weights.DEFAULT.meta
print(about["categories"], f"{about['num_params']:,} numbers, {about['acc@1']} % right")

# %% [markdown] tags=["short"]
# torchvision raises the same two errors, where 1000 classes are expected, since its weights are for ImageNet. Ours belong to
# a ResNet-18 of an eighth of the width that has learned to read the handwritten digits 0 to 4, anywhere in an image. It has
# never seen a 5.
#
# ## A hook shows what is inside
# What does the second stage of the network make of a digit? You could cut the model open. A **hook** needs no change: it
# is a function that a module calls after each forward pass ([chapter 9](09_modules_and_parameters.ipynb)).

# %% tags=["proof-hook"]
import numpy as np
from sklearn.datasets import load_digits

digits, draw, kept = load_digits(), ResNet18_Weights.DEFAULT.transforms(), []
three = draw(digits.images[digits.target == 3][-1:])
handle = network.layer2.register_forward_hook(lambda module, args, result: kept.append(result))
network(three)
print(f"{tuple(three.shape)} became {tuple(kept[0].shape)}")

# %% [markdown]
# ### Break it
# Nobody removed the hook, so it goes on whenever the network is used:

# %% tags=["proof-leak"]
for _ in range(3):
    network(three)
print(f"results kept: {len(kept)}, with a graph: {sum(each.grad_fn is not None for each in kept)}")
handle.remove()

# %% [markdown]
# Each result holds its graph, with what the backward pass would need, so the memory of four forward passes is kept. And
# what you kept isn't a copy: a layer that later writes into the result writes into it too, as exercise 1 shows. So a good tool
# detaches, copies, and takes its hooks away, even when something raises. You write it in exercise 2: `features(model, names)`. It needs
# only `get_submodule` and `register_forward_hook`, so it works on minitorch's models as well.
#
# A hook may also return something. Let one set a channel of `layer2` to 0, and compare the scores of the 3:


# %% tags=["proof-replace"]
mask = (torch.arange(16) != 5).reshape(16, 1, 1)  # channel 5 is left out
handle = network.layer2.register_forward_hook(lambda module, args, result: result * mask)
silenced = network(three)[0, 3].item()
handle.remove()
print(f"score {network(three)[0, 3].item():.1f}, without channel 5 {silenced:.1f}")

# %% [markdown]
# **Interview · How do you get an inner activation without touching the model?**
#
# - *Thirty seconds:* `register_forward_hook` on the module, keep `result.detach().clone()`, and `handle.remove()` at the end.
# - *Longer:* Names come from `named_modules`, the module from `get_submodule("layer2.1.conv2")`. If you only want the
#   features before the head, set `model.fc = nn.Identity()`.
# - *They ask next:* Which calls does a hook miss? Functions such as `F.relu`, and `model.forward(x)`, which goes around it.
# - *The trap:* A module that is used twice, as ResNet's `relu` is: a dict keeps its last result.
# - *Proof:* `proof-hook`, `proof-rapid-fire`.
#
# **Interview · What may a forward hook return?**
#
# - *Thirty seconds:* None, and nothing changes; anything else takes the place of the module's result.
# - *Longer:* So you can silence a channel, add noise, or put in another network's activation.
# - *They ask next:* And a hook on a tensor? It may replace the gradient ([chapter 07b](07b_vector_jacobian_products.ipynb)).
# - *The trap:* A lambda always returns something. `kept.append(…)` gives None, other calls don't.
# - *Proof:* `proof-replace`.
#
# **Interview · What leaks when hooks stay?**
#
# - *Thirty seconds:* Memory and time. The hook runs in each forward pass, and if it keeps results that aren't detached, it
#   keeps their graphs.
# - *Longer:* Use a context manager with `finally`, so that an exception takes the hooks away as well.
# - *They ask next:* Are hooks saved in a state dict? No, it holds parameters and buffers.
# - *The trap:* Running a notebook's cell again, which registers a second hook.
# - *Proof:* `proof-leak`, `proof-rapid-fire`.
#
# ## Milestone: ResNet-18 on your library
# `minitorch/models/resnet.py` runs on `mytorch`, unchanged but for its imports, and loads the same file with your `load`.
# Are the features the same?

# %% tags=["proof-milestone"]
import inspect

program = {"__name__": "resnet_on_mytorch", "__file__": resnet.__file__}
exec(inspect.getsource(resnet).replace("minitorch", "mytorch"), program)
mine, names = program["resnet18"](weights="DEFAULT").eval(), ["conv1", "layer1", "layer3", "layer4"]
with mytorch.utils.features(mine, names) as found, mytorch.utils.features(network, names) as expected:
    mine(mytorch.tensor(three.tolist())), network(three)
for name in names:
    furthest = np.abs(found[name].numpy() - expected[name].numpy()).max()
    print(
        f"{name:7} {tuple(found[name].shape)!s:16} up to {expected[name].max().item():.1f}, differs by {furthest:.3f}"
    )

# %% [markdown]
# You can look at a **filter** of the first layer directly, since its weights form a small image. Above are the eight
# filters, below the **feature map** that each makes of the 3. (The input's three channels are equal, so a filter counts
# only by the sum of its three.)

# %% tags=["proof-filters"]
titles = [f"{kind} {number}" for kind in ("filter", "map") for number in range(8)]
pictures.images([*network.conv1.weight.sum(1).detach().numpy(), *expected["conv1"][0].numpy()], titles, columns=8)

# %% [markdown]
# The filters look like noise, not like the edges in textbooks, which take long training on photographs. Their maps are
# easier to read: strokes and outlines, each in its own way. In deeper layers a filter has as many channels as the layer
# before has maps, so its weights are no picture any more. Look at its maps instead.
#
# ## Which pixels does a score depend on?
# The network is differentiable, so ask: by how much does the score change when a pixel changes? That gradient, as an
# absolute value, is a **saliency map**. It looks convincing. So does `edges` below, which doesn't look at the network at all.
# Now randomize the weights from the head down to some layer, and compare the maps with those from before (by rank
# correlation, which is 1 if the pixels are in the same order):

# %% tags=["proof-sanity"]
from scipy.stats import spearmanr

some = np.flatnonzero(digits.target < 5)[-30:]
images, classes = program["digit_images"](digits.images[some]), mytorch.tensor(digits.target[some])


def edges(model, images, classes):
    return (images[:, 0, :, 3:] - images[:, 0, :, :-3]).abs()


maps = {each: each(mine, images, classes) for each in (mytorch.utils.saliency, edges)}
mytorch.manual_seed(0)
scrambled = program["resnet18"](weights="DEFAULT").eval()
for part in ("fc", "layer4", "layer3", "layer2"):
    for module in scrambled.get_submodule(part).modules():
        getattr(module, "reset_parameters", int)()  # what has no parameters calls int
    now = {each: each(scrambled, images, classes).flatten() for each in maps}
    print(f"{part:6}", *(f"{each.__name__} {spearmanr(now[each], maps[each].flatten())[0]:.1f}" for each in maps))
pictures.images([images[0, 0], *(each[0] for each in maps.values())], ["digit", "saliency", "edges"])

# %% [markdown] tags=["short"]
# An explanation of the network must change when the network does. The edges don't. The saliency map does, but a rank
# correlation of 0.5 is left when nearly all weights are random.
#
# **Interview · Is a saliency map an explanation?**
#
# - *Thirty seconds:* It is a derivative: what an infinitesimal change of each pixel does. That isn't what the decision
#   rests on, and it is noisy.
# - *Longer:* Test any attribution: randomize the weights, layer by layer, and the map has to change.
# - *They ask next:* What is better? Grad-CAM for where; for how much, take out a channel or cover a patch.
# - *The trap:* Judging by eye. An edge detector looks like an explanation.
# - *Proof:* `proof-sanity`; taking out: `proof-replace`.
#
# ### Grad-CAM
# The maps of a deep layer still have places. **Grad-CAM** weights each map by the mean gradient of the score with respect to
# it, adds them up, and keeps what is positive: which places speak for this class? You write it in exercise 4. Here is an
# image with two digits. Move the 4, and choose which class to ask for:


# %% tags=["proof-grad-cam"]
def explained(asked, column):
    image = mytorch.zeros(1, 3, 48, 80)
    for number, left in ((3, 0), (4, column)):
        image[:, :, 12:36, left : left + 24] = program["digit_images"](digits.images[digits.target == number][-1:], 24)
    return image[0, 0].numpy(), mytorch.utils.grad_cam(mine, "layer3", image, mytorch.tensor([asked]))[0].numpy()


def overlay(asked, column):
    (image, heat), panel = explained(asked, column), pictures.axes(5, 3.2)
    panel.imshow(image, cmap="gray_r")
    panel.imshow(heat, cmap="YlOrRd", alpha=0.75 * heat / heat.max(), extent=(-0.5, 79.5, 47.5, -0.5))
    panel.set(xlabel="column (pixels)", ylabel="row (pixels)", title=f"what speaks for a {asked}")
    return pictures.publish(panel, f"A 3 on the left, a 4 from column {column} on; the heat is at the {asked}.")


for asked, (_, heat) in {asked: explained(asked, 52) for asked in (3, 4)}.items():
    print(f"asked for a {asked}, the left two fifths have {heat[:, :2].sum() / heat.sum():.1f} of the heat")
pictures.slider(overlay, start={"asked": 4, "column": 52}, asked=[3, 4], column=[28, 36, 44, 52])

# %% [markdown]
# Each block is one place of the maps of `layer3`. The network was trained on one digit an image, and was never told where
# it is.
#
# ## A cloud of features · PCA and t-SNE
# The means of a layer's maps are a vector for each image, its **features**. Take 250 digits from 5 to 9, which the network
# doesn't know, and look at the features of `layer2`, 16 numbers each, in two dimensions:

# %% tags=["proof-projections"]
from sklearn.manifold import TSNE

unknown = np.flatnonzero(digits.target >= 5)[:250]
with torch.no_grad(), mytorch.utils.features(network, ["layer2"]) as found:
    network(draw(digits.images[unknown]))
vectors, labels = found["layer2"].mean((2, 3)).numpy(), digits.target[unknown]
directions, variances = mytorch.utils.pca(mytorch.tensor(vectors), 2)
flat = {"PCA": vectors @ directions.numpy().T, "t-SNE": TSNE(random_state=0).fit_transform(vectors)}
for name, points in {"all 16": vectors, **flat}.items():
    distances = np.square(points[:, None] - points).sum(2) + np.diag(np.full(250, np.inf))
    print(f"{name:6} the nearest neighbour is the same digit: {np.mean(labels[distances.argmin(1)] == labels):.1f}")
print(f"PCA's two directions have {variances.sum().item() / vectors.var(0, ddof=1).sum():.1f} of the variance")
(panel := pictures.axes()).set(xlabel="first direction of PCA", ylabel="second direction")
for digit in range(5, 10):
    panel.scatter(*flat["PCA"][labels == digit].T, s=25, marker=f"${digit}$")
pictures.publish(panel, "Features of the digits 5 to 9 along two directions: five clouds that overlap.")

# %% [markdown]
# PCA finds the directions of the largest variance. It is a projection, so a distance in the picture is at most the real
# one, and what differs in the other 14 directions is gone. t-SNE moves the points until neighbours are neighbours again. What
# does that cost?
#
# ### Myth · "t-SNE's distances and cluster sizes mean something"
# Here are three clusters in ten dimensions. The second is ten times as wide, and the third is far away:

# %% tags=["proof-tsne"]
clusters = np.random.default_rng(0).normal(size=(3, 60, 10)) * [[[1]], [[10]], [[1]]] + [[[0]], [[200]], [[3000]]]
after = TSNE(random_state=0).fit_transform(clusters.reshape(180, 10)).reshape(3, 60, 2)
for name, points in {"before": clusters, "after": after}.items():
    gaps = np.linalg.norm(np.diff(points.mean(1), axis=0), axis=1)
    widths = (points - points.mean(1, keepdims=True)).std((1, 2))
    print(
        f"{name:6} width {widths[1] / widths[0]:4.1f} times the first's, gap {gaps[1] / gaps[0]:4.1f} times the first"
    )

# %% [markdown]
# **Interview · t-SNE or PCA?**
#
# - *Thirty seconds:* PCA is linear and gives the same axes in each run but for their signs. New points can be projected too, and
#   each axis has a variance. t-SNE shows which points are neighbours, and only that.
# - *Longer:* t-SNE matches each point's neighbours within a width that adapts to the density, so sizes come out equal. Run PCA
#   first if there are hundreds of dimensions.
# - *They ask next:* How do you show that classes are apart? Train a linear probe, or count same-class neighbours, before you project.
# - *The trap:* Reading sizes and distances off a t-SNE picture.
# - *Proof:* `proof-projections`, `proof-tsne`.
#
# ## New classes from few digits
# Now teach the network the digits 5 to 9, from 100 images, each drawn at a random place. Three ways: the whole network from
# random weights; a new head on frozen features, which is called a **linear probe**; and the whole network from its trained
# weights, **fine-tuning**.

# %% tags=["proof-transfer"]
order = np.random.default_rng(0).permutation(np.flatnonzero(digits.target >= 5))


def somewhere(rows, rng):
    return draw(digits.images[rows], 40, rng.integers(0, 17, (len(rows), 2))), torch.tensor(digits.target[rows] - 5)


def teach(name, model, lr):
    torch.manual_seed(0)
    model.fc, generator, losses = nn.Linear(64, 5), np.random.default_rng(0), []
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=60)
    for _ in range(60):
        x, y = somewhere(generator.permutation(order[:100])[:25], generator)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    x, y = somewhere(order[496:], np.random.default_rng(1))
    right = round(5 * (model.eval()(x).argmax(1) == y).float().mean().item()) / 5
    print(
        f"{name:12} {sum(each.numel() for each in trained):7,} numbers trained, about {right:.1f} of 400 digits right"
    )
    return np.convolve(losses, np.ones(5) / 5, "valid")


ways = {"from scratch": resnet18(num_classes=5, width=8), "fine-tuned": resnet18(weights="DEFAULT")}
ways["probe"] = resnet18(weights="DEFAULT").eval().requires_grad_(False)
histories = {name: teach(name, model, 0.03 if name == "probe" else 0.003) for name, model in ways.items()}
pictures.curves(histories, xlabel="step", ylabel="loss, mean of 5 (nats)", alt="The fine-tuned loss falls fastest.")

# %% [markdown]
# The shares are rounded to fifths. The probe shows what the features already know: with 325 numbers it reads about as much as
# the whole network trained from random weights. Fine-tuning starts from these features and changes them where they don't fit. Between the two
# are many ways; exercise 8 measures four of them.
#
# ### Myth · "Freezing is `eval()`"
# One step of SGD on a network that is "frozen" in one way or the other:

# %% tags=["proof-freezing"]
for name, model in {each: resnet18(weights="DEFAULT") for each in ("eval()", "requires_grad_(False)")}.items():
    model.eval() if name == "eval()" else model.requires_grad_(False).fc.requires_grad_()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model(three.repeat(2, 1, 1, 1)).square().mean().backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    changed = {key for key, value in model.state_dict().items() if not torch.equal(value, before[key])}
    parameters = changed & {key for key, _ in model.named_parameters()}
    print(f"{name:21} {len(parameters)} parameters and {len(changed - parameters)} buffers changed")

# %% [markdown] tags=["short"]
# `eval()` stops the running statistics of batch norm and no parameter. `requires_grad_(False)` stops the parameters, here all but
# the two of the head, and not the statistics. A frozen network needs both.
#
# **Interview · You fine-tune on 500 images: what do you freeze, which learning rates, what of batch norm?**
#
# - *Thirty seconds:* First a probe, as a baseline. Then unfreeze from the top, with a small rate for what is trained and
#   a larger one for the new head, and validate as you go.
# - *Longer:* Two rates are two parameter groups ([chapter 16](16_losses_and_optimizers.ipynb)). With small batches keep batch
#   norm in evaluation mode, as [chapter 12](12_norm_dropout_and_modes.ipynb) shows, or its statistics drift.
# - *They ask next:* How do you know the trained weights help? Train the same from scratch.
# - *The trap:* `model.train()` at the start of each epoch: it sets the frozen batch norms to training mode again.
# - *Proof:* `proof-transfer`, `proof-freezing`; loading: `proof-myth-7`.
#
# ### LoRA
# Fine-tuning keeps a copy of all weights for each task. **LoRA** freezes a layer's weight $W$ and trains a sum beside it,
# $\frac{\alpha}{r} B A$, where $A$ is $r \times \text{in}$ and $B$ is $\text{out} \times r$. You write it in exercise 3.

# %% tags=["proof-lora"]
mytorch.manual_seed(0)
base, x = mytorch.nn.Linear(64, 32), mytorch.randn(8, 64)
adapted = mytorch.nn.LoRALinear(base, r=4, alpha=8)
print(f"at the start it differs by {(adapted(x) - base(x)).abs().max().item():.0f}")
adapted(x).square().sum().backward()
slopes = [adapted.lora_A.grad, adapted.lora_B.grad]
print("entries of the gradient that aren't 0, of A and of B:", *((each != 0).sum().item() for each in slopes))
adapted.lora_B.data -= 0.01 * slopes[1]
furthest = [(adapted(x) - other(x)).abs().max().item() for other in (base, adapted.merge())]
print(f"after a step it differs from the base by {furthest[0]:.1f}, and from its merged layer by {furthest[1]:.3f}")

# %% [markdown]
# **Interview · LoRA: why does B start at 0, what does alpha / r do, and what does it cost at inference?**
#
# - *Thirty seconds:* With $B = 0$ training starts from exactly the trained model. $\alpha / r$ is meant to keep the size of the update
#   when you change $r$, so that the rate needn't be tuned again. Merged into $W$, it costs nothing.
# - *Longer:* It trains $r (\text{in} + \text{out})$ numbers, and the optimizer's state shrinks likewise. Unmerged it is two
#   thin products, and adapters can be swapped.
# - *They ask next:* Why not $A = B = 0$? Each one's gradient has the other as a factor, so both would stay 0.
# - *The trap:* Expecting the backward pass to be nearly free. Gradients still pass through the frozen layers.
# - *Proof:* `proof-lora`, `proof-rapid-fire`.
#
# ## What TensorBoard reads
# TensorBoard draws curves from **event files**, and nothing in them needs TensorFlow. A file is a sequence of records; a record is a length,
# a checksum of it, the data, and a checksum of that. The data is a message in the format of protocol buffers.

# %% [markdown] given="mytorch.utils.tensorboard:crc32c mytorch.utils.tensorboard:record"
# CRC-32C is the remainder of a division of polynomials over bits, taken a byte at a time with a table of 256 remainders:

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
# The first record says the version. In the others you see the step (`\x10`), the tag `loss`, and four bytes of float32: `\x00\x00\x00?` is 0.5.
# `tensorboard --logdir FOLDER` draws it. You write what makes these bytes in exercise 6.
#
# **Interview · What is in a TensorBoard file?**
#
# - *Thirty seconds:* Records with checksums, each with one event: time, step, and a summary with tags and values. It is appended to, so a
#   killed run keeps what it wrote.
# - *Longer:* Scalars are floats, images are PNG files, histograms are bucket counts. A run is a folder, so two runs in one
#   folder are drawn as one zigzag.
# - *They ask next:* Why checksums? A reader that follows a growing file must tell a half-written record from a whole one.
# - *The trap:* `add_scalar("loss", loss)` without a step.
# - *Proof:* `proof-events`.
#
# ## The real one
# This is minitorch's method that registers a hook:

# %%
print(inspect.getsource(nn.Module.register_forward_hook))

# %% [markdown] tags=["short"]
# PyTorch's has the same options: keyword arguments for the hook, a hook that runs even when `forward` raises, and a place before
# the others.
#
# ## Rapid fire
# 1. A hook stores what ResNet's `relu` returns under its name. What is left? The last of two calls in a block.
# 2. Does `model.forward(x)` run the model's own hooks? No.
# 3. Are hooks in the state dict? No.
# 4. What does a ResNet return with `fc = nn.Identity()`? The features before `fc`, here 64.
# 5. LoRA with `r = 4` on a 4,096 × 4,096 layer: how many numbers? 32,768, or 0.2 %.

# %% tags=["proof-rapid-fire"]
calls = []
network.layer1[0].relu.register_forward_hook(lambda *about: calls.append("relu"))
network.register_forward_hook(lambda *about: calls.append("network"))
network.forward(three)
print("1.", calls.count("relu"), " 2.", calls.count("network"))
print("3.", len(network.state_dict()) - len(mine.state_dict()), "more entries than without hooks")
network.fc = nn.Identity()
print("4.", tuple(network(three).shape), f" 5. {4 * (4096 + 4096):,}, {4 * (4096 + 4096) / 4096**2:.1%}")

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A loss must be smallest where the prediction is right; `backward` fills `.grad`, `step` moves.
# 2. `weights=`, not `weight=`; a head with other classes is replaced afterwards.
# 3. In a hook: detach, clone. After it: remove, also when something raises.
# 4. What a forward hook returns, unless None, replaces the result.
# 5. An attribution must change when the weights are randomized.
# 6. Grad-CAM: maps, weighted by the mean slope of the score.
# 7. PCA never lengthens a distance; t-SNE's sizes and gaps mean nothing.
# 8. First a probe, then fine-tuning, and from scratch as a control.
# 9. Freezing takes `requires_grad_(False)` for parameters and `eval()` for batch norm.
# 10. LoRA: B = 0 at the start, r (in + out) numbers, merged at the end.
#
# ## You try
# [The exercises](../exercises/21_features_and_visualization.ipynb): predict what a hook holds; write `features`, LoRA, saliency and Grad-CAM,
# PCA, and the events of TensorBoard for `mytorch`; repair a hook that stops training; and measure four ways to teach the
# network new digits. [Chapter 22](22_mixed_precision.ipynb), about half precision, is next.
