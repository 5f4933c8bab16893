# %% [markdown]
# # Mock interview
# By the end of this chapter you will have been through an interview of seven rounds, drawn from the whole course, and you will
# know how far to trust your own confidence. You will also have a plan for debugging, estimating, and sizing a system.
#
# ## Ten questions, and how sure are you?
# Write down an answer to each question, and next to it how sure you are: 10, 30, 50, 70 or 90 percent. The answers are
# below the next cell, so finish your list before you scroll.
#
# 1. What is the shape of `torch.zeros(3, 1) - torch.zeros(3)`?
# 2. What is the dtype of `torch.arange(3) / 2`?
# 3. If `x` is 3 and `(x * x).backward()` runs twice, what is `x.grad`?
# 4. What does `nn.Dropout(0.2)` turn a 1 into in eval mode?
# 5. What is the shape of the weight of `nn.Linear(3, 4)`?
# 6. Does `x` change if you run `y = x.detach()` and then `y[0] = 7`?
# 7. What is the loss of a ten-class classifier that has learned nothing?
# 8. What is the learning rate after three epochs if `StepLR(optimizer, 2)` starts at 1?
# 9. What is the running mean of a new batch norm after one batch whose mean is 10?
# 10. Into how many pieces does `chunk(4)` cut nine rows?

# %% tags=["proof-ten", "short"]
import minitorch as torch
from minitorch import nn

x = torch.tensor(3.0, requires_grad=True)
for _ in range(2):
    (x * x).backward()
data = torch.zeros(2)
data.detach()[0] = 7
optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
for _ in range(3):
    optimizer.step()
    schedule.step()
norm = nn.BatchNorm1d(1)
norm(torch.tensor([[9.0], [11.0]]))
ten = [tuple((torch.zeros(3, 1) - torch.zeros(3)).shape), (torch.arange(3) / 2).dtype, x.grad.item()]
ten += [nn.Dropout(0.2).eval()(torch.ones(1)).item(), tuple(nn.Linear(3, 4).weight.shape), data.tolist()]
ten += [round(nn.functional.cross_entropy(torch.zeros(1, 10), torch.tensor([0])).item(), 2)]
ten += [round(schedule.get_last_lr()[0], 1), round(norm.running_mean.item(), 1)]
ten += [len(torch.zeros(9, 1).chunk(4))]
for number, answer in enumerate(ten, 1):
    print(f"{number:2}. {answer}")

# %% [markdown]
# The two lists below belong to an invented reader. Replace them with your own, and run the cell again:

# %% tags=["proof-curve"]
from course import pictures
from course.interview import calibration

sure = [90, 90, 70, 90, 90, 70, 50, 90, 70, 90]
right = [True, True, False, False, True, True, False, True, False, False]
pairs = list(zip(sure, right, strict=True))
print(calibration.verdict(pairs))
shrug = calibration.brier([(50, is_right) for is_right in right])
print(f"Brier score {calibration.brier(pairs):.2f}; saying 50 % each time gives {shrug:.2f}")
print(calibration.bars(calibration.levels(pairs)))

# %% [markdown]
# The **Brier score** is the mean squared difference between the stated probability and the outcome, 1 for a correct answer and 0
# for an incorrect one. Lower is better, so this reader would have done better by saying 50 % each time. Your confidence is
# *calibrated* if 70 % of the answers you were 70 % sure of are correct, and likewise for the other levels.
#
# The slider makes the reader more or less confident in every answer, while the answers stay the same:


# %% tags=["proof-shift"]
def shifted(points):
    moved = [min(100, max(0, percent + points)) for percent in sure]
    return moved, calibration.brier(zip(moved, right, strict=True))


def draw(points):
    moved, score = shifted(points)
    levels = calibration.levels(zip(moved, right, strict=True))
    reader = [level.sure for level in levels], [level.share for level in levels]
    said = "; ".join(f"{level.sure} % sure, {level.share:.0f} % right" for level in levels)
    lines, alt = {"perfect": ([0, 100], [0, 100]), "reader": reader}, f"Brier score {score:.2f}: {said}."
    return pictures.curves(lines, xlabel="how sure (%)", ylabel="right (%)", alt=alt)


print({points: round(shifted(points)[1], 2) for points in (-40, -30, -20, -10, 0, 10)})
pictures.slider(draw, start={"points": 0}, points=[-40, -30, -20, -10, 0, 10])

