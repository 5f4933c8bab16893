# %% [markdown]
# # Mock interview
# After this chapter you'll have been interviewed, in six rounds that are drawn from the whole course, and you'll know
# how far you can trust your own confidence. You'll also have a plan for the two rounds in which it is easiest to lose your
# head: debugging and estimating. An interview takes 45 minutes, whenever you like.
#
# ## Ten questions, and how sure are you?
# Write down an answer to each, and beside it how sure you are: 10, 30, 50, 70 or 90 percent. The answers
# are below the next cell, so finish your list before you scroll.
#
# 1. What is the shape of `torch.zeros(3, 1) - torch.zeros(3)`?
# 2. What is the dtype of `torch.arange(3) / 2`?
# 3. `x` is 3, and `(x * x).backward()` runs twice. What is `x.grad`?
# 4. What does `nn.Dropout(0.2)` make of a 1 in eval mode?
# 5. What is the shape of the weight of `nn.Linear(3, 4)`?
# 6. `y = x.detach()`, then `y[0] = 7`. Does `x` change?
# 7. A classifier of ten classes knows nothing. What is its loss?
# 8. `StepLR(optimizer, 2)` starts with a rate of 1. What is it after three epochs?
# 9. A new batch norm sees one batch whose mean is 10. What is its running mean?
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
# Now compare. The two lists below are those of a reader made up for this page. Replace them with yours, and run the cell again:

# %% tags=["proof-curve"]
from course import pictures
from course.interview import calibration

sure = [90, 90, 70, 90, 90, 70, 50, 90, 70, 90]
right = [True, True, False, False, True, True, False, True, False, False]
pairs = list(zip(sure, right, strict=True))
print(calibration.verdict(pairs))
shrug = calibration.brier([(50, each) for each in right])
print(f"Brier score {calibration.brier(pairs):.2f}; saying 50 % each time gives {shrug:.2f}")
print(calibration.bars(calibration.levels(pairs)))

# %% [markdown]
# This reader would do better by shrugging: saying 50 % each time gives a lower score. The **Brier score** is the
# mean squared distance between the probability you said and what happened: 1 for a right answer, 0 for a wrong one. Your confidence is
# *calibrated* if 70 % of the answers you were 70 % sure of are right, and likewise for the other levels.
#
# The slider makes the reader more or less sure of every answer, and leaves the answers alone:


# %% tags=["proof-shift"]
def shifted(points):
    moved = [min(100, max(0, each + points)) for each in sure]
    return moved, calibration.brier(zip(moved, right, strict=True))


def draw(points):
    moved, score = shifted(points)
    levels = calibration.levels(zip(moved, right, strict=True))
    reader = [each.sure for each in levels], [each.share for each in levels]
    said = "; ".join(f"{each.sure} % sure, {each.share:.0f} % right" for each in levels)
    lines, alt = {"perfect": ([0, 100], [0, 100]), "reader": reader}, f"Brier score {score:.2f}: {said}."
    return pictures.curves(lines, xlabel="how sure (%)", ylabel="right (%)", alt=alt)


print({points: round(shifted(points)[1], 2) for points in (-40, -30, -20, -10, 0, 10)})
pictures.slider(draw, start={"points": 0}, points=[-40, -30, -20, -10, 0, 10])

# %% [markdown]
# With about thirty points less, this reader's score is best. In an interview that is the difference between "It is a view" and "I think it's a view,
# and I'd check `data_ptr`".
#
# **Interview · You aren't sure of an answer. What do you say?**
#
# - *Thirty seconds:* What you know, how sure you are, and how you'd find out: "I'd expect a copy here, since the
#   strides don't fit. I'd compare `data_ptr`."
# - *Longer:* Interviewers ask until they reach the edge of what you know. What you do there is part of what they want to see.
# - *They ask next:* How would you check that in one line? Have that line ready: `is`, `data_ptr`, `_version`, `grad_fn`.
# - *The trap:* Stating a guess as a fact. One wrong certainty costs more than three honest doubts: at 90 % a wrong answer adds 0.81 to
#   the sum of the Brier score, at 50 % it adds 0.25.
# - *Proof:* `proof-curve`, `proof-shift`.
#
# ## Which question comes next?
# You have 300 questions and an evening. The simplest plan goes through them in order, and never reaches chapter 23. Asking at random
# spends most of the time on what you know. So let a card *rest*, longer each time you know it:

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
# **Break it.** Two cards ask nearly the same thing, but each rests on its own. You fail `view` today and aren't asked about `reshape` for a month.
# What is weak is a *topic*, not a card. `course interview` looks at both: cards that you failed the last time come first and cards
# that rest come last. The others are sorted by topic, those with the largest share of missing points first.

