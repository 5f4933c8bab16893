# %% [markdown]
# # Everything on your own code
# Two networks of `minitorch/models` train on your library, and not a line of them is changed but the imports. You'll
# see whose code runs, kill a training run and get each loss back, train on four ranks, and spoil one part on purpose to
# see which milestone falls.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(24)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## How much of it is yours?
# Each box is a definition of `mytorch`, as wide as it has lines. Filled boxes are yours: exercises that you solved, and what you
# wrote with `course write`.

# %%
from course import pictures

whole = lesson.mine()
pictures.Picture(whole.png, "A map of mytorch: each definition is a box, and those that you wrote are filled.")

# %% [markdown]
# `course mine` in a terminal says the same in numbers. The exercises ask for about 35 % of the code, and everything else can be
# written too. But does it matter whose a line is, if it never runs? Here is the surprise: guess how many chapters' code one training
# step of LeNet needs. Then let Python tell you: `sys.setprofile` sets a function that it calls at each function call. LeNet, a small
# GPT, and what is done with them are in [a file](files/milestones.py), which takes any library.

# %% tags=["proof-chapters"]
import linecache
import sys

sys.path.insert(0, "files")
from milestones import fallen, gpt_losses, lenet, lenet_losses, on, rank_losses


def chapters_that_run(job):
    ran = set()
    sys.setprofile(lambda frame, event, _: ran.add(frame.f_code))
    job(mytorch, 1)
    sys.setprofile(None)
    return sorted({heading_above(code) for code in ran if code.co_filename.startswith("<mytorch>")} - {None})


def heading_above(code):
    lines = linecache.getlines(code.co_filename)[: code.co_firstlineno]
    return next((line.split()[1][:2] for line in lines[::-1] if line.startswith("# ") and " · " in line), None)


for job in (lenet_losses, gpt_losses):
    print(f"{job.__name__:13}", *chapters_that_run(job))

# %% [markdown]
# A step of LeNet runs code from the first chapter on: a dtype has to be known before there is a tensor. Attention, embeddings and
# layer norm run for the GPT alone, convolutions for LeNet alone. What runs for both is the core: tensors, views, dispatch, the
# graph, modules, the loss and the optimizer. One function of chapter 23b runs too, because that chapter changed how values are kept for the
# backward pass.
#
# **Interview · What do you need to write before you can train a GPT without a framework?**
#
# - *Thirty seconds:* Arrays with views and broadcasting, a graph with a backward pass, about twenty operations with their
#   gradients, modules that collect parameters, cross-entropy and an optimizer. The model itself is the shortest part.
# - *Longer:* Of layers it needs `Linear`, `Embedding`, `LayerNorm`, GELU, softmax and dropout. Attention is made of products.
# - *They ask next:* What makes it fast? Kernels: fused attention and matrix products on a GPU. The rest stays as it is.
# - *The trap:* Beginning with attention. A wrong sum over a broadcast dimension spoils everything, and it shows late.
# - *Proof:* `proof-chapters`.
#
# ## Is it right?
# minitorch is the oracle. Same seed, same data, and the losses of three steps side by side:

# %% tags=["proof-oracle"]
import minitorch

for job in (lenet_losses, gpt_losses):
    mine, theirs = job(mytorch), job(minitorch)
    apart = max(abs(one - other) for one, other in zip(mine, theirs, strict=True))
    print(f"{job.__name__:13} {[f'{each:.3f}' for each in mine]}, largest difference {apart:.3f}")

# %% [markdown]
# Three steps are enough to see a fault in the forward pass, the gradients or the update, because each loss depends on all three of the
# step before it.
#
# ## Milestone: LeNet reads digits
# The images are scikit-learn's, enlarged to 32×32. Each is moved by up to two pixels when it is loaded. Your loader
# ([chapter 18](18_data.ipynb)) makes the batches, the rate rises and falls ([chapter 17](17_learning_rate_schedules.ipynb)), and your
# trainer ([chapter 19](19_training_loop.ipynb)) makes 252 steps. 450 images are held out.