# %% [markdown]
# This reader's score is best with about thirty points less confidence. In an interview that is the difference between "It is a
# view" and "I think it's a view, and I'd check the storage". But ten answers are too few to judge by: the share of correct ones
# has a standard error of about 16 points, so wait for a hundred or more.
#
# **Interview · You aren't sure of an answer. What do you say?**
#
# - *Thirty seconds:* I say what I know, how sure I am, and how I'd find out. For example: "I'd expect a copy here, because the
#   strides don't fit, and I'd compare the storages to be sure."
# - *Longer:* Interviewers keep asking until they reach the edge of what you know, and what you do there is part of what they want
#   to see.
# - *They ask next:* How would you check that in one line? With `x.untyped_storage().data_ptr() ==
#   y.untyped_storage().data_ptr()`; plain `data_ptr` also differs for the view `x[1:]`. Keep `is`, `_version` and `grad_fn` ready for other claims.
# - *The trap:* A guess isn't a fact, and one wrong certainty costs more than three honest doubts: at 90 % a wrong answer adds 0.81 to the
#   sum of the Brier score, while at 50 % it adds 0.25.
# - *Proof:* `proof-curve`, `proof-shift`.

# %% [markdown] tags=["short"]
# ## At the whiteboard: shapes before code
# You have fifteen minutes for attention, a loss or a layer. Start with a comment that states the shapes, which costs only a
# minute and finds the mistake that raises no error:

# %% tags=["proof-shapes"]
torch.manual_seed(0)
inputs = torch.randn(64, 3)
target = inputs @ torch.tensor([1.0, -2.0, 0.5])  # (64,)


def fitted(difference):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        (difference(model(inputs)) ** 2).mean().backward()
        optimizer.step()
    return [round(weight, 1) + 0.0 for weight in model.weight[0].tolist()]


differences = {"(64, 1) - (64,)": lambda out: out - target, "(64,)   - (64,)": lambda out: out[:, 0] - target}
for name, difference in differences.items():
    print(name, " →", tuple(difference(torch.zeros(64, 1)).shape), fitted(difference))

# %% [markdown]
# The weights should be 1, −2 and 0.5. In the first line every prediction is compared with every target, so the best that the
# model can do is predict their mean: it trained without an error and learned nothing. PyTorch's `mse_loss` warns when the two
# sizes differ, but a loss written by hand doesn't.
#
# **Interview · What do you write first at the whiteboard?**
#
# - *Thirty seconds:* I write the signature and the shapes of inputs and outputs, with names such as batch, heads,
#   length and width, then the line that contracts a dimension, and then the rest.
# - *Longer:* I say what I'm leaving out (masks, dtypes, devices), so that it counts as a choice, and try the code on a
#   small input that isn't square.
# - *They ask next:* What is the smallest input that would show a bug? One whose dimensions all differ and whose batch
#   isn't 1, such as (2, 3, 5).
# - *The trap:* With a square matrix or a batch of one, transposed weights and lost dimensions go unnoticed.
# - *Proof:* `proof-shapes`.
#
# ## Think aloud in a debug round
# In a debug round you get an 80-line program, which trains, serves or fine-tunes a small language model, and four reports about
# its faults. The training program's faults are drawn from a list of fourteen. Which of them show up in the loss? The next cell
# trains it with one fault at a time, from three seeds:

# %% tags=["proof-losses"]
import warnings

import numpy as np

from course.interview import faults

warnings.simplefilter("ignore")  # two of the faults make NumPy and PyTorch complain
curves = {}
for fault in [None, *faults.FAULTS]:
    program = faults.load(faults.planted([fault] if fault else []))
    runs = [program.train(epochs=4, seed=seed)[2] for seed in range(3)]
    curves[fault.name if fault else "no fault"] = np.array([[held for _, held in run] for run in runs])
change = {name: (runs - curves["no fault"])[:, -1] for name, runs in curves.items()}
seen = {name: int((abs(difference) > 0.1).sum()) for name, difference in change.items()}
shown = {name: curves[name][1] for name in curves if seen[name] or name == "no fault"}
for name in shown:
    print(f"{name:20} visible with {seen[name]} of 3 seeds; the loss changes by {change[name].round(1)}")