# %% tags=["proof-weak"]
from course.interview.cards import Card
from course.interview.history import Answer
from course.interview.schedule import order, weakness

topics = {"view": "strides", "reshape": "strides", "hooks": "autograd", "leaf": "autograd", "bucket": "several GPUs"}
cards = {name: Card(name, "line", "03", name, topics=frozenset({topic})) for name, topic in topics.items()}
past = [Answer("view", "rapid", when=0, score=0.0), Answer("hooks", "rapid", when=0, score=1.0)]
weak = weakness(set(topics.values()), past, cards)
print({topic: round(share, 2) for topic, share in sorted(weak.items())})
chosen = order(cards.values(), past, cards, now=60.0, rng=np.random.default_rng(3))
print([card.name for card in chosen])

# %% [markdown] tags=["short"]
# A topic that hasn't been asked about counts as half known, so it comes between the two.
#
# **Interview · You have three evenings. How do you prepare?**
#
# - *Thirty seconds:* Ask first, read afterwards. A round of rapid fire finds the weak topics in ten minutes; read those sections,
#   write their code once, and ask yourself again the next day.
# - *Longer:* Let what you know rest for longer each time, and keep the last evening for speaking aloud.
# - *They ask next:* How do you know that you know it? You can say it without the page, name the exception, and write the line that shows it.
# - *The trap:* Reading the same chapter twice. It feels like knowing, but it tests nothing. One answer to `hooks` told more.
# - *Proof:* `proof-rests`, `proof-weak`.
#
# ## At the whiteboard: shapes before code
# You have fifteen minutes for attention, a loss or a layer. Start with a comment that says the shapes. It costs a minute and
# finds the mistake that raises nothing:

# %% tags=["proof-shapes"]
torch.manual_seed(0)
inputs = torch.randn(64, 3)
target = inputs @ torch.tensor([1.0, -2.0, 0.5])  # (64,)


def fitted(loss):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        loss(model(inputs)).backward()
        optimizer.step()
    return [round(each, 1) + 0.0 for each in model.weight[0].tolist()]


print(
    "(64, 1) - (64,)  →", tuple((torch.zeros(64, 1) - target).shape), fitted(lambda out: ((out - target) ** 2).mean())
)
print(
    "(64,)   - (64,)  →",
    tuple((torch.zeros(64) - target).shape),
    fitted(lambda out: ((out[:, 0] - target) ** 2).mean()),
)

# %% [markdown]
# The weights should be 1, −2 and 0.5. In the first line every prediction is compared with every target, and the best that a model can
# do is to predict their mean. It trained, it raised nothing, and it learned nothing.
#
# **Interview · What do you write first at the whiteboard?**
#
# - *Thirty seconds:* The signature and the shapes of what comes in and goes out, with names: batch, heads, length, width. Then the
#   line that contracts a dimension, then the rest.
# - *Longer:* Say what you leave out (masks, dtypes, devices), so that it counts as a choice. Then try it on the smallest input that isn't
#   square.
# - *They ask next:* What is the smallest input that would show a bug? One whose dimensions all differ, such as (2, 3, 5), so the batch isn't 1.
# - *The trap:* Testing with a square matrix or a batch of one. Transposed weights and lost dimensions fit there.
# - *Proof:* `proof-shapes`.
#
# ## Think aloud in a debug round
# You get a program of 80 lines that trains a small language model, and four reports about it. The four are drawn
# from fourteen. Which of the fourteen can you see in the loss? Here is the program with one fault at a time:

# %% tags=["proof-losses"]
import warnings
from course.interview import faults

warnings.simplefilter("ignore")  # two of the faults make NumPy and PyTorch complain
curves = {}
for fault in [None, *faults.FAULTS]:
    program = faults.load(faults.planted([fault] if fault else []))
    held_out = [loss for _, loss in program.train()[2]]
    curves[fault.name if fault else "no fault"] = held_out