# %% tags=["proof-LeNet"]
import numpy as np
from sklearn.datasets import load_digits

digits, data = load_digits(), mytorch.utils.data
images = ((digits.images.astype("float32") / 16 - 0.3) / 0.4)[:, None].repeat(4, 2).repeat(4, 3)
train, test = np.split(np.random.default_rng(0).permutation(1797), [1347])


class Moved(data.Dataset):
    def __len__(self):
        return len(train)

    def __getitem__(self, index):
        by = mytorch.randint(-2, 3, (2,)).tolist()
        return mytorch.tensor(np.roll(images[train[index]], by, (1, 2))), int(digits.target[train[index]])


def summed(model, batch):
    return mytorch.nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum"), len(batch[1])


mytorch.manual_seed(0)
net, loader = on(mytorch, lenet).LeNet(), data.DataLoader(Moved(), 32, shuffle=True, drop_last=True)
optimizer = mytorch.optim.AdamW(net.parameters(), lr=4e-3)
schedule = mytorch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=253)
trainer = mytorch.Trainer(net, optimizer, schedule, loader, summed, max_norm=1.0)
trainer.fit(252)
with mytorch.no_grad():
    answers = net.eval()(mytorch.tensor(images[test])).argmax(1).numpy()
wrong = answers != digits.target[test]
print(f"of 450 images, at least {min(98.0, (1 - wrong.mean()) * 100):.0f} % right")
pictures.curves(
    {"LeNet": trainer.losses[::4]},
    range(1, 253, 4),
    xlabel="step",
    ylabel="loss (nats)",
    alt="It falls to a few hundredths.",
)

# %% [markdown]
# It prints no more than 98 %, because another processor may have two images more or fewer wrong. So may another seed.
#
# **Interview · One seed has 1 of 450 images wrong, another has 6. What do you report?**
#
# - *Thirty seconds:* The mean over several seeds, with their spread, and how many images were held out. With 450 of them, and about four
#   wrong, the count alone has a standard deviation of about 2.
# - *Longer:* The count of mistakes is roughly Poisson: its standard deviation is the root of its mean. To tell 99.0 % from 99.3 %, you need
#   thousands of images.
# - *They ask next:* May you report the best seed? Only as the best of so many, and with a test set that took no part in the choice.
# - *The trap:* Comparing two models on one seed each.
# - *Proof:* `proof-spread`.

# %% tags=["proof-spread"]
counts = mytorch.rand(2000, 450).lt(4 / 450).sum(1).float()
print(
    f"450 images, each wrong with probability 4/450: mean {counts.mean().item():.0f}, deviation {counts.std().item():.0f}"
)

# %% [markdown]
# ## Milestone: a GPT that writes, killed on the way
# [This script](files/train_gpt.py) trains `minitorch/models/gpt.py` on four lines by Shakespeare, with dropout, a shuffling loader and a
# schedule. After every tenth step it saves `trainer.state_dict()` with your `mytorch.save`, which writes another file and replaces the old
# one ([chapter 20](20_saving_and_loading.ipynb)). First it runs to the end.

# %%
import subprocess
import tempfile
from pathlib import Path

folders = [Path(tempfile.mkdtemp()) for _ in range(2)]