print("invisible with all three seeds:", len(curves) - len(shown), "of", len(curves) - 1)
drawn = {name: curve for name, curve in shown.items() if seen[name] in (0, 3)}
alt = "From seed 1, compared with no fault: " + ", ".join(f"{name} {change[name][1]:+.1f}" for name in drawn)
pictures.curves(drawn, xlabel="epoch", ylabel="held-out loss (nats)", alt=alt)

# %% [markdown]
# Eight of the fourteen faults leave the loss as it should be, and a ninth, which isn't drawn, shows up with only two of
# the seeds. The two lowest curves belong to the worst faults. In these data a quarter of the tokens are random, so a
# model that can't see its targets reaches 0.95 on average at best, give or take 0.05 for 99 held-out rows. A loss far
# below that points to a fault, too.
#
# So look at the loss first, but know which value to expect, and then ask questions that a few lines of code can answer. Ask three
# of them of four programs:


# %% tags=["proof-checks"]
def first_loss(program):
    torch.manual_seed(0)
    loss = program.loss_of(program.Model(), program.sequences(64, 0)).item()
    return f"{loss:.1f}"


def certain(program):
    rows = torch.arange(8).repeat(3)[:18].reshape(2, 9)
    told = lambda tokens: torch.eye(8)[rows[:, 1:]] * 30  # noqa: E731
    return f"{abs(program.loss_of(told, rows).item()):.1f}"


def moved(program):
    torch.manual_seed(0)
    model, scaler = program.Model(), torch.amp.GradScaler("cpu", init_scale=1024.0)
    before = model.head.weight.detach().clone()
    program.step(model, torch.optim.SGD(model.parameters(), lr=1.0), scaler, program.sequences(32, 0))
    return f"{(model.head.weight - before).abs().max().item():.2f}"


print(f"{'':20} first loss (ln 8: {np.log(8):.1f})   right and certain   weight moves by")
for name in ("no fault", "label shift", "softmax twice", "clip before unscale"):
    program = faults.load(faults.planted([faults.named(name)] if name != "no fault" else []))
    print(f"{name:20} {first_loss(program):>22} {certain(program):>19} {moved(program):>17}")

# %% [markdown]
# The first loss is within 0.4 of ln 8 in all four programs, too close to find any of the faults. A model that always predicts the correct
# token should have a loss of 0; checking this finds two of them, while a weight that hardly moves reveals the third. In a whole
# program, check five things in this order:
#
# 1. *The data:* print one batch, decoded, and see whether the targets are what you think they are.
# 2. *The loss:* what should it be at the start, what is its floor, and what is it for a perfect prediction?
# 3. *The gradients:* does each parameter have one, is it from this step, and does the weight move as far as it should?
# 4. *The modes:* is evaluation in eval mode, without gradients, and does training continue in train mode?
# 5. *The bookkeeping:* are the `step` calls in order, the means weighted, and the kept values copied?
#
# **Interview · A run doesn't learn. What do you check first, second and third?**
#
# - *Thirty seconds:* First I print a batch with its targets. Second, I check the loss: at the start, for a perfect
#   prediction, and on one batch that the model should be able to memorize. Third, I check whether each parameter has a
#   new gradient and moves.
# - *Longer:* That order follows the data through the program, so each check rules out what comes before it.
# - *They ask next:* Why not begin with the learning rate? It is a guess that changes all the numbers at once.
# - *The trap:* If you change two things at a time, you don't know which one helped; and the first loss hardly differs between these four
#   programs.
# - *Proof:* `proof-checks`.
#
# **Interview · The validation loss is too good to be true. Name four causes.**
#
# - *Thirty seconds:* The target may leak into the input, through a missing shift or a mask with the wrong polarity. Rows of the
#   validation set may be in the training set, batch norm may use the validation batch's statistics, or the mean may give easy
#   batches more weight.
# - *Longer:* You have to know the floor: for random tokens it is their entropy, and for a benchmark it is the share of wrong
#   labels.
# - *They ask next:* How do you prove a leak? I change what the model isn't allowed to see, and check whether an output moves.
# - *The trap:* Look for a leak before you report the number.
# - *Proof:* `proof-losses`, `proof-leak`.

# %% tags=["proof-leak"]
for name in ("no fault", "mask polarity"):
    program = faults.load(faults.planted([faults.named(name)] if name != "no fault" else []))
    torch.manual_seed(0)
    model, rows = program.Model().eval(), program.sequences(1, 0)[:, :-1]
    other = rows.clone()
    other[0, -1] = (other[0, -1] + 1) % 8
    change = (model(rows) - model(other)).abs().amax(-1)[0]
    print(f"{name:14} another last token changes the outputs at", [at for at in range(8) if change[at] > 1e-4])