plain = curves["no fault"][-1]
visible = [name for name, losses in curves.items() if abs(losses[-1] - plain) > 0.15]
print("seen in the loss:    ", {name: f"{curves[name][-1]:.1f}" for name in visible})
print("looks like no fault: ", len(curves) - 1 - len(visible), "of", len(curves) - 1)
shown = {name: curves[name] for name in ["no fault", *visible]}
said = "; ".join(f"{name}: {losses[-1]:.1f}" for name, losses in shown.items())
pictures.curves(shown, xlabel="epoch", ylabel="held-out loss (nats)", alt=f"Held-out losses after six epochs. {said}.")

# %% [markdown]
# Nine of fourteen leave the loss as it should be. And the two lowest curves are the worst: a quarter of the tokens are drawn at
# random, so no honest model gets below 0.95. A loss that is too good to be true is a fault, too.
#
# So look at the loss first, but have a number to compare it with. Then ask one question after another, each answered by a line of code.
# Here are three of them, on four programs:


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
# The first loss is near ln 8 in all four, so it finds none of the faults. A model that always predicts the right token should have a loss
# of 0, and checking that finds two of them. A weight that hardly moves gives away the third. In a whole program, check five things in this order:
#
# 1. *The data:* print one batch, decoded. Are the targets what you think they are?
# 2. *The loss:* what should it be at the start, and what is its floor? What does it say to a perfect answer?
# 3. *The gradients:* does each parameter have one, is it from this step, and does the weight move as far as it should?
# 4. *The modes:* is evaluation in eval mode, without gradients, and does training go on in train mode?
# 5. *The bookkeeping:* order of `step` calls, weighted means, copies of what is kept.
#
# **Interview · A run doesn't learn. What do you check first, second and third?**
#
# - *Thirty seconds:* A batch, with its targets. Then the loss: at the start, for a perfect answer, and on one batch that the model
#   should be able to learn by heart. Then whether each parameter has a new gradient and moves.
# - *Longer:* That order follows the data through the program, and each check cuts off what lies before it.
# - *They ask next:* Why not begin with the learning rate? Because it is a guess that changes every number at once.
# - *The trap:* Changing two things at a time, or trusting the first loss: it is near ln 8 in all four programs.
# - *Proof:* `proof-checks`.
#
# **Interview · Validation looks better than it can be. Name four causes.**
#
# - *Thirty seconds:* The target is in the input (a missing shift, a mask with the wrong polarity); rows of the validation set in the
#   training set; batch statistics of the validation set itself; a mean in which easy batches count more.
# - *Longer:* Know the floor. For random tokens it is their entropy, for a benchmark it is what people reach.
# - *They ask next:* How do you prove a leak? Change what the model may not see, and check whether an output moves.
# - *The trap:* Reporting the number before you have looked for a leak.
# - *Proof:* `proof-losses`, `proof-leak`.

# %% tags=["proof-leak"]
for name in ("no fault", "mask polarity"):
    program = faults.load(faults.planted([faults.named(name)] if name != "no fault" else []))
    torch.manual_seed(0)
    model, rows = program.Model().eval(), program.sequences(1, 0)[:, :-1]
    other = rows.clone()
    other[0, -1] = (other[0, -1] + 1) % 8
    change = (model(rows) - model(other)).abs().amax(-1)[0]
    print(f"{name:14} another last token changes the outputs at", [place for place in range(8) if change[place] > 1e-4])

# %% [markdown]
# What do you *say* meanwhile? Three sentences, again and again: what you see, what could cause it, and what you'll look at to
# decide. "The loss is 0.00 after six epochs. Either the data is trivial or the target is in the input. I'll print one
# row and its target." Silence reads as being stuck, and a fault that you name and then dismiss still counts.
#
# **Interview · How do you think aloud in a debug round?**
#
# - *Thirty seconds:* Observation, hypothesis, test. Say what each outcome of the test would mean before you run it.
# - *Longer:* Write the test down as an assertion. It proves that the fault was there, and it keeps the fault from coming back.
# - *They ask next:* When do you stop? When each report is explained by a line, and each has a test that failed before and passes now.
# - *The trap:* Mending what looks odd. Nine of the faults change nothing in the loss, so "it still trains" proves nothing.
# - *Proof:* `proof-losses`, `proof-assertion`.

# %% tags=["proof-assertion"]
spoiled = faults.load(faults.planted([faults.named("best weights are an alias")]))
clean = faults.load(faults.clean())
for name, program in (("with the fault", spoiled), ("mended", clean)):
    model, best, history = program.train(epochs=2)
    shared = sum(each.data_ptr() == best[key].data_ptr() for key, each in model.state_dict().items())
    print(
        f"{name:15} held-out losses {[round(loss, 1) for _, loss in history]}, best weights that are the model's own: {shared} of {len(best)}"
    )

