# %% [markdown]
# # Mixed precision
# After this chapter your own library trains in 16 bits: `autocast` chooses a precision for each operation, a
# `GradScaler` keeps small gradients alive, and float32 master weights collect small steps. You'll be able to say what
# each of the three is for, and when you don't need it.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(22)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Right gradients, and nothing moves
# A weight starts at 1, and its gradient is 1 in every step. After 100 steps with a learning rate of 0.001 it should be at
# 0.9. Try it in three types:

# %% tags=["proof-stuck"]
import minitorch as torch
from course import pictures


def path(optimizer, dtype):
    weight, values = torch.ones(1, dtype=dtype, requires_grad=True), []
    moves = getattr(torch.optim, optimizer)([weight], lr=0.001)
    for _ in range(100):
        weight.grad = torch.ones(1, dtype=dtype)
        moves.step()
        values.append(weight.item())
    return values


types = torch.float32, torch.float16, torch.bfloat16
for dtype in types:
    print(f"{dtype!s:14}", {name: f"{path(name, dtype)[-1]:.3f}" for name in ("SGD", "Adam")})

# %% [markdown] tags=["short"]
# In bfloat16 the weight is still at 1. No gradient is wrong and no step was skipped. The step is shorter than half the
# distance to the next bfloat16, so each subtraction rounds back to where it started.
#
# ## What 16 bits can hold
# A floating-point number has a sign, an exponent for its range, and a fraction for its precision. With 16 bits you can buy
# one or the other:

# %% tags=["proof-formats"]
import numpy as np

sizes, gaps = 2.0 ** np.arange(-30, 31), {}
for dtype in types:
    about = torch.finfo(dtype)
    print(f"{dtype!s:14} fraction {-np.log2(about.eps):2.0f} bits, next after 1: 1 + {about.eps:.1e}, ", end="")
    print(f"largest {about.max:.1e}, smallest normal {about.smallest_normal:.1e}")
    gaps[str(dtype)[6:]] = np.where(sizes <= about.max, about.eps * np.maximum(sizes, about.smallest_normal), np.nan)
pictures.curves(gaps, sizes, xlabel="size of a number", ylabel="gap to the next one", log="xy")

# %% [markdown] tags=["short"]
# Gaps grow with the numbers. float16 ends at 65,504 on the right. On the left its gaps stop shrinking at 6 · 10⁻⁸, and
# anything below half of that rounds to 0. bfloat16 goes as far as float32 on both sides, with gaps 65,536 times as wide.
# The next bfloat16 below 1 is 0.9961, so a step of 0.001 goes less than half of the way.
#
# ### The smallest model: cut a float32 in half
# bfloat16 is the upper half of a float32. So here is a conversion in one line of arithmetic on bits:


# %% tags=["proof-bits"]
def truncate(x):
    return (np.float32(x).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


for x in (1.0, 0.999, 3.1415927):
    bits = f"{np.float32(x).view(np.uint32):032b}"
    print(f"{x:<10} {bits[0]} {bits[1:9]} {bits[9:16]} | {bits[16:]} cut {truncate(x):.4f}", end="  ")
    print(f"PyTorch {torch.tensor(x).bfloat16().item():.4f}")

# %% [markdown]
# 1 and π come out right, and 0.999 doesn't: cutting moves towards 0, PyTorch rounds to the nearest. In exercise 5 you
# write that rounding, and a second one that rounds at random so that it is right on average.
#
# **Interview · float16 or bfloat16?**
#
# - *Thirty seconds:* bfloat16 where the hardware has it: it has float32's range, so gradients neither overflow nor vanish
#   and loss scaling isn't needed. float16 has three more bits of precision and a narrow range.
# - *Longer:* 5 exponent and 10 fraction bits against 8 and 7. GPUs before Ampere have no bfloat16 tensor cores.
# - *They ask next:* Where does bfloat16 hurt? In small updates to large numbers: weights, running means, long sums.
# - *The trap:* "Both have 16 bits, so they are equally precise."
# - *Proof:* `proof-formats`, `proof-stuck`.
#
# ## Where small steps add up
# Keep the bfloat16 weight for computing, and beside it a float32 copy. The optimizer moves the copy, and the weight becomes
# the rounded copy. Such copies are called **master weights**. Rounding at random helps in another way: a step of a quarter of a
# gap then moves the weight in one step out of four.


# %% tags=["proof-master"]
weight = mytorch.ones(1, dtype=mytorch.bfloat16, requires_grad=True)
master = mytorch.amp.MasterWeights([weight])
optimizer = mytorch.optim.SGD(master.copies, lr=0.001)
chances = mytorch.ones(10000)
lines = {"bfloat16": path("SGD", torch.bfloat16), "master weights": [], "one, at random": []}
mytorch.manual_seed(0)
for _ in range(100):
    weight.grad = mytorch.ones(1, dtype=mytorch.bfloat16)
    master.step(optimizer)
    chances = mytorch.amp.stochastic_round(chances - 0.001).float()
    lines["master weights"].append(weight.item())
    lines["one, at random"].append(chances[0].item())
print(f"master weights {weight.item():.2f}, mean of 10,000 weights at random {chances.mean().item():.3f}")
pictures.curves(lines, xlabel="step", ylabel="weight")

# %% [markdown]
# **Interview · Why keep master weights in float32?**
#
# - *Thirty seconds:* A step is often a thousandth of the weight or less. In 16 bits that is below half a gap, and the
#   weight never moves. In float32 the steps add up until they show in the rounded weight.
# - *Longer:* With autocast nothing extra is needed, because the model's own weights stay in float32 and the 16-bit copies
#   are made on the fly.
# - *They ask next:* What do they cost? Four bytes a parameter, on top of the two of the 16-bit weight.
# - *The trap:* "Adam's steps are normalized, so it doesn't need them." It got stuck as well.
# - *Proof:* `proof-stuck`, `proof-master`.
#
# ## float16 everywhere?
# float16 moved the weight to 0.902, so why not put the whole model into it?
#
# ### Myth · "Call `.half()` on everything"

# %% tags=["proof-half"]
x = torch.tensor([1e-8, 6e-8, 0.1, 300.0]).half()
print("1e-8, 6e-8, 0.1 and 300:", [f"{each:.1e}" for each in x.tolist()])
print("their squares:          ", [f"{each:.1e}" for each in (x * x).tolist()])
print("70,000 ones, added up:  ", torch.ones(70000).half().sum().item())

# %% [markdown]
# A gradient of 10⁻⁸ is 0, a square overflows from 256 on, and a long sum ends at infinity. Weights also move in whole gaps
# or not at all. So `.half()` on everything is for inference.
#
# How many gradients are that small? Take a network with eight layers of sigmoids, and look at its gradients in
# float32. The slider multiplies them all:

# %% tags=["proof-histogram"]
torch.manual_seed(0)
layers = [layer for _ in range(8) for layer in (torch.nn.Linear(64, 64), torch.nn.Sigmoid())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(64, 10))
torch.nn.functional.cross_entropy(model(torch.randn(256, 64)), torch.randint(0, 10, (256,))).backward()
gradients = torch.cat([each.grad.ravel() for each in model.parameters()])


def lost(power, dtype=torch.float16):
    scaled = (gradients * 2.0**power).to(dtype).float()
    return f"{(scaled == 0).float().mean().item():.0%} zero, {scaled.isinf().float().mean().item():.0%} infinite"


def draw(power):
    ax = pictures.axes(6, 3)
    ax.hist(np.log2(gradients.abs().numpy()) + power, bins=range(-50, 31), color=pictures.COLOURS["gradient"])
    ax.axvspan(-25, 16, color=pictures.COLOURS["saved"], alpha=0.3)
    ax.set(xlabel="log2 |gradient|; shaded: what float16 can hold", ylabel="gradients")
    return pictures.publish(ax, alt=f"Gradients times 2^{power} in float16: {lost(power)}.")


for power in (0, 16, 32):
    print(f"times 2^{power:<2} in float16: {lost(power)}")
print(f"as they are in bfloat16: {lost(0, torch.bfloat16)}")
pictures.slider(draw, start={"power": 0}, power=[0, 8, 16, 24, 32])

# %% [markdown] tags=["short"]
# ## Scale the loss
# The chain rule multiplies. If the loss is multiplied by 65,536, so is every gradient in the graph, and the backward pass
# runs where float16 has numbers. Divide afterwards, in float32, and the step is the right one. The factor has to be large
# enough against underflow, and small enough against overflow, and the right one changes during training. So a `GradScaler`
# tries: an infinite gradient halves it, many good steps double it.

# %% [markdown] given="mytorch.amp.grad_scaler:GradScaler.scale"
# ### In `mytorch`
# Three methods do the work, and you write them: `unscale_` divides the gradients and notes which are finite, `step` makes
# the optimizer's step or leaves it out, `update` adapts the factor. Given is the first line of the loop:

# %% [markdown]
# Now let it meet an infinite gradient in steps 3, 8 and 9, with a scheduler beside it that should halve the rate after
# every fifth step:

# %% tags=["proof-overflow"]
weight, factors = mytorch.ones(1, requires_grad=True), []
optimizer = mytorch.optim.SGD([weight], lr=1.0)
scheduler = mytorch.optim.lr_scheduler.StepLR(optimizer, 5, gamma=0.5)
scaler = mytorch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
for step in range(1, 13):
    rate, before = scheduler.get_last_lr()[0], weight.item()
    optimizer.zero_grad()
    scaler.scale((weight * (float("inf") if step in (3, 8, 9) else 0.01)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    factors.append(scaler.get_scale())
    print(f"step {step:2}  lr {rate:.2f}  moved by {before - weight.item():.4f}  next factor {factors[-1]:.0f}")
pictures.curves({"factor": factors}, range(1, 13), xlabel="step", ylabel="factor")

# %% [markdown]
# **Interview · Overflow in steps 3, 8 and 9: what happened to the weights, the factor, the rate and the scheduler?**
#
# - *Thirty seconds:* The optimizer left three steps out and the weights stayed. The factor was halved each time. The
#   scheduler knows nothing of it and counted 12 steps, while the optimizer made 9.
# - *Longer:* A good step counts towards doubling; an overflow starts that count again.
# - *They ask next:* How do you keep the scheduler in step? Compare `get_scale()` before and after `update()`: if it fell,
#   the step was skipped.
# - *The trap:* Taking a few skipped steps at the start for a bug. The scaler is searching for its factor.
# - *Proof:* `proof-overflow`.
#
# **Interview · Why scale the loss, and why not with bfloat16?**
#
# - *Thirty seconds:* float16 turns gradients below about 3 · 10⁻⁸ into 0. A factor on the loss lifts all of them, and is
#   divided out in float32 before the step. bfloat16 has float32's range, so there is nothing to lift.
# - *Longer:* A power of two changes the exponent alone, so scaling doesn't round unless a number leaves the range.
# - *They ask next:* Why is the factor dynamic? Gradients shrink during training, and an overflow is easy to see.
# - *The trap:* Scaling gradients instead of the loss. By then they are 0.
# - *Proof:* `proof-histogram`, `proof-milestone`.
#
# ### Myth · "bf16 needs a GradScaler"
# The histogram's last line shows bfloat16 without any factor: nothing was lost. What bfloat16 lacks is precision, and a factor
# doesn't add any.
#
# ### Clipping
# Between `backward` and `step` the gradients are 65,536 times too large. Clip them there:

# %% tags=["proof-clip"]
for first in (False, True):
    weights = torch.zeros(2, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([weights], lr=1.0), torch.amp.GradScaler("cpu")
    scaler.scale((weights * torch.tensor([3.0, 4.0])).sum()).backward()
    if first:
        scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_([weights], max_norm=1.0)
    scaler.step(optimizer)
    print(f"norm {norm.item():.0f}, step {', '.join(f'{-each:.1g}' for each in weights.tolist())}")

# %% [markdown] tags=["short"]
# **Interview · How do you clip gradients with a scaler?**
#
# - *Thirty seconds:* `scale(loss).backward()`, then `unscale_(optimizer)`, then clip, `step`, `update`. `step` notices that the
#   gradients are unscaled already.
# - *Longer:* Clipped before, the norm is compared with `max_norm` while it carries the factor, and what remains is divided
#   by the factor again.
# - *They ask next:* And with accumulation? Scale each micro-batch; unscale, clip, step and update once at the end.
# - *The trap:* The loss still falls, very slowly, so nothing looks broken.
# - *Proof:* `proof-clip`.
#
# ## autocast: a precision for each operation
# Products gain most from 16 bits, and hardware adds them up in float32 inside. Losses and long sums want float32. So let a
# list decide:


# %% tags=["proof-toy"]
def toy(op, *tensors):
    target = {"matmul": torch.bfloat16, "mse_loss": torch.float32}.get(op.__name__)
    return op(*(each.to(target) for each in tensors)) if target else op(*tensors)


x, weight = torch.randn(8, 4), torch.randn(4, 3, requires_grad=True)
out = toy(torch.matmul, x, weight)
loss = toy(torch.nn.functional.mse_loss, out, torch.zeros(8, 3))
loss.backward()
print(out.dtype, loss.dtype, "gradient:", weight.grad.dtype)

# %% [markdown]
# The gradient of a float32 weight is float32, because the cast is part of the graph, and its backward casts back.
#
# ### Break it
# The toy has to be called by hand, and a layer that is used twice casts its weight twice. PyTorch's dispatcher has a place above all
# others for this. In `mytorch` it is the first place of the stack, empty until now:

# %%
stack = {"autocast": "casts the tensors", "trace": "notes steps", "record": "leaves a node", "device": "one device?"}
pictures.layers(stack, call="x @ w", path=["autocast", "record", "device"], result="bfloat16")

# %% [markdown] given="mytorch.amp.autocast_mode:LISTS mytorch.amp.autocast_mode:widest"
# You write the layer, the block that puts it there, and the cast, which keeps a weight's copy until the outermost block
# ends. Each thread has switches of its own. Given are the lists. A function such as `linear` is seen as one operation, although it is made of two:

# %% tags=["proof-dtypes"]
torch.cuda.simulate(1)
calls = {name: lambda f, h, name=name: getattr(h, name)() for name in ("sum", "exp", "prod")}
calls |= {
    "matmul": lambda f, h: h @ h,
    "softmax": lambda f, h: h.softmax(-1),
    "h + float32": lambda f, h: h + h.float(),
}
calls["layer_norm"] = lambda f, h: f.layer_norm(h, (4,))
calls["mse_loss"] = lambda f, h: f.mse_loss(h, h)


def type_of(call, library, device):
    with library.autocast(device):
        h = library.ones(4, 4).to(device) @ library.ones(4, 4).to(device)
        return str(call(library.nn.functional, h).dtype)[6:]


print(f"{'':12}{'mytorch, CPU':14}{'CPU':10}CUDA")
for name, call in calls.items():
    columns = [type_of(call, *each) for each in ((mytorch, "cpu"), (torch, "cpu"), (torch, "cuda"))]
    print(f"{name:12}{columns[0]:14}{columns[1]:10}{columns[2]}")

# %% [markdown]
# The two lists differ: `softmax`, `sum`, `exp` and `layer_norm` stay in bfloat16 on the CPU and become float32 on CUDA. An
# operation that is in neither list, such as `+`, promotes as always.
#
# The cache shows in the graph. Two uses of one weight lead back to one cast:

# %% tags=["proof-cache"]
weight, x = mytorch.randn(4, 4).requires_grad_(), mytorch.randn(2, 4)
with mytorch.autocast("cpu"):
    out = x @ weight @ weight
first, second = [node for node, _ in out.grad_fn.next_functions]
print("casts of the weight:", len({first.next_functions[1][0], second}))
pictures.graph(out.grad_fn, children=lambda n: [to for to, _ in n.next_functions], label=lambda n: n.name())

# %% [markdown]
# **Interview · What does autocast do, and what doesn't it do?**
#
# - *Thirty seconds:* Inside the block it casts the inputs of listed operations, products to 16 bits and losses to float32.
#   It changes no weight, no gradient's type and nothing outside the block.
# - *Longer:* It is a layer of the dispatcher. It caches the casts of weights until the outermost block ends.
# - *They ask next:* Which dtype does a weight's gradient have? The weight's own, float32.
# - *The trap:* Calling `.half()` on the model as well. Then the weights are 16 bits, and `unscale_` refuses their gradients.
# - *Proof:* `proof-dtypes`, `proof-cache`, `proof-toy`.
#
# ### Myth · "autocast halves memory"


# %% tags=["proof-memory"]
model = mytorch.nn.Linear(100, 100, bias=False)
optimizer = mytorch.optim.Adam(model.parameters())
with mytorch.autocast("cpu"):
    out = model(mytorch.randn(50, 100))
out.sum().backward()
optimizer.step()
held = [("activation", out), ("weight", model.weight), ("gradient", model.weight.grad)]
for name, x in held + list(optimizer.state[model.weight].items()):
    print(f"{name}: {x.numel()} numbers of {x.element_size()} bytes")

# %% [markdown]
# Activations of products are halved. Weights, gradients and the optimizer's state stay in float32, and the 16-bit copies
# come on top.
#
# ### Myth · "backward belongs inside autocast"
# The backward pass casts by itself what the forward pass cast. Inside the block it also casts what forward left in float32:

# %% tags=["proof-backward-inside"]
mytorch.manual_seed(0)
(x, y, weight), found = [mytorch.randn(64, 64).requires_grad_() for _ in range(3)], []
for inside in (False, True):
    loss = ((x @ weight) * y).sum()  # forward in float32
    with mytorch.autocast("cpu", enabled=inside):
        found += mytorch.autograd.grad(loss, weight)
print(f"gradients differ by {((found[1] - found[0]).abs().max() / found[0].abs().max()).item():.1%} of the largest")

# %% [markdown]
# ## Milestone: float16 learns when it is scaled
# Segmentation classifies pixels, and its loss is a mean over all pixels of a batch: 64 images of 1,024 by 1,024 are
# 67 million, so each pixel's gradient is divided by that. Here a small network classifies digits under the same conditions:
# their loss is divided as if they were a few of 67 million pixels, and the learning rate makes up for it.

# %% tags=["proof-milestone"]
from sklearn.datasets import load_digits

digits, share = load_digits(), 100 / 2**26


def train(library, dtype, scaled=False):
    library.manual_seed(0)
    nn, x, y = library.nn, library.tensor((digits.data / 16).tolist()), library.tensor(digits.target.tolist())
    model, losses = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), []
    optimizer = library.optim.SGD(model.parameters(), lr=0.5 / share)
    scaler = library.amp.GradScaler("cpu", enabled=scaled)
    for _ in range(120):
        batch = library.randint(0, 1400, (100,))
        optimizer.zero_grad()
        with library.autocast("cpu", dtype=dtype, enabled=dtype is not library.float32):
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        scaler.scale(loss * share).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


runs = {"float16": train(mytorch, mytorch.float16), "float16, scaled": train(mytorch, mytorch.float16, True)}
runs |= {name: train(mytorch, getattr(mytorch, name)) for name in ("bfloat16", "float32")}
for name, losses in (runs | {"minitorch, scaled": train(torch, torch.float16, True)}).items():
    print(f"{name:17} loss {losses[0]:.1f} to {np.median(losses[-30:]):.1f}")
about = "Without a factor the loss stays at 2.3; with one, float16 falls as float32 and bfloat16 do."
pictures.curves(runs, xlabel="step", ylabel="loss (nats)", alt=about)

# %% [markdown]
# Three of the curves lie on top of each other: scaled, float16 learns as float32 and bfloat16 do.
#
# ## Fewer bits still
# **TF32** is a mode of NVIDIA's tensor cores: inputs of a product are float32, of which only 10 fraction bits are used. **FP8**
# has two formats, named by their bits: E4M3 and E5M2.

# %% tags=["proof-TF32"]
a, b = np.random.default_rng(0).normal(size=(2, 256, 256)).astype(np.float32)
short = [((each.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32) for each in (a, b)]
exact, product = (x.astype(float) @ y.astype(float) for x, y in ((a, b), short))
print(f"relative error of a product in TF32: {np.linalg.norm(product - exact) / np.linalg.norm(exact):.0e}")
print("precision of matmul:", torch.get_float32_matmul_precision(), "· TF32 in cuDNN:", torch.backends.cudnn.allow_tf32)

# %% tags=["proof-FP8"]
import ml_dtypes

for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
    shown = [f"{each:.3g}" for each in np.array([1.1, 300.0, 1e-4]).astype(dtype).tolist()]
    print(
        f"{np.dtype(dtype)}: largest {float(ml_dtypes.finfo(dtype).max):.0f}; 1.1, 300 and 0.0001 are {', '.join(shown)}"
    )

# %% [markdown]
# **Interview · What is TF32, and is it on?**
#
# - *Thirty seconds:* float32's range with float16's precision, inside tensor cores. Inputs, outputs and memory stay float32. It
#   is off for matrix products ("highest") and on for cuDNN's convolutions.
# - *Longer:* `torch.set_float32_matmul_precision("high")` allows it in products. The sum is still float32.
# - *They ask next:* How large is the error? Some 10⁻⁴ relative, against 10⁻⁷.
# - *The trap:* Comparing a GPU's convolution with the CPU's and looking for a bug.
# - *Proof:* `proof-TF32`.
#
# **Interview · FP8: E4M3 or E5M2, and where?**
#
# - *Thirty seconds:* E4M3, more precise, for weights and activations; E5M2, with more range, for gradients.
# - *Longer:* Either range is so narrow that each tensor has a scale of its own, found from its recent largest values. Master
#   weights and sums stay in higher precision.
# - *They ask next:* What does E4M3 give up for its range? Infinity: only nan is left.
# - *The trap:* One loss factor for all tensors, as with float16.
# - *Proof:* `proof-FP8`.
#
# ## The real one
# minitorch's counterpart of `cast`, with PyTorch's conditions:

# %%
import inspect

from minitorch.dispatch import autocast

print(inspect.getsource(autocast._cached))

# %% [markdown] tags=["short"]
# It asks in addition whether the target is the lower precision, whether caching is on (`cache_enabled=False` switches it
# off), and whether the weight is a view (`_base`). Its key lacks the dtype, as PyTorch's does: an inner block with another
# lower precision gets the outer block's copy, and a product of both types raises.
#
# ## Rapid fire
# 1. The largest float16? 65,504.
# 2. `float16 + bfloat16`? float32.
# 3. Which integers are exact in float16? All up to 2,048.
# 4. The scale of a `GradScaler` that isn't enabled? 1.
# 5. A float64 tensor under autocast? Stays float64.

# %% tags=["proof-rapid-fire"]
print("1.", torch.finfo(torch.float16).max)
print("2.", (torch.ones(1).half() + torch.ones(1).bfloat16()).dtype)
print("3.", torch.tensor([2048.0, 2049.0]).half().tolist())
print("4.", mytorch.amp.GradScaler("cpu", enabled=False).get_scale())
print("5.", type_of(lambda library, h: h.double() @ h.double(), mytorch, "cpu"))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. float16: precise, narrow. bfloat16: coarse, as wide as float32.
# 2. A step below half a gap is no step. Master weights collect it.
# 3. float16 gradients below 3 · 10⁻⁸ are 0: scale the loss.
# 4. An infinite gradient skips the step and halves the factor.
# 5. The scheduler doesn't notice skipped steps.
# 6. `backward`, `unscale_`, clip, `step`, `update`.
# 7. autocast casts inputs of listed operations. Weights and gradients stay float32.
# 8. CPU and CUDA have different lists.
# 9. Forward and loss inside autocast, backward outside.
# 10. bfloat16 needs no scaler.
#
# ## You try
# [The exercises](../exercises/22_mixed_precision.ipynb): predict types; write the autocast layer, the scaler, master weights and
# two ways to round; repair a training step that hardly moves; and measure the factor at which infinity begins.
# [Chapter 22b](22b_memory.ipynb), about where the memory of a training step goes, is next.