# %% [markdown]
# What do you *say* while you search? Cycle through three kinds of sentences: what you see, what could cause it, and what you
# will look at to decide. "The loss is 0.00 after six epochs. Either the data is trivial or the target is in the input, so I'll
# print one row and its target." If you fall silent, you seem stuck, whereas a hypothesis that you rule out counts in your
# favour.
#
# **Interview · How do you think aloud in a debug round?**
#
# - *Thirty seconds:* I name the observation, the hypothesis and the test, and before I run the test, I say what each outcome
#   would mean.
# - *Longer:* I write the test as an assertion, which proves that the fault was there and keeps it from coming back.
# - *They ask next:* When do you stop? When a line of code explains each report, and each has a test that failed before
#   and passes now.
# - *The trap:* "It still trains" proves nothing. Eight of the faults don't show in the loss.
# - *Proof:* `proof-losses`, `proof-assertion`.

# %% tags=["proof-assertion"]
spoiled = faults.load(faults.planted([faults.named("best weights are an alias")]))
clean = faults.load(faults.clean())
for name, program in (("with the fault", spoiled), ("fixed", clean)):
    model, best, history = program.train(epochs=2)
    shared = sum(tensor.data_ptr() == best[key].data_ptr() for key, tensor in model.state_dict().items())
    print(f"{name:15} held-out losses {[round(loss, 1) for _, loss in history]}, ", end="")
    print(f"best weights that share the model's memory: {shared} of {len(best)}")

# %% [markdown]
# ## How an interview loop is built in 2026
# Loops differ from company to company, so ask the recruiter which rounds there are and what you may look up. These are common at
# companies that train models:
#
# | round | minutes | what is graded | in this course |
# |---|---|---|---|
# | screen | 45 to 60 | one concept explained, one small piece of code | rapid fire, explain |
# | ML coding | 45 to 60 | attention, sampling, a loss or a norm from memory, with shapes said aloud | whiteboard; chapters 26, 28 and 29 |
# | ML debugging | 45 to 60 | a training script with several faults, and a test for each | debug; the *repair* exercises |
# | systems and capacity | 60 | requirements, memory and throughput in numbers, what fails first | estimate; chapters 22b to 23b, and 27 |
# | paper or research | 45 to 60 | a limitation, a missing ablation, the next experiment | chapters 19 and 21 |
# | project and behaviour | 45 | what you decided, why, and what broke | your own notes |
#
# In coding rounds you may often consult the documentation, but not search for the solution. Some companies, such as Meta, have
# added a round with an AI assistant, in which you are graded on how you divide the problem and how you verify what the assistant
# wrote.
#
# **Interview · How do you work in a coding round with an AI assistant?**
#
# - *Thirty seconds:* I divide the problem and write down the interfaces before the first prompt. I let the assistant write one
#   piece at a time, read each line as I would in a code review, and test it on an input whose answer I know.
# - *Longer:* I'm graded on how I decompose, verify and explain, so I say what I expect from each piece before I run it.
# - *They ask next:* How do you verify generated attention code? I use sizes that all differ, change a future token, and compare
#   with `scaled_dot_product_attention` ([chapter 14](14_attention.ipynb)).
# - *The trap:* Code isn't right because it runs. Of the fourteen faults we planted in a training program, eight also run without an error
#   and leave the loss where it should be.
# - *Proof:* `proof-assistant`, `proof-losses`, `proof-assertion`.
#
# ### A round with an assistant, played through
# The task is to add top-p sampling to a generator, and the right column shows what is graded:
#
# | you | the interviewer notes |
# |---|---|
# | "Two pieces: one function from logits to probabilities, and the draw, which exists." | divides before prompting |
# | "It takes (V,) logits and p, and returns (V,) probabilities that sum to 1. With 0.5, 0.3, 0.2 and p = 0.7, two tokens stay." | interface and expected value come first |
# | *prompt:* "Write `top_p(logits, p)`: keep the fewest most likely tokens whose probabilities reach p, renormalize." | asks for one piece |
# | *reads:* "`cumsum <= p` drops the token that crosses p. And what if the first one crosses it?" | reviews, and names an edge case |
# | *runs the next cell:* "One token instead of two, and NaN at p = 0.4." | proves the suspicion |
# | "Compare the sum *before* each token: `cumsum - probabilities < p`. The test passes, and I keep it." | fixes the cause, keeps the test |