# %% [markdown]
# ## Estimate before you calculate
# An estimate has three parts: what is counted, how many there are, and how large one is. Say them in that order, and round early. The first
# one to know is sixteen bytes a parameter. Count them on a real step:

# %% tags=["proof-16-bytes"]
model = nn.Linear(1000, 1000, bias=False)
master = [each.detach().clone().requires_grad_() for each in model.parameters()]
model.bfloat16()
optimizer = torch.optim.Adam(master)
model(torch.randn(4, 1000).bfloat16()).sum().backward()
master[0].grad = model.weight.grad.float()
optimizer.step()
master[0].grad = None
state = optimizer.state[master[0]]
held = {"weights": model.weight, "gradients": model.weight.grad, "master weights": master[0]}
held |= {name: state[name] for name in ("exp_avg", "exp_avg_sq")}
sizes = {name: each.untyped_storage().nbytes() / 1e6 for name, each in held.items()}
print(sizes, "→", f"{sum(sizes.values()):.0f} bytes a parameter")
print(f"7 billion parameters: {16 * 7} GB, so one GPU of 80 GB isn't enough")

# %% [markdown]
# Activations come on top, and they grow with the batch. So does, at inference, the key-value cache:


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
# - *Thirty seconds:* Mixed precision with Adam: 2 bytes for the weight, 2 for its gradient, 4 for the master weight, 8 for two moments. 16
#   bytes times 7 billion are 112 GB, without activations.
# - *Longer:* That doesn't fit on one GPU of 80 GB. Sharded over eight it is 14 GB each, which leaves room for activations.
# - *They ask next:* And for inference? 14 GB for the weights, and the cache: 4.3 GB for 8,192 tokens with 32 layers and 32 heads of width 128.
# - *The trap:* Counting only the weights. They are an eighth of it.
# - *Proof:* `proof-16-bytes`, `proof-cache`.
#
# **Interview · How long does it take to train 7 billion parameters on a trillion tokens?**
#
# - *Thirty seconds:* Six operations for each parameter and token: 6 · 7·10⁹ · 10¹² = 4.2 · 10²². At 4 · 10¹⁴ a second on each of 256 GPUs
#   that is 4.1 · 10⁵ seconds, or five days.
# - *Longer:* Two of the six are the forward pass: a multiplication and an addition. The backward pass needs two products of that size.
# - *They ask next:* What is left out? Attention's own products, which grow with the length, and everything that waits. Half of
#   the peak is already good.
# - *The trap:* Using the peak that the vendor prints, with sparsity.
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

# %% [markdown] tags=["short"]
# ## Hold one
# The rounds are rapid fire, explain, predict, estimate, whiteboard and debug, and together they take 45 minutes. Here they have buttons. In a terminal
# `course interview` holds the same one, with `--round debug`, `--minutes 20`, or `--no-clock` if a running clock is in your way. You can stop at any time, and the interview goes on where you left
# it. `course interview --export cards.txt` makes cards for Anki, and `--export questions.html` a page to print.

# %%
from course.interview import notebook

notebook.show()

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What Brier score do you get if you say 50 % each time? 0.25.
# 2. What does a loss below its floor suggest? That the target is in the input.
# 3. Memory of Adam in mixed precision for each parameter, without activations? 16 bytes.
# 4. How many operations does training take for each parameter and token? Six.
# 5. What does a good test of a bug do before the bug is mended? It fails.
#
# ## Ten lines to remember
# 1. Say how sure you are, and how you'd check.
# 2. Ask first, read afterwards. Let what you know rest.
# 3. What is weak is a topic, not a card.
# 4. Shapes first, then code, then a small input that isn't square.
# 5. Observation, hypothesis, test: aloud.
# 6. Data, loss, gradients, modes, bookkeeping: in this order.
# 7. Know the loss at the start and its floor. Too good is a fault.
# 8. One change at a time, and an assertion for each fault.
# 9. Estimates: what is counted, how many, how large one is.
# 10. 16 bytes a parameter, 6 operations for each parameter and token.
#
# ## You try
# [Six exercises](../exercises/25_mock_interview.ipynb), one for each round, 18 points: score your confidence, give counterexamples, predict a loop, write a linear layer, repair a
# program with four faults, and estimate. Then hold an interview a day, until your curve lies near the diagonal.
