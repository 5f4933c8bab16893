# %% [markdown]
# # Mixed precision
# After this chapter your own library trains in 16 bits: `autocast` chooses a precision for each operation, float32 master weights collect
# small steps, and a `GradScaler` keeps small float16 gradients from becoming zero. You will be able to say what each of the three is for,
# and why training in bfloat16 doesn't need the last one.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(22)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Correct gradients, and the weight doesn't move
# A weight starts at 1, and its gradient is 1 in every step, so after 100 steps with a learning rate of 0.001 it should be at 0.9. The next
# cell tries it in three dtypes, with two optimizers:

# %% tags=["proof-stuck"]
import minitorch as torch
from course import check, pictures


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
# In bfloat16 the weight is still at 1, although every gradient is correct and the optimizer made every step. A step of 0.001 is shorter
# than half the distance to the next bfloat16 number below, so the result of each subtraction is rounded back to 1.
#
# ## What 16 bits can hold
# A floating-point number consists of a sign, an exponent, which sets its range, and a **mantissa**, which sets its precision. A format with
# 16 bits has to trade range against precision, and the two common formats make different choices:

# %% tags=["proof-formats"]
import numpy as np

sizes, spacings = 2.0 ** np.arange(-30, 31), {}
for dtype in types:
    about = torch.finfo(dtype)
    print(f"{dtype!s:14} mantissa {-np.log2(about.eps):2.0f} bits, next after 1: 1 + {about.eps:.1e}, ", end="")
    print(f"largest {about.max:.1e}, smallest normal {about.smallest_normal:.1e}")
    normal = np.maximum(sizes, about.smallest_normal)
    spacings[str(dtype)[6:]] = np.where(sizes <= about.max, about.eps * normal, np.nan)
pictures.curves(spacings, sizes, xlabel="magnitude of a number", ylabel="spacing to the next number", log="xy")

# %% [markdown] tags=["short"]
# The spacing of neighbouring numbers, also called an *ulp* (unit in the last place), grows with the numbers. The largest float16 is 65,504.
# At the lower end the spacing of float16 stops shrinking at 6 · 10⁻⁸, its smallest *subnormal* number, and everything below half of that is
# rounded to 0. In contrast, bfloat16 has the range of float32, but its spacing is 65,536 times as wide: the next bfloat16 below 1 is
# 0.9961, and a step of 0.001 covers only a quarter of that distance.
#
# ### The smallest model: cut a float32 in half
# A bfloat16 consists of the upper 16 bits of a float32, so one line of bit arithmetic converts a float32 into a bfloat16. The last of the
# inputs that the cell converts is a NaN:


# %% tags=["proof-bits"]
def truncate(x):
    return (np.float32(x).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


for x in (1.0, 0.999, 3.1415927, np.uint32(0x7F800001).view(np.float32)):
    bits = f"{np.float32(x).view(np.uint32):032b}"
    print(f"{x:<10} {bits[0]} {bits[1:9]} {bits[9:16]} | {bits[16:]} cut {truncate(x):.4f}", end="  ")
    print(f"PyTorch {torch.tensor(x).bfloat16().item():.4f}")

# %% [markdown]
# For 1 and π the results agree with PyTorch's, but not for 0.999: cutting rounds towards 0, and PyTorch rounds to the nearest number. The
# NaN becomes an infinity because its only mantissa bit is in the lower half, so a real conversion has to test for NaN first. In exercise 5
# you'll write PyTorch's rounding of all other numbers, and a second function that rounds at random, so that its results are correct on
# average.
#
# **Interview · float16 or bfloat16?**
#
# - *Thirty seconds:* I use bfloat16 where the hardware supports it, because it has practically the range of float32. Gradients that are
#   fine in float32 neither overflow nor become 0, so I don't need loss scaling. float16 has three more bits of precision but a narrow
#   range, so training in it needs a scaler.
# - *Longer:* float16 has 5 exponent and 10 mantissa bits, and bfloat16 has 8 and 7. NVIDIA GPUs have bfloat16 tensor cores from Ampere on, so
#   float16 is still what you use on a V100 or T4.
# - *They ask next:* When does bfloat16 cause trouble? Wherever something small is added to something large, as in weights, running means and long sums. In reinforcement learning, its rounding also makes the trainer's probabilities differ from those of
#   the sampling engine, which is why some run that stage in float16 ([Qi et al. 2025](https://arxiv.org/abs/2510.26788)).
# - *The trap:* "Both have 16 bits, so they are equally precise." Their spacings differ by a factor of eight.
# - *Proof:* `proof-formats`, `proof-stuck`.
#
# ## Master weights and stochastic rounding
# There are two ways to make the weight move. The first is to keep a float32 copy of it, called a **master weight**: the forward and
# backward passes use the bfloat16 weight, the optimizer updates the copy, and the weight is set to the rounded copy after each step. The
# second is *stochastic rounding*, with which a step of a quarter of the spacing moves the weight by a whole spacing in one step out of
# four, on average.


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

# %% [markdown] tags=["short"]
# **Interview · Why keep master weights in float32?**
#
# - *Thirty seconds:* An optimizer's step is often a thousandth of the weight or less. In bfloat16 that is below half the spacing, so the
#   weight never moves. In a float32 copy the steps add up until they show in the rounded weight.
# - *Longer:* With autocast you need nothing extra, since the model's own weights stay in float32 and the 16-bit copies are made on the fly.
# - *They ask next:* How much memory do they cost? Four bytes for each parameter, on top of the two of the 16-bit weight.
#   Stochastic rounding does without them, at the price of noise in the weights.
# - *The trap:* "Adam's steps are normalized, so it doesn't need them." The first cell shows that Adam gets stuck as well.
# - *Proof:* `proof-stuck`, `proof-master`.
#
# ## Gradient accumulation and reduction in float32
# Weights aren't the only sums in training: gradients are added up over micro-batches and over GPUs. Below, 1,024 backward passes
# each add 0.01 to the gradient of a weight, which should end at 10.24:

# %% tags=["proof-gradient-sums"]
for dtype in (torch.bfloat16, torch.float32):
    weight = torch.zeros(1, dtype=dtype, requires_grad=True)
    for _ in range(1024):
        (weight * 0.01).sum().backward()
    print(f"{dtype!s:14} sum of the gradients {weight.grad.item():.2f}")

# %% [markdown] tags=["short"]
# The bfloat16 gradient stops at 4, where the spacing to the next number is 0.03 and an addition of 0.01 is rounded away. Master weights
# don't help, because the optimizer only gets the finished sum. Large training runs therefore keep bfloat16 weights, but accumulate their
# gradients and reduce them across GPUs in float32.
#
# **Interview · You train in bfloat16. What stays in float32?**
#
# - *Thirty seconds:* Long sums stay in float32: the master weights and the optimizer's state, gradients that are accumulated or
#   reduced over many GPUs, and losses and statistics inside the network. A sum in bfloat16 stops growing as soon as the next term
#   is below half the spacing.
# - *Longer:* FSDP has `MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)`, and Megatron keeps a float32 buffer of
#   gradients. In matrix multiplications the hardware usually accumulates in float32, but
#   `torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction`, which is on by default, lets partial sums be reduced in 16 bits.
# - *They ask next:* What does `reduce_dtype=torch.float32` cost? The reduction sends four bytes for each gradient instead of two.
# - *The trap:* "bfloat16 has float32's range, so it can replace float32." It has the range but not the precision.
# - *Proof:* `proof-gradient-sums`, `proof-stuck`.
#
# ## autocast: a precision for each operation
# Matrix multiplications gain the most from 16 bits, while losses and long sums need float32, so a table decides which operation runs in
# which precision:


# %% tags=["proof-toy"]
def toy(op, *tensors):
    target = {"matmul": torch.bfloat16, "mse_loss": torch.float32}.get(op.__name__)
    return op(*(tensor.to(target) for tensor in tensors)) if target else op(*tensors)


x, weight = torch.randn(8, 4), torch.randn(4, 3, requires_grad=True)
out = toy(torch.matmul, x, weight)
loss = toy(torch.nn.functional.mse_loss, out, torch.zeros(8, 3))
loss.backward()
print(out.dtype, loss.dtype, "gradient:", weight.grad.dtype)

# %% [markdown]
# The gradient of a float32 weight is float32: the cast is part of the graph, and its backward pass casts back.
#
# ### Break it
# The toy has two weaknesses: you have to call it by hand, and a layer that is used twice casts its weight twice. PyTorch's dispatcher
# therefore has a layer for autocast above the one for autograd, so that every operation passes through it. In `mytorch` it is the first
# layer of the stack, which was empty until now:

# %%
stack = {"autocast": "casts tensors", "trace": "logs steps", "record": "adds a node", "device": "one device?"}
pictures.layers(stack, call="x @ w", path=["autocast", "record", "device"], result="bfloat16")

# %% [markdown] given="mytorch.amp.autocast_mode:LISTS mytorch.amp.autocast_mode:widest"
# ### In `mytorch`: the autocast layer
# You write the layer itself, the context manager that installs it, and the cast, which keeps a copy of each weight until the outermost
# block ends. The state belongs to a thread, so other threads aren't affected, and a function such as `linear` counts as one operation,
# although it is made of two. The lists of operations are provided, and they are shorter than PyTorch's. The next cell compares the
# resulting dtypes:

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
    columns = [type_of(call, *device) for device in ((mytorch, "cpu"), (torch, "cpu"), (torch, "cuda"))]
    print(f"{name:12}{columns[0]:14}{columns[1]:10}{columns[2]}")
bce = check.error(type_of, lambda f, h: f.binary_cross_entropy(h.sigmoid(), h.sigmoid()), torch, "cuda")
print("binary_cross_entropy on CUDA:", str(bce).splitlines()[0])

# %% [markdown]
# The CPU and CUDA have different lists: `softmax`, `sum`, `exp` and `layer_norm` return bfloat16 on the CPU but float32 on CUDA. An
# operation that is in no list, such as `+`, promotes its inputs as usual. `binary_cross_entropy` raises an error on CUDA, because its
# gradient at a probability near 0 or 1 may not fit into float16. Use `binary_cross_entropy_with_logits` instead, which autocast runs in
# float32.
#
# The cache is visible in the graph, where two uses of one weight lead back to a single cast:

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
# - *Thirty seconds:* Inside the block it casts the inputs of listed operations, so that matrix multiplications run in 16 bits and losses in
#   float32. It changes neither the weights nor the dtype of their gradients, and it doesn't affect operations outside the block.
# - *Longer:* It is a layer of the dispatcher, and it caches the casts of weights until the outermost block ends. A custom `autograd.Function` should
#   use `torch.amp.custom_fwd` and `custom_bwd`, so that its backward pass runs in the autocast state of its forward pass.
# - *They ask next:* Which dtype does a weight's gradient have? The weight's own, float32.
# - *They ask next:* Why does `BCELoss` raise an error on CUDA? Its gradient may not fit into float16, so PyTorch refers you to
#   `BCEWithLogitsLoss`.
# - *The trap:* `.half()` on the model as well is one step too many. Its weights then have 16 bits, and `unscale_` raises an error for their
#   float16 gradients. After `.bfloat16()` there is no error, but small steps are lost.
# - *Proof:* `proof-dtypes`, `proof-cache`, `proof-toy`.
#
# ## float16: loss scaling
# In the first cell float16 moved the weight to 0.902, which is nearly correct. So why not put the whole model into float16?
#
# ### Myth · "Call `.half()` on everything"

# %% tags=["proof-half"]
x = torch.tensor([1e-8, 6e-8, 0.1, 300.0]).half()
print("1e-8, 6e-8, 0.1 and 300:", [f"{value:.1e}" for value in x.tolist()])
print("their squares:          ", [f"{value:.1e}" for value in (x * x).tolist()])
print("70,000 ones, added up:  ", torch.ones(70000).half().sum().item())

# %% [markdown]
# A gradient of 10⁻⁸ becomes 0, squares overflow from 256 on, and a long sum ends at infinity. Weights, as you saw, move by whole spacings
# or not at all, which is why you call `.half()` on a whole model only for inference.
#
# How many of a network's gradients are that small? Compute the gradients of a network with eight sigmoid layers in float32; the
# slider multiplies all of them by a power of two:

# %% tags=["proof-histogram"]
torch.manual_seed(0)
layers = [layer for _ in range(8) for layer in (torch.nn.Linear(64, 64), torch.nn.Sigmoid())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(64, 10))
torch.nn.functional.cross_entropy(model(torch.randn(256, 64)), torch.randint(0, 10, (256,))).backward()
gradients = torch.cat([parameter.grad.ravel() for parameter in model.parameters()])


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
# ### Scale the loss
# By the chain rule, a loss that is multiplied by 65,536 has gradients that are 65,536 times as large, so the backward pass runs in the
# range that float16 covers. The gradients are divided by the same number in float32 before the step, which makes the step correct again.
# The **scale** has to be large enough to prevent underflow and small enough to prevent overflow. Because the suitable range changes during
# training, a `GradScaler` searches for it: it halves the scale after an infinite gradient and doubles it after many good steps.

# %% [markdown] given="mytorch.amp.grad_scaler:GradScaler.scale"
# ### In `mytorch`: the GradScaler
# You write the three methods that do the work: `unscale_` divides the gradients and remembers which are finite, `step` makes the
# optimizer's step or skips it, and `update` adapts the scale, which `mytorch` keeps in `self.factor`. The method that scales the loss is
# provided:

# %% [markdown]
# Now let the gradient be infinite in steps 3, 8 and 9, with a scheduler that should halve the learning rate after every fifth step:

# %% tags=["proof-overflow"]
weight, scales = mytorch.ones(1, requires_grad=True), []
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
    scales.append(scaler.get_scale())
    print(f"step {step:2}  lr {rate:.2f}  moved by {before - weight.item():.4f}  next scale {scales[-1]:.0f}")
pictures.curves({"scale": scales}, range(1, 13), xlabel="step", ylabel="scale")

# %% [markdown]
# **Interview · Overflow in steps 3, 8 and 9 of 12: what happened to the weights, the scale, the rate and the scheduler?**
#
# - *Thirty seconds:* The scaler skipped three steps, so the weights stayed, and each time it halved the scale. The scheduler isn't
#   informed: it counted 12 steps while the optimizer made 9, so the rate falls too early.
# - *Longer:* The scale doubles after `growth_interval` good steps in a row, by default 2,000, and an overflow resets the count.
# - *They ask next:* How do you keep the scheduler in step? I compare `get_scale()` before and after `update()`: a lower scale means that the
#   step was skipped.
# - *They ask next:* What changes with many GPUs? Under DDP the all-reduce spreads an infinite gradient to every rank, so all ranks skip
#   together. With sharded gradients one rank alone may see it, so FSDP's `ShardedGradScaler` reduces the flag as well.
# - *The trap:* A few skipped steps at the start aren't a bug. The scaler is only searching for its scale.
# - *Proof:* `proof-overflow`.
#
# **Interview · Why scale the loss, and why not with bfloat16?**
#
# - *Thirty seconds:* float16 rounds gradients below about 3 · 10⁻⁸ to 0. Scaling the loss scales every gradient, and the scale is divided
#   out in float32 before the step. bfloat16 has practically float32's range, so gradients don't underflow and there is no need to scale
#   them.
# - *Longer:* A power of two changes only the exponent, so scaling doesn't round unless a number leaves the range.
# - *They ask next:* Why is the scale dynamic? The size of the gradients changes during training, and an overflow is easy to detect.
# - *The trap:* It's too late to scale the gradients instead of the loss: by then the small ones are 0 already.
# - *Proof:* `proof-histogram`, `proof-milestone`.
#
# ### Gradient clipping with a scaler
# Between `backward` and `step` the gradients are still multiplied by the scale. What happens if you clip them there? The next cell clips to
# a norm of 1, once with a gradient that is shorter and should stay as it is, and once with a longer one:


# %% tags=["proof-clip"]
def clipped_step(kind, gradient, unscale_first):
    weights = torch.zeros(2, requires_grad=True)
    optimizer, scaler = getattr(torch.optim, kind)([weights], lr=1.0), torch.amp.GradScaler("cpu")
    scaler.scale((weights * torch.tensor(gradient)).sum()).backward()
    if unscale_first:
        scaler.unscale_(optimizer)
    logged = torch.nn.utils.clip_grad_norm_([weights], max_norm=1.0).item()
    scaler.step(optimizer)
    return logged, weights.grad.norm().item(), weights.norm().item()


for first in (False, True):
    for gradient in ([0.3, 0.4], [3.0, 4.0]):
        (logged, left, by_sgd), (_, _, by_adam) = (clipped_step(kind, gradient, first) for kind in ("SGD", "Adam"))
        print(f"{'unscaled' if first else 'scaled':8} norm {logged:g}, clipped {left:.1g}; ", end="")
        print(f"SGD moves by {by_sgd:.1g}, Adam by {by_adam:.1f}")

# %% [markdown]
# **Interview · How do you clip gradients with a scaler?**
#
# - *Thirty seconds:* I call `scale(loss).backward()` and then `unscale_(optimizer)`, so that the gradients have their true size when I clip
#   them. After that I call `step`, which doesn't unscale them a second time, and `update`.
# - *Longer:* If you clip first, `max_norm` is compared with a norm that is too large by the scale, so nearly every gradient is clipped.
#   When `step` then divides the result by the scale, next to nothing is left.
# - *They ask next:* What changes with gradient accumulation? I scale the loss of each micro-batch, and unscale, clip, step and update once
#   at the end.
# - *The trap:* There is no error if you clip first. With SGD the loss only falls very slowly. Adam hardly depends on the gradients' scale,
#   so its loss falls as usual, but every gradient is brought to the same norm, `max_norm` means nothing, and the logged norm is 65,536
#   times too large.
# - *Proof:* `proof-clip`.
#
# ## Milestone: float16 learns when its loss is scaled
# Segmentation takes the mean of the loss over all pixels, and 64 images of 1,024 by 1,024 pixels are $2^{26}$ of them, so each pixel's
# gradient is divided by that number. A small network on digits gets equally small gradients if you multiply its loss by a tiny `share`. The
# learning rate is divided by `share`, so that in exact arithmetic the training stays the same. The cell trains with each precision on three
# seeds:

# %% tags=["proof-milestone"]
from sklearn.datasets import load_digits

digits, share = load_digits(), 100 / 2**26


def train(library, dtype, scaled=False, seed=0):
    library.manual_seed(seed)
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


settings = {name: (mytorch, getattr(mytorch, name)) for name in ("float16", "bfloat16", "float32")}
settings["float16, scaled"] = (mytorch, mytorch.float16, True)
settings["minitorch, scaled"] = (torch, torch.float16, True)
runs = {name: [train(*setting, seed=seed) for seed in range(3)] for name, setting in settings.items()}
for name, losses in runs.items():
    ends = [np.median(curve[-30:]) for curve in losses]
    low, high = np.floor(2 * min(ends)) / 2, np.ceil(2 * max(ends)) / 2
    print(f"{name:17} loss {losses[0][0]:.1f}, at the end between {low} and {high}")
about = "Without a scale the loss stays at 2.3; with one it falls below 0.5."
shown = {name: runs[name][0] for name in ("float16", "float16, scaled")}
pictures.curves(shown, xlabel="step", ylabel="loss (nats)", alt=about)

# %% [markdown]
# On each seed the scaled float16 run ends where float32 and bfloat16 do, while float16 without a scale doesn't learn at all.
#
# ## Fewer bits: TF32, FP8 and FP4
# Where the hardware supports it, each halving of the bits roughly doubles the speed of a matrix multiplication and halves its traffic.
# **TF32** is a mode of NVIDIA's tensor cores: the inputs of a matrix multiplication are float32, but only 10 of their mantissa bits are
# used. **FP8** has two formats, E4M3 and E5M2, which are named after their exponent and mantissa bits, and **FP4** is E2M1. With so few
# bits, each tensor needs a scale of its own, or even each small block of a tensor. The next cell measures TF32's error, and the one after
# it counts how many of the gradients in the histogram above are lost with either kind of scale:

# %% tags=["proof-TF32"]
a, b = np.random.default_rng(0).normal(size=(2, 256, 256)).astype(np.float32)
short = [((array.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32) for array in (a, b)]
exact, product = (x.astype(float) @ y.astype(float) for x, y in ((a, b), short))
print(f"relative error of a product in TF32: {np.linalg.norm(product - exact) / np.linalg.norm(exact):.0e}")
print("precision of matmul:", torch.get_float32_matmul_precision(), "· TF32 in cuDNN:", torch.backends.cudnn.allow_tf32)

# %% tags=["proof-FP8"]
import ml_dtypes


def quantized(values, dtype, block):
    rows = values.reshape(-1, block)
    largest = np.abs(rows).max(1, keepdims=True)
    scale = 2.0 ** np.ceil(np.log2(largest / float(ml_dtypes.finfo(dtype).max)))
    return ((rows / scale).astype(dtype).astype(float) * scale).ravel()


values = gradients.numpy()[:33920]  # 1,060 blocks of 32
for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn):
    zero = [f"{np.mean(quantized(values, dtype, block) == 0):.0%}" for block in (len(values), 32)]
    largest, (about,) = float(ml_dtypes.finfo(dtype).max), np.array([1.1]).astype(dtype).tolist()
    print(f"{np.dtype(dtype)!s:14} largest {largest:5.0f}, 1.1 is {about:.3g}; ", end="")
    print(f"lost gradients: {zero[0]:>3} with one scale, {zero[1]:>2} with a scale for each 32")

# %% [markdown]
# With one scale for all, E4M3 loses many gradients and E5M2 hardly any. With a scale for each block of 32, however, the more precise E4M3
# loses none, and even four bits keep nearly all. In a real network each layer's gradients are a tensor of their own, so they differ less in
# size than the mixture of all layers here.
#
# **Interview · What is TF32, and is it on?**
#
# - *Thirty seconds:* TF32 has float32's range and float16's precision, inside tensor cores only; inputs, outputs and memory stay float32. By
#   default it is off for matrix multiplications, where the setting is called "highest", and on for cuDNN's convolutions.
# - *Longer:* `torch.set_float32_matmul_precision("high")` allows it in matrix multiplications, which still accumulate in float32. The newer
#   setting is `torch.backends.cuda.matmul.fp32_precision = "tf32"`. Use only one of the two, because reading the old one raises an error
#   once you have used the new one.
# - *They ask next:* How large is the error? A few parts in ten thousand, compared with about one in ten million in float32.
# - *The trap:* A GPU's convolution needn't equal the CPU's, so don't look for a bug there.
# - *Proof:* `proof-TF32`.
#
# **Interview · FP8: E4M3 or E5M2, and where?**
#
# - *Thirty seconds:* E4M3 is more precise and E5M2 has more range. The recipes of 2022 used E4M3 for weights and activations and E5M2 for gradients,
#   with one scale for each tensor. Newer ones use E4M3 for all three, because a scale for each small block takes care of the range.
# - *Longer:* DeepSeek-V3 has scales for tiles of 1×128 activations and blocks of 128×128 weights. In MXFP8, 32 elements share a scale that is a
#   power of two, and in NVFP4 16 elements share one in E4M3, beside a float32 scale for the whole tensor. Master weights and sums stay in higher
#   precision.
# - *They ask next:* What does E4M3 give up for its range? Infinity: the only special value that is left is NaN. In PyTorch 2.13, a cast on
#   the CPU saturates, so even an infinity becomes 448, and you can't detect an overflow afterwards.
# - *The trap:* A single loss scale for all tensors, as with float16, isn't enough. Each tensor or block needs its own.
# - *Proof:* `proof-FP8`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What is the largest number that float16 can hold? 65,504, and numbers from 65,520 on are rounded to infinity.
# 2. Which dtype does the sum of a float16 and a bfloat16 tensor have? float32.
# 3. Up to which number are all integers exact in float16? Up to 2,048: float16 has 11 significant bits.
# 4. What does `get_scale()` return for a `GradScaler` that isn't enabled? 1.
# 5. What does autocast do to a float64 tensor? Nothing: it stays float64.

# %% tags=["proof-rapid-fire"]
print("1.", torch.finfo(torch.float16).max)
print("2.", (torch.ones(1).half() + torch.ones(1).bfloat16()).dtype)
print("3.", torch.tensor([2048.0, 2049.0]).half().tolist())
print("4.", mytorch.amp.GradScaler("cpu", enabled=False).get_scale())
print("5.", type_of(lambda library, h: h.double() @ h.double(), mytorch, "cpu"))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. float16 is precise but narrow; bfloat16 is coarse and has the range of float32.
# 2. A step below half the spacing is lost, unless float32 master weights collect it.
# 3. Accumulate and reduce gradients in float32, because a bfloat16 sum stops growing.
# 4. autocast casts the inputs of listed operations; weights and their gradients stay float32.
# 5. Forward pass and loss belong inside autocast, and the backward pass [outside](proof-backward-inside).
# 6. The lists differ between the CPU and CUDA, for example for `softmax` and `sum`.
# 7. float16 gradients below 3 · 10⁻⁸ become 0, so scale the loss. bfloat16 needs no scaler.
# 8. With an infinite gradient the scaler skips the step and halves the scale, while the scheduler counts on.
# 9. Call `backward`, `unscale_`, clip, `step`, `update`, in that order.
# 10. FP8 and FP4 need a scale for each small block.
#
# ## You try
# In [the exercises](../exercises/22_mixed_precision.ipynb) you predict dtypes; write the autocast layer, the scaler, master weights and two
# ways to round; fix a training step that hardly moves; and measure the scale at which gradients become infinite.
# [Chapter 22b](22b_memory.ipynb), about where the memory of a training step goes, is next.

# %% [markdown]
# ## If you have time
# ### Myth · "bf16 needs a GradScaler"
# The cell that draws the histogram also prints a line for bfloat16 without any scale, where no gradient is lost. The weakness of bfloat16
# is its precision, and scaling can't add that.
#
# ### The real one
# Here is minitorch's counterpart of the cast that you write, with PyTorch's conditions:

# %%
import inspect

from minitorch.dispatch import autocast

print(inspect.getsource(autocast._cached))

# %% [markdown]
# It also checks whether the target is the lower precision, whether caching is on (`cache_enabled=False` switches it off), and whether the
# weight is a view (`_base`). As in PyTorch, the key of the cache doesn't contain the dtype. An inner block with another lower precision
# therefore gets the copy of the outer block, and a matrix multiplication of the two dtypes raises an error.
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
    print(f"{name}: {x.numel()} elements of {x.element_size()} bytes")

# %% [markdown]
# Only the outputs of matrix multiplications, and of the operations after them that run in 16 bits, take half the memory. Weights, gradients
# and the optimizer's state stay in float32, and the 16-bit copies of the weights come on top.
#
# ### Myth · "backward belongs inside autocast"
# The backward pass already uses the dtypes of the forward pass, because the casts are part of the graph. If you call it inside the block,
# autocast also casts the operands of steps that the forward pass computed in float32:

# %% tags=["proof-backward-inside"]
mytorch.manual_seed(0)
(x, y, weight), found = [mytorch.randn(64, 64).requires_grad_() for _ in range(3)], []
for inside in (False, True):
    loss = ((x @ weight) * y).sum()  # forward in float32
    with mytorch.autocast("cpu", enabled=inside):
        found += mytorch.autograd.grad(loss, weight)
print(f"gradients differ by {((found[1] - found[0]).abs().max() / found[0].abs().max()).item():.1%} of the largest")