# %% tags=["proof-assistant"]
def top_p(logits, p, fixed):
    probabilities, order = logits.softmax(-1).sort(descending=True)
    before = probabilities.cumsum(-1) - probabilities
    kept = before < p if fixed else before + probabilities <= p  # the assistant wrote the latter
    out = torch.zeros(len(logits)).scatter(0, order, probabilities * kept)
    return [round(value, 3) for value in (out / out.sum()).tolist()]


logits = torch.tensor([0.3, 0.5, 0.2]).log()
for fixed in (False, True):
    print("fixed:    " if fixed else "generated:", {p: top_p(logits, p, fixed) for p in (0.7, 0.4)})

# %% [markdown]
# With p = 0.7 the generated version keeps one token instead of two. With p = 0.4 it keeps none, so it divides 0 by 0.

# %% [markdown]
# ## Estimate before you calculate
# An estimate has three parts, which you say in this order: what is counted, how many there are, and how large each one
# is. Round early. The first number to memorize is sixteen bytes per parameter, which the next cell counts in a real
# training step:

# %% tags=["proof-16-bytes"]
model = nn.Linear(1000, 1000, bias=False)
master = [parameter.detach().clone().requires_grad_() for parameter in model.parameters()]
model.bfloat16()
optimizer = torch.optim.Adam(master)
model(torch.randn(4, 1000).bfloat16()).sum().backward()
master[0].grad = model.weight.grad.float()
optimizer.step()
master[0].grad = None
state = optimizer.state[master[0]]
held = {"weights": model.weight, "gradients": model.weight.grad, "master weights": master[0]}
held |= {name: state[name] for name in ("exp_avg", "exp_avg_sq")}
sizes = {name: tensor.untyped_storage().nbytes() / 1e6 for name, tensor in held.items()}
print(sizes, "→", f"{sum(sizes.values()):.0f} bytes a parameter")
print(f"7 billion parameters: {16 * 7} GB, so one GPU of 80 GB isn't enough")

# %% [markdown]
# Activations come on top, and they grow with the batch, as does the key-value cache at inference:


# %% tags=["proof-cache"]
def cache(tokens, heads, layers=32, width=128):
    return 2 * layers * heads * width * tokens * 2 / 1e9


lengths = [1024 * 2**power for power in range(8)]


def compare(heads):
    lines = {
        f"{heads} key-value heads": [cache(tokens, heads) for tokens in lengths],
        "7B weights": [14.0] * len(lengths),
    }
    return pictures.curves(lines, lengths, xlabel="tokens in the cache", ylabel="memory (GB)", log="xy")


print({heads: f"{cache(8192, heads):.1f} GB for 8,192 tokens" for heads in (32, 8, 1)})
pictures.slider(compare, start={"heads": 32}, heads=[1, 4, 8, 32])

# %% [markdown]
# **Interview · How much memory does it take to train 7 billion parameters?**
#
# - *Thirty seconds:* In mixed precision with Adam, a parameter takes 2 bytes for the weight, 2 for its gradient, 4 for the
#   master weight and 8 for two moments. For 7 billion parameters, these 16 bytes make 112 GB, without activations.
# - *Longer:* That doesn't fit on one 80 GB GPU, but sharded over eight it is 14 GB each, which leaves room for activations.
#   `torch.autocast` comes to 16 as well, because it keeps weights and gradients in float32: 4 + 4 + 8, plus the 16-bit copies
#   that it makes during the forward pass.
# - *They ask next:* How much does inference take? The weights take 14 GB, and the cache takes 4.3 GB for 8,192 tokens with 32
#   layers and 32 heads of width 128.
# - *The trap:* The weights are only an eighth of the total.
# - *Proof:* `proof-16-bytes`, `proof-cache`.
#
# **Interview · How long does it take to train 7 billion parameters on a trillion tokens?**
#
# - *Thirty seconds:* Training takes six FLOPs per parameter and token, so 6 · 7·10⁹ · 10¹² = 4.2 · 10²² in all. If each of 256
#   GPUs reaches 4 · 10¹⁴ FLOP/s, which is 40 % of an H100's dense peak in bfloat16, that takes 4.1 · 10⁵ seconds, or five days.
# - *Longer:* Two of the six, a multiplication and an addition, belong to the forward pass, while the backward pass
#   needs two matrix multiplications of that size.
# - *They ask next:* What does this leave out? Attention's own matrix multiplications, whose share grows with the
#   length, and all the waiting for memory and for other GPUs, so reaching half of the peak is already good.
# - *The trap:* The vendor's peak with sparsity is twice the dense one.
# - *Proof:* `proof-six`.