def start(folder, until=240):
    """Start the script, read what it prints up to this step, and kill it if that isn't the last."""
    command = [sys.executable, "files/train_gpt.py", str(folder), "240"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines = iter(process.stdout.readline, f"{until}\n")
    printed = [line.strip() for line in lines if line]
    process.kill() if until < 240 else process.wait()
    process.stdout.close()
    return printed[0]


print("in one go:", start(folders[0]))

# %% [markdown]
# Now the same in another folder. The process is killed as soon as it says that it has made step 103, in the middle of an epoch and three
# steps after a checkpoint. It gets no chance to clean up. Then somebody starts it again.

# %%
print("first time: ", start(folders[1], until=103))

# %% tags=["proof-killed"]
print("second time:", start(folders[1]))
straight, resumed = (mytorch.load(folder / "checkpoint.pt") for folder in folders)
print(f"of {len(resumed['losses'])} losses, {sum(map(float.__ne__, straight['losses'], resumed['losses']))} differ")
gaps = [(one - resumed["model"][name]).abs().max().item() for name, one in straight["model"].items()]
print("largest difference of a weight:", max(gaps))
about = "Both runs have the same losses. They fall from 3.4 to a few tenths."
lines = {"in one go": straight["losses"][::4], "resumed": (range(101, 241, 4), resumed["losses"][100::4])}
pictures.curves(lines, range(1, 241, 4), xlabel="step", ylabel="loss (nats)", marks={"killed": 103}, alt=about)

# %% [markdown]
# Zero, not nearly zero. Steps 101 to 103 were made twice, with the same batches and the same dropout, and the second time they gave the same
# losses.
#
# **Interview · How do you prove that a resume is exact?**
#
# - *Thirty seconds:* Run once straight through and once killed, and compare every loss with `==`. Kill the process from outside, at a step that
#   is neither the end of an epoch nor a checkpoint.
# - *Longer:* Keep dropout, shuffling and the schedule on. Each of them is a piece of state that a resume may miss, and what is switched off
#   isn't tested.
# - *They ask next:* And if the two differ in the last bit? Then something isn't saved, or an operation isn't deterministic. Run straight through
#   twice to tell which.
# - *The trap:* Comparing the final accuracy. A resume that lost Adam's averages also learns.
# - *Proof:* `proof-killed`.
#
# What does the GPT write? It gets the first eight letters of the second line, and always takes the likeliest letter.

# %% tags=["proof-writes"]
import train_gpt

letters, verse = train_gpt.LETTERS, train_gpt.VERSE
writer = train_gpt.make_gpt()
writer.load_state_dict(resumed["model"])
numbers = writer.eval().generate(mytorch.tensor([[letters.index(each) for each in verse[40:48]]]), 32, top_k=1)
print("".join(letters[each] for each in numbers[0].tolist()))


def nats_per_letter(text):
    known = [letters.index(each) for each in text if each in letters][:33]
    return writer(mytorch.tensor([known[:-1]]), mytorch.tensor([known[1:]]))[1].item()


for name, line in (("its own text", verse[40:]), ("another line", "And every fair from fair sometime declines")):
    loss = nats_per_letter(line)
    print(
        f"{name}: {'less than 1' if loss < 1 else 'more than 3'} nats a letter; guessing is {np.log(len(letters)):.1f}"
    )

# %% [markdown]
# **Interview · A small GPT writes its training text without a mistake. What has it learned?**
#
# - *Thirty seconds:* That text. On a line that it hasn't seen, its loss is worse than guessing: it is sure, and wrong.
# - *Longer:* It has far more weights than the text has letters. Hold out text, and watch the loss there.
# - *They ask next:* Is memorizing useful? As a test: a model that can't memorize four lines most likely has a bug.
# - *The trap:* Judging a language model by a sample that you like.
# - *Proof:* `proof-writes`.
#
# What does a checkpoint cost? Compare its size with the model's:

# %% tags=["proof-checkpoint-size"]
adam = sum(each.numel() for entry in resumed["optimizer"]["state"].values() for each in entry.values())
weights = sum(each.numel() for each in writer.parameters())
print(
    f"Adam keeps {adam / weights:.1f} numbers for each weight, so a checkpoint has {1 + adam / weights:.0f} times the weights"
)

# %% [markdown]
# A save takes time, and so does every step that is lost. Say a save takes six minutes. With an interval of $T$ hours between saves, and a failure every $M$
# hours, the run loses $0.1 / T$ of its time to saves, and about $T / 2M$ to failures. Move the slider.

# %% tags=["proof-interval"]
intervals = np.geomspace(0.2, 20, 41)


def draw(hours):
    lost = {"saves": 10 / intervals, "failures": 50 * intervals / hours}
    lost["both"] = lost["saves"] + lost["failures"]
    best = (0.2 * hours) ** 0.5
    alt = f"Saves cost less and failures more the longer the interval; with a failure every {hours} hours, {best:.1f} hours is best."
    return pictures.curves(
        lost, intervals, xlabel="hours between saves", ylabel="lost time (%)", log="xy", marks={"best": best}, alt=alt
    )


for hours in (5, 20, 80):
    lost = 10 / intervals + 50 * intervals / hours
    print(
        f"a failure every {hours} hours: best every {intervals[lost.argmin()]:.1f} hours, formula {(0.2 * hours) ** 0.5:.1f}"
    )
pictures.slider(draw, start={"hours": 20}, hours=[5, 20, 80])

# %% [markdown]
# **Interview · How often do you save a checkpoint?**
#
# - *Thirty seconds:* Often enough that the time spent on saves and the time lost to failures balance. If a save takes time $c$ and failures come
#   every $M$ on average, an interval of about $\sqrt{2 c M}$ is best.
# - *Longer:* Too often, and you only save; too seldom, and each failure costs half an interval on average. With Adam a checkpoint has three times
#   the weights.
# - *They ask next:* What if a save takes minutes? Copy the state into memory and write it in the background, each rank its own shard.
# - *The trap:* Saving once an epoch, because the loop has a line there. An epoch may take days.
# - *Proof:* `proof-interval`, `proof-checkpoint-size`; you measure the best interval in exercise 4.
#
# ## Milestone: four ranks
# Ranks are threads here ([chapter 23](23_multi_gpu.ipynb)). Each gets a fourth of the same batches, from a `DistributedSampler`, and its trainer
# trains the GPT inside `DistributedDataParallel`. Nothing in the trainer changes.


# %% tags=["proof-four-ranks"]
one, four = rank_losses(mytorch, 1), rank_losses(mytorch, 4)
print("one rank:  ", [f"{loss:.3f}" for loss in one])
print("four ranks:", [f"{loss:.3f}" for loss in four], "(mean over the ranks)")

# %% [markdown] tags=["short"]
# **Interview · Four GPUs give another loss curve than one. What do you check?**
#
# - *Thirty seconds:* That the global batch is the same, that gradients are averaged and not summed, that each rank has its own share of one order,
#   and that all begin with the same weights.
# - *Longer:* Unequal numbers of tokens make a mean of means. Batch norm sees a fourth of the rows. Dropout draws other numbers on each rank.
# - *They ask next:* The curve is the same at first and then drifts. Why? Sums in another order differ in the last bit, and training amplifies that.
#   Compare the first steps, in float64 if you can.
# - *The trap:* Printing rank 0's loss. It is that of a fourth of the batch.
# - *Proof:* `proof-four-ranks`.
#
# ## One wrong part
# Four milestones: LeNet and GPT as the oracle has them, a resume, four ranks. Now replace one part of the library by a wrong one. Each of these is
# what a tired programmer might write. Which milestones fall?

# %% tags=["proof-wrong-part"]
WRONG = {
    "mytorch.nn.activation:derivative.relu": 'derivative("relu", x=lambda g, result: g.masked_fill(result <= 0, 1.0))',
    "mytorch.nn.normalization:layer_norm": """
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    distance = input - input.mean(-1, keepdim=True)
    return distance / (input.var(-1, keepdim=True) + eps).sqrt() * weight + bias
""",
    "mytorch.training:Trainer.rest_of_epoch": """
def rest_of_epoch(self):
    self.began = get_rng_state()
    return iter(self.loader)
""",
    "mytorch.nn.parallel.distributed:average_gradients": """
def average_gradients(parameters):
    for each in parameters:
        distributed.all_reduce(each.grad)
""",
    "mytorch.optim.optimizer:Optimizer.zero_grad": """
def zero_grad(self, set_to_none=True):
    pass
""",
}


table = {"nothing": fallen(mytorch)}
table |= {part.split(":")[1]: fallen(lesson.mytorch_with({part: text}, 24)) for part, text in WRONG.items()}
mytorch = lesson.mytorch(24)
for part, names in table.items():
    print(f"{part:23}", ", ".join(names) or "all milestones stand")
names = ["LeNet", "GPT", "resume", "four ranks"]
marks = np.array([[int(name in falls) for name in names] for falls in table.values()])
pictures.grid(marks, marks > 0, "columns: LeNet, GPT, resume, four ranks; rows as printed")

# %% [markdown]
# The pattern says where to look. If LeNet falls and the GPT stands, the fault is in what LeNet alone uses. If both stand, and four ranks fall, it
# is in the averaging. An optimizer that doesn't clear its gradients spoils both networks. The other two milestones still stand, because they compare two runs
# that are equally wrong: a milestone sees only what it compares.
#
# **Interview · Your library's loss differs from PyTorch's at the third step. How do you find the wrong part?**
#
# - *Thirty seconds:* Same weights, same batch. Compare the first loss: if it differs, the forward pass is wrong. Then the gradients, from the last
#   layer to the first. If they agree, compare the weights after one step: then it is the optimizer.
# - *Longer:* Bisect. Hooks give each module's output and gradient; the first one that differs has the fault. Use float64, so that rounding can't hide it.
# - *They ask next:* Only the loss of step 1 agrees. What is left? The backward pass and the update; a gradient check
#   ([chapter 07](07_backward_in_depth.ipynb)) decides.
# - *The trap:* Looking at the curve of a whole training run. Many wrong parts still learn.
# - *Proof:* `proof-wrong-part`; the oracle: `proof-oracle`.
#
# ## The real one
# PyTorch is tested against an oracle too: against NumPy, against finite differences, and each device against the CPU. Here is the comparison that
# most of its tests of numbers come down to, in minitorch:

# %%
import inspect

from minitorch.testing import assert_close

print("\n".join(inspect.getsource(assert_close).splitlines()[:14]))

# %% [markdown] tags=["short"]
# It compares shape, dtype and device before it compares values, with tolerances that depend on the dtype.
#
# ## Rapid fire
# 1. Which layers does a GPT need, and LeNet doesn't? Norms and dropout, embeddings, attention (see [chapters](proof-chapters)).
# 2. What is ln 10 good for? It is [the first loss of ten classes](proof-oracle), 2.3.
# 3. A run saves every tenth step and dies in step 103. From where does it go on? From [100](proof-killed).
# 4. Adam: how large is a checkpoint? [Three times the weights](proof-checkpoint-size).
# 5. Four ranks with 4 rows each: which batch on one rank is the same? [16](proof-four-ranks).
#
# ## Ten lines to remember
# 1. A model file that names only the library runs on any library that keeps its promises.
# 2. An oracle: same seed, same data, compare each loss.
# 3. Three steps see the forward pass, the gradients and the update.
# 4. Report several seeds and the number of held-out images.
# 5. Test a resume by killing a real process, with dropout and shuffling on.
# 6. Compare losses with `==`.
# 7. Save about every $\sqrt{2 c M}$.
# 8. Four ranks: same global batch, averaged gradients, mean of the losses.
# 9. A wrong part often still learns.
# 10. A milestone sees only what it compares.
#
# ## You try
# [The exercises](../exercises/24_capstone.ipynb): predict which milestone falls; assemble a run that may be killed at any time; repair a resume that
# isn't exact; measure the best interval between checkpoints; and make four ranks with unequal shares equal to one.
# [Chapter 24b](24b_llama.ipynb) turns your GPT into a Llama, in four steps.