# %% tags=["proof-six"]
shapes = []


def product(a, b):
    shapes.append((a.shape[0], a.shape[1], b.shape[1]))
    return a @ b


rows, weight = torch.randn(32, 64), torch.randn(64, 64)
out = product(rows, weight)  # forward: x W
of_rows, of_weight = product(torch.ones_like(out), weight.t()), product(rows.t(), torch.ones_like(out))  # backward
operations = sum(2 * n * k * m for n, k, m in shapes)
print(operations, "=", operations // (32 * weight.numel()), "× 32 rows ×", weight.numel(), "parameters")
print(f"{6 * 7e9 * 1e12 / (256 * 4e14) / 86400:.1f} days")

# %% [markdown]
# ### A capacity question
# A product manager wants a 70-billion-parameter model to serve 20 requests per second, each of which takes 25 seconds
# and has 4,096 tokens in its cache. The model has 80 layers and 8 key-value heads of width 128. By **Little's law**,
# arrivals per second times seconds per request gives the number of requests in the system at once:

# %% tags=["proof-capacity"]
together = 20 * 25  # requests per second times seconds per request
weights, caches = 70e9 * 2 / 1e9, together * cache(4096, 8, layers=80)
usable, bandwidth = 0.9 * 80, 3350  # GB and GB/s of one H100
print(
    f"{together} requests at once, {caches / together:.2f} GB each: {caches:.0f} GB of caches, {weights:.0f} GB of weights"
)
print(
    f"at least {(weights + caches) / usable:.1f} GPUs, so two replicas of 8: {2 * weights + caches:.0f} of {16 * usable:.0f} GB"
)
step = (2 * weights + caches) / (16 * bandwidth)
print(
    f"a token reads all of it once: {1000 * step:.0f} ms, so at most {1 / step:.0f} tokens per second for each request"
)

# %% [markdown]
# **Interview · How many GPUs do you need to serve a 70-billion-parameter model to 500 users at once?**
#
# - *Thirty seconds:* The weights are 140 GB in bfloat16. With 8 key-value heads a cache of 4,096 tokens is 1.3 GB, so 500 of them
#   are 670 GB. With 72 usable GB per GPU I need at least 12, and I'd take 16 as two replicas of eight.
# - *Longer:* Memory isn't the only limit, because each decoding step reads weights and caches once. That is about 950
#   GB over 16 GPUs of 3.35 TB/s, which takes 18 ms, so each user gets at most 56 tokens per second.
# - *They ask next:* How do you halve the cost? Weights and caches in FP8 halve both the memory and the traffic, and paged caches
#   avoid reserving the longest length for every request ([chapter 22b](22b_memory.ipynb)).
# - *The trap:* It isn't enough to divide the weights by 80 GB. Here the caches need five times as much.
# - *Proof:* `proof-capacity`.

# %% [markdown] tags=["short"]
# ## Run an interview
# The rounds are rapid fire, explain, predict, estimate, whiteboard, design and debug, and together they take 45 minutes. Here they have
# buttons, while in a terminal `course interview` runs the same interview, with options such as `--round debug`, `--minutes 20`,
# or `--no-clock`. You can stop at any time and pick up where you left off.
# `course interview --export cards.txt` makes cards for Anki, and `--export questions.html` makes a page to print.

# %%
from course.interview import notebook

notebook.show()

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What Brier score do you get if you say 50 % each time? 0.25.
# 2. What does a loss below the entropy of the data suggest? The input contains the target.
# 3. How much memory does Adam in mixed precision take per parameter, without activations? 16 bytes.
# 4. How many FLOPs does training take for each parameter and token? Six.
# 5. What does a good test of a bug do before the bug is fixed? It fails.
#
# ## Ten lines to remember
# 1. Say how sure you are, and how you'd check.
# 2. Test yourself first, read afterwards, and leave the cards that you know alone for a while.
# 3. The weakness is a topic, not a single card.
# 4. Write the shapes first, then the code, and try a small input that isn't square.
# 5. Name the observation, the hypothesis and the test, all three aloud.
# 6. Check data, loss, gradients, modes and bookkeeping, in this order.
# 7. Know the loss at the start and its floor, because a loss that is too low is a fault as well.
# 8. Make one change at a time, and write an assertion for each fault.
# 9. In an estimate, say what is counted, how many there are, and how large each is.
# 10. Training takes 16 bytes per parameter, and 6 FLOPs per parameter and token.
#
# ## You try
# In [the exercises](../exercises/25_mock_interview.ipynb), one for each round, you score your confidence, give counterexamples,
# predict a loop, write a linear layer, fix a program with four faults, and estimate; two long debug rounds follow. Then run an
# interview a day, until your curve lies near the diagonal. Chapters [26](26_whiteboard_decoder.ipynb) to
# [29](29_whiteboard_classics.ipynb) have more problems for the whiteboard.

# %% [markdown]
# ## If you have time
# ### Which question comes next? Spaced repetition
# You have 400 questions and one evening. If you take them in order, you never reach chapter 23; if you draw them at random, you
# spend most of the time on what you already know. So let each card *rest*, for longer every time you know the answer:

# %% tags=["proof-rests"]
import numpy as np

days = (0, 1, 3, 7, 16, 35)


def asked(knows, until=60):
    """The days on which a card is asked; `knows` says for the first, second, … time whether you know it."""
    day, row, found = 0, 0, []
    while day < until:
        found.append(day)
        row = row + 1 if knows(len(found)) else 0
        day += max(1, days[min(row, len(days) - 1)])
    return found


plans = {
    "known each time": lambda time: True,
    "forgotten once": lambda time: time != 3,
    "never known": lambda time: False,
}
for name, knows in plans.items():
    found = asked(knows)
    print(f"{name:16} asked {len(found):2} times in 60 days, at first on the days {found[:6]}")
counts = {name: (asked(knows), np.arange(1, len(asked(knows)) + 1)) for name, knows in plans.items()}
pictures.curves(counts, xlabel="day", ylabel="times asked")

# %% [markdown]
# **Break it.** Two cards ask nearly the same thing, but each of them rests separately, so if you fail `view` today, you may
# still not be asked about `reshape` for a month. The weakness is a *topic*, not a single card. `course interview` therefore
# draws half of the cards with weights: a card that you failed last time counts a hundredfold, and the larger the share of points
# that a topic has lost, the more its cards count. The other half ignores your answers, and resting cards come last.

# %% tags=["proof-weak"]
from course.interview.cards import Card
from course.interview.history import Answer
from course.interview.schedule import order, weakness

topics = {"view": "strides", "reshape": "strides", "hooks": "autograd", "leaf": "autograd", "bucket": "several GPUs"}
cards = {name: Card(name, "line", "03", name, topic=topic) for name, topic in topics.items()}
past = [Answer("view", "rapid", when=0, score=0.0), Answer("hooks", "rapid", when=0, score=1.0)]
weak = weakness(past, cards)
print({topic: round(weak.get(topic, 0.5), 2) for topic in dict.fromkeys(topics.values())})
draws = [order(cards.values(), past, cards, now=7200.0, rng=np.random.default_rng(seed)) for seed in range(1000)]
print("first, of 1,000 draws two hours later:", {name: sum(draw[0].name == name for draw in draws) for name in topics})
print("last:", {name: sum(draw[-1].name == name for draw in draws) for name in topics})

# %% [markdown]
# A topic that hasn't come up yet counts as half known, so it comes between the two. The failed card is first in most draws but
# not in all of them, because one mistake shouldn't decide what a whole interview is about.
#
# **Interview · You have three evenings. How do you prepare?**
#
# - *Thirty seconds:* I test myself first and read afterwards. A round of rapid fire finds the weak topics in ten minutes; I read
#   those sections, write their code once, and test myself again the next day.
# - *Longer:* The cards that I know rest for longer each time, and I spend the last evening answering aloud.
# - *They ask next:* How do you know that you know something? I can explain it without notes, name the exception, and write the
#   line that shows it.
# - *The trap:* Reading the same chapter twice feels like knowledge but tests nothing. One failed question shows what is missing.
# - *Proof:* `proof-rests`, `proof-weak`.
