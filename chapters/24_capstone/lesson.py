# %% [markdown]
# # Everything on your own code
# In this chapter two networks from `minitorch/models` train on your library, with nothing changed but their imports. You will kill a run
# and reproduce every loss after the restart, compare your library with an oracle, train on four ranks, and break parts of the library on
# purpose to see which tests fail.

# %% hidden=true
from course import lesson, pictures

mytorch = lesson.mytorch(24)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Milestone: a GPT that writes, killed on the way
# [This script](files/train_gpt.py) trains `minitorch/models/gpt.py` on four lines of Shakespeare, with dropout, a shuffling loader and a
# schedule, all of it on your library. After every tenth step it saves `trainer.state_dict()` with your `mytorch.save`, which writes a new
# file and then replaces the old one ([chapter 20](20_saving_and_loading.ipynb)).
#
# One run is left undisturbed and serves as the reference, while a second one is killed in the middle of an epoch, three
# steps past a checkpoint, and started again. Of their 240 losses, how many will differ?

# %%
import subprocess
import sys
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
# The second run writes to its own folder. As soon as it reports step 103, the cell kills it, so the process has no chance to clean up. Then
# the script starts again:

# %% tags=["proof-killed"]
print("first time: ", start(folders[1], until=103))
print("second time:", start(folders[1]))
straight, resumed = (mytorch.load(folder / "checkpoint.pt") for folder in folders)
print(f"of {len(resumed['losses'])} losses, {sum(map(float.__ne__, straight['losses'], resumed['losses']))} differ")
gaps = [(one - resumed["model"][name]).abs().max().item() for name, one in straight["model"].items()]
print("largest difference of a weight:", max(gaps))
about = "Both runs have the same losses. They fall from 3.4 to a few tenths."
lines = {"in one go": straight["losses"][::4], "resumed": (range(101, 241, 4), resumed["losses"][100::4])}
pictures.curves(lines, range(1, 241, 4), xlabel="step", ylabel="loss (nats)", marks={"killed": 103}, alt=about)

# %% [markdown]
# None differs, even though steps 101 to 103 ran twice: the second time, they got the same batches and the same dropout masks, so they
# produced the same losses.
#
# **Interview · How do you prove that a resume is exact?**
#
# - *Thirty seconds:* I train once straight through and once with a kill and a restart, and compare every loss with `==`. I kill the process
#   from outside, at a step that is neither the end of an epoch nor a checkpoint.
# - *Longer:* I keep dropout, shuffling and the schedule switched on, because each of them has state that a resume may
#   miss. With several ranks, the position in the data and each rank's random state belong in the checkpoint as well.
# - *They ask next:* What if the two runs differ in the last bit? Then either some state isn't saved, or an operation
#   isn't deterministic. To find out which, I compare two uninterrupted runs, which differ only in the second case.
# - *The trap:* The final accuracy alone isn't enough: a resumed run often reaches it even after losing Adam's averages.
# - *Proof:* `proof-killed`; several ranks: [chapter 23b](23b_shards.ipynb).

# %% [markdown]
# ## What a small GPT memorizes
# What does the trained GPT write? The next cell prompts it with the first eight letters of the second line and takes the most probable
# letter from there on.

# %% tags=["proof-writes"]
import numpy as np

sys.path.insert(0, "files")
import train_gpt

letters, verse = train_gpt.LETTERS, train_gpt.VERSE
writer = train_gpt.make_gpt()
writer.load_state_dict(resumed["model"])
numbers = writer.eval().generate(mytorch.tensor([[letters.index(letter) for letter in verse[40:48]]]), 32, top_k=1)
print("".join(letters[number] for number in numbers[0].tolist()))


def nats_per_letter(text):
    known = [letters.index(letter) for letter in text if letter in letters][:33]
    return writer(mytorch.tensor([known[:-1]]), mytorch.tensor([known[1:]]))[1].item()


for name, line in (("its own text", verse[40:]), ("another line", "And every fair from fair sometime declines")):
    print(f"{name}: {'less than 1' if nats_per_letter(line) < 1 else 'more than 3'} nats a letter")
print(f"a uniform guess: {np.log(len(letters)):.1f} nats")

# %% [markdown]
# When we trained it with seeds 0, 1 and 2, the loss was between 0.03 and 0.08 on the training text, and between 5.2 and
# 7.0 on three other lines of the sonnet.
#
# **Interview · A small GPT writes its training text without a mistake. What has it learned?**
#
# - *Thirty seconds:* It has memorized that text and learned hardly anything else. On a line that it hasn't seen, its
#   loss is higher than that of a uniform guess, so it is confidently wrong.
# - *Longer:* The model has far more weights than the text has letters, so nothing forced it to generalize. To notice
#   this, I hold out some text and watch the loss on it.
# - *They ask next:* Is it useful that a model can memorize? Yes, as a test: a model that can't memorize four lines most
#   likely has a bug.
# - *The trap:* One good sample doesn't make a good language model.
# - *Proof:* `proof-writes`.

# %% [markdown]
# ## What a long run costs
# Compare the size of a checkpoint with that of the weights, first in float32 as here, and then in the usual mixed precision: with
# bfloat16 weights, a float32 *master copy* of them, and Adam's averages in float32 ([chapter 22b](22b_memory.ipynb)).

# %% tags=["proof-checkpoint-size"]
weights = [parameter.detach() for parameter in writer.parameters()]
averages = [average for entry in resumed["optimizer"]["state"].values() for average in entry.values()]
half = [weight.bfloat16() for weight in weights]


def size(*groups):
    return sum(tensor.nbytes for tensors in groups for tensor in tensors)


for name, trained, saved in (
    ("float32", size(weights), size(weights, averages)),
    ("mixed precision", size(half), size(half, weights, averages)),
):
    print(f"{name:15} checkpoint {saved / trained:.1f} times the weights", end=", ")
    print(f"{saved / size(half) * 2:.0f} bytes a parameter: {saved / size(half) * 14:.0f} GB for 7 billion")

# %% [markdown]
# Saving takes time, and so does repeating the steps that a failure wiped out. If a save takes six minutes, with $T$
# hours between saves and a failure every $M$ hours, the run loses $0.1 / T$ of its time to saves and about $T / 2M$ to
# failures. Move the slider to see how the best interval depends on $M$.

# %% tags=["proof-interval"]
intervals = np.geomspace(0.2, 20, 41)


def draw(hours):
    lost = {"saves": 10 / intervals, "failures": 50 * intervals / hours}
    lost["both"] = lost["saves"] + lost["failures"]
    best = {"best": (0.2 * hours) ** 0.5}
    alt = f"Saves cost less and failures more the longer the interval; the best one is {best['best']:.1f} hours."
    return pictures.curves(lost, intervals, xlabel="interval (hours)", ylabel="lost (%)", log="xy", marks=best, alt=alt)


for hours in (5, 20, 80):
    best = intervals[(10 / intervals + 50 * intervals / hours).argmin()]
    print(f"a failure every {hours} hours: best every {best:.1f} hours, formula {(0.2 * hours) ** 0.5:.1f}")
pictures.slider(draw, start={"hours": 20}, hours=[5, 20, 80])

# %% [markdown]
# **Interview · How often do you save a checkpoint?**
#
# - *Thirty seconds:* I choose the interval at which the time spent on saves equals the time lost to failures. If a save takes time $c$ and
#   the mean time between failures is $M$, the best interval is about $\sqrt{2 c M}$, a rule known as Young's formula.
# - *Longer:* With Adam in float32, a checkpoint is three times as large as the weights; in mixed precision it is seven times as large as
#   the bfloat16 weights, or 14 bytes per parameter. You can omit two of those 14 bytes, because the bfloat16 weights are just the rounded
#   master copy. Keep old checkpoints as well: after a loss spike you can go back to one and skip the batches that caused it.
# - *They ask next:* What do you do if a save takes minutes? I copy the state to the CPU's memory and write it in the background, with each
#   rank writing its own shard ([chapter 23b](23b_shards.ipynb)).
# - *They ask next:* What happens if a machine dies? The others hang or fail in their next collective. `torchrun
#   --max-restarts=3` then restarts all workers, which resume from the last checkpoint; by default it restarts none. With
#   `--nnodes=MIN:MAX` they go on with fewer machines, or with a spare one.
# - *The trap:* Saving once an epoch is a habit from small runs. An epoch of a large run may take days.
# - *Proof:* `proof-interval`, `proof-checkpoint-size`; you measure the best interval in exercise 4.


# %% [markdown]
# ## Is it correct? Comparing with an oracle
# An *oracle* is an implementation that you trust enough to compare yours with. Here it is minitorch: both libraries get the same seed and
# the same data, and the next cell compares their losses over three steps. LeNet, a small GPT and their training programs are in [one
# file](files/milestones.py), which works with any library.

# %% tags=["proof-oracle"]
from milestones import descend, failed, gpt_losses, lenet, lenet_losses, on, rank_losses, small_gpt

import minitorch

for job in (lenet_losses, gpt_losses):
    mine, theirs = job(mytorch), job(minitorch)
    apart = max(abs(one - other) for one, other in zip(mine, theirs, strict=True))
    print(f"{job.__name__:13} {[f'{loss:.3f}' for loss in mine]}, largest difference {apart:.3f}")

# %% [markdown]
# Each loss after the first depends on the forward pass, the gradients and the previous update, so three steps reveal a
# gross fault in any of them. The section *One wrong part* shows which smaller faults slip through.
#
# **Interview · You rewrite a kernel. How do you prove that training is unchanged?**
#
# - *Thirty seconds:* First I test the kernel alone: results and gradients against the old one in float64, on odd shapes
#   and extreme inputs. Then I train with both from the same seed and data, and compare the first losses with a
#   tolerance just above the noise floor. At the end I compare a few seeds of a real run.
# - *Longer:* Equal bits aren't the aim, because another order of summation rounds differently. The *noise floor* is how
#   far two correct versions differ.
# - *They ask next:* The two curves lie on top of each other. Is that enough? No, because all five faults planted below
#   reach the same loss to two digits.
# - *The trap:* Neither the final loss nor a single long run tells two variants apart.
# - *Proof:* `proof-oracle`, `proof-slips-through`, `proof-compare-the-part`.

# %% [markdown]
# ## Milestone: four ranks
# Here the ranks are threads, as in [chapter 23](23_multi_gpu.ipynb). Each of them gets a quarter of every batch from a
# `DistributedSampler` and trains the GPT inside `DistributedDataParallel`, with the same trainer as before.


# %% tags=["proof-four-ranks"]
one, four = rank_losses(mytorch, 1), rank_losses(mytorch, 4)
print("one rank:  ", [f"{loss:.3f}" for loss in one])
print("four ranks:", [f"{loss:.3f}" for loss in four], "(mean over the ranks)")

# %% [markdown]
# The losses agree because the GPT has no dropout here. With dropout they couldn't: one rank draws a single mask for sixteen rows, four ranks
# draw one each for four rows, and these masks depend on the ranks' seeds:

# %% tags=["proof-rank-seeds"]
for rule in ("the same seed", "seed + rank "):
    masks = []
    for rank in range(4):
        mytorch.manual_seed(0 if rule == "the same seed" else rank)
        kept = mytorch.nn.functional.dropout(mytorch.ones(12)) > 0
        masks.append("".join("x" if keep else "." for keep in kept.tolist()))
    print(rule, *masks)

# %% [markdown]
# If every process calls `manual_seed(0)`, as many scripts do, all ranks drop the same units in the same rows. The run still trains, so the
# mistake is rarely noticed, although the noise averages out less than it should.
#
# **Interview · Four GPUs give a different loss curve from one GPU. What do you check?**
#
# - *Thirty seconds:* I check that the global batch is the same, that gradients are averaged and not summed, that the ranks take disjoint
#   shares of the same order, and that all of them start from the same weights.
# - *Longer:* If the ranks have unequal numbers of tokens, averaging their gradients gives a mean of means, and batch norm sees only a
#   quarter of the rows. Dropout draws different masks than a single device would, and identical ones on every rank if all ranks share a
#   seed.
# - *They ask next:* What if the curve is the same at first and then drifts? A different order of summation changes the last bits, and
#   training amplifies the difference, so I compare the first steps, in float64 if I can.
# - *They ask next:* Would the loss show that gradients are summed? With SGD, yes. Adam divides by the gradient's own size, so its steps
#   hardly change.
# - *The trap:* Rank 0's loss covers only a quarter of the batch.
# - *Proof:* `proof-four-ranks`, `proof-rank-seeds`, `proof-sum-or-mean`; means of means and batch norm: [chapter 23](23_multi_gpu.ipynb).

# %% [markdown] tags=["short"]
# ## One wrong part
# You now have four tests: LeNet and the GPT compared with the oracle, a resume, and four ranks. The next cell replaces
# one part of the library at a time with the kind of faulty version that a tired programmer might write. Which of the
# four tests will catch which fault?

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
    self.began = self.random_state()
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


table = {"nothing": failed(mytorch)}
table |= {part.split(":")[1]: failed(lesson.mytorch_with({part: text}, 24)) for part, text in WRONG.items()}
mytorch = lesson.mytorch(24)
for part, tests in table.items():
    print(f"{part:23}", ", ".join(tests) or "no test fails")

# %% [markdown]
# The pattern of failures tells you where to look. If LeNet fails and the GPT passes, look first at code that only LeNet
# uses. If both pass and only the four ranks fail, suspect the averaging. This test catches it because it trains with
# SGD, whereas with Adam it would have passed (see *If you have time*). An optimizer that doesn't clear its gradients
# spoils both networks, yet the resume and the four ranks pass: each of those tests compares two runs that are equally
# wrong.
#
# ### Faults below the tolerance
# Now plant five smaller faults in the GPT's optimizer and in its GELU. The tests require losses to agree within 0.001, but is
# that enough?

# %% tags=["proof-slips-through"]
ADAMW = """
def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
    Adam.__init__(self, params, lr, {}, decoupled_weight_decay=True)
"""
GELU = "def forward(self, input):\n    return {}"
SMALL = {
    "no weight decay": ("optim.adam:AdamW.__init__", ADAMW.format("betas, eps, 0")),
    "beta2 is 0.99": ("optim.adam:AdamW.__init__", ADAMW.format("(betas[0], 0.99), eps, weight_decay")),
    "eps times 1000": ("optim.adam:AdamW.__init__", ADAMW.format("betas, 1000 * eps, weight_decay")),
    "GELU by a sigmoid": ("nn.activation:GELU.forward", GELU.format("input * (1.702 * input).sigmoid()")),
    "GELU by a tanh": ("nn.activation:GELU.forward", GELU.format('gelu(input, "tanh")')),
}
oracle, differences, last = [gpt_losses(minitorch, 10, seed) for seed in range(3)], {}, {}
for name, (part, text) in {"no fault": ("", ""), **SMALL}.items():
    library = lesson.mytorch_with({f"mytorch.{part}": text}, 24) if part else lesson.mytorch(24)
    losses = [gpt_losses(library, 10, seed) for seed in range(3)]
    apart = differences[name] = np.abs(np.subtract(losses, oracle))
    three = apart[:, :3].max(1)  # the largest difference in three steps, for each seed
    seen = "above 0.00001" if three.min() > 1e-5 else "below 0.000001" if three.max() < 1e-6 else "between"
    print(f"{name:18} {', '.join(failed(library)) or 'no test fails'}; difference on each of three seeds {seen}")
    last[name] = f"{gpt_losses(library, 30)[-1]:.2f}"
mytorch = lesson.mytorch(24)
about = (
    "Without a fault the difference stays below a millionth, and with GELU by a tanh below 0.00001. "
    "The other faults are near 0.0001 after three steps and above 0.0005 after ten."
)
lines = {name: np.maximum(apart.max(0), 3e-8) for name, apart in differences.items()}
pictures.curves(lines, xlabel="step", ylabel="difference from the oracle (nats)", log="y", alt=about)

# %% [markdown]
# All five slip through, because the tolerance is too loose. Two correct libraries differ by less than a millionth over
# three steps, so 0.001 is more than a thousand times the noise floor. A tolerance of 0.00001 catches four of the five.
# The last one, GELU's tanh approximation, stays within the noise for three steps. To catch it, compare the part itself,
# on inputs where it matters:

# %% tags=["proof-compare-the-part"]
x, gelu = mytorch.linspace(-4, 4, 801), mytorch.nn.functional.gelu
print(f"GELU and its tanh form differ by up to {(gelu(x) - gelu(x, approximate='tanh')).abs().max().item():.4f}")
print("loss after 30 steps, from 2.4:", last)

# %% [markdown]
# The second line shows why a training curve doesn't help either: with each of these faults the GPT reaches the same loss to two digits.
#
# **Interview · Your library's loss differs from PyTorch's at the third step. How do you find the wrong part?**
#
# - *Thirty seconds:* I start both with the same weights and the same batch, and compare the first loss; if it differs, the forward pass is
#   wrong. Otherwise I compare the gradients, from the last layer to the first, and if those agree, the weights after one step, which tests
#   the optimizer.
# - *Longer:* To bisect, I hook each module's output and gradient, and the first module that differs contains the fault. I use float64 and a
#   tight tolerance, so that rounding can't hide it.
# - *They ask next:* Is the library correct if all losses agree to three digits? Not necessarily, so I measure the noise floor, set the
#   tolerance a little above it, and test each part by itself as well.
# - *The trap:* The curve of a whole training run isn't a test. A model with a faulty part often learns anyway.
# - *Proof:* `proof-wrong-part`, `proof-slips-through`, `proof-compare-the-part`.

# %% [markdown]
# ## Milestone: LeNet reads digits
# The images are scikit-learn's digits, enlarged to 32×32. Each training image is shifted by up to two pixels whenever it is loaded, while
# the 450 held-out images stay as they are. Your loader ([chapter 18](18_data.ipynb)) makes the batches, a one-cycle schedule ([chapter
# 17](17_learning_rate_schedules.ipynb)) sets the learning rate, and your trainer ([chapter 19](19_training_loop.ipynb)) takes 252 steps.

# %% tags=["proof-LeNet"]
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
falls = "It falls to a few hundredths."
pictures.curves({"LeNet": trainer.losses[::4]}, range(1, 253, 4), xlabel="step", ylabel="loss (nats)", alt=falls)

# %% [markdown]
# The cell never prints more than 98 %, because a different CPU may misclassify an image or two more. The seed matters just as much: when we
# ran seeds 0, 1 and 2, the network misclassified 3, 6 and 4 images.
#
# **Interview · One seed misclassifies 1 of 450 images, another 6. What do you report?**
#
# - *Thirty seconds:* I report the mean over several seeds, the spread, and the number of held-out images. With 450 images and about four
#   mistakes, chance alone gives the count a standard deviation of about 2, so 1 and 6 may come from equally good models.
# - *Longer:* The number of mistakes is roughly Poisson, so its standard deviation is the square root of its mean. To tell 99.0 % from
#   99.3 % at two standard deviations, you need about 7,500 images for each model. If both models see the same images, you need fewer,
#   because only the images on which they disagree count.
# - *They ask next:* May you report the best seed? Yes, as long as I say how many seeds I tried, and the test set played no part in the
#   choice.
# - *The trap:* Two models that were trained with one seed each can't be compared.
# - *Proof:* `proof-spread`.

# %% tags=["proof-spread"]
counts = mytorch.rand(2000, 450).lt(4 / 450).sum(1).float()
print(f"450 images, each wrong with 4/450: mean {counts.mean().item():.0f}, deviation {counts.std().item():.0f}")

# %% [markdown]
# ## Duplicates and contamination in the data
# If the code is correct, all of these tests pass, even when the data is bad.
#
# ### Duplicates in the training text
# Your GPT memorized what it read many times. On the web many pages are copies of each other, most of them slightly
# edited, so a large training set repeats itself unless you remove the duplicates. To compare two pages, cut each into *shingles*, here
# runs of five words. Their similarity is the number of shingles in common divided by the number in either page (*Jaccard similarity*).
# **MinHash** keeps only the smallest hash of a page's shingles under each of 128 hash functions, and two pages agree on one of these
# values with a probability equal to their similarity:

# %% tags=["proof-near-duplicates"]
import zlib

drawn = np.random.default_rng(0)
page, other = ([f"word{number}" for number in drawn.integers(0, 5000, 300)] for _ in range(2))
edited = [word if at % 60 else "edited" for at, word in enumerate(page)]
scale, shift = drawn.integers(1, 2**31 - 1, (2, 128, 1))


def shingles(words):
    return {zlib.crc32(" ".join(words[at : at + 5]).encode()) >> 1 for at in range(len(words) - 4)}


def minhash(words):
    return ((scale * np.array(sorted(shingles(words))) + shift) % (2**31 - 1)).min(1)


for name, second in (("edited", edited), ("another", other)):
    exact = len(shingles(page) & shingles(second)) / len(shingles(page) | shingles(second))
    print(f"{name:8} similarity {exact:.2f}, MinHash {(minhash(page) == minhash(second)).mean():.2f}")
print("compared, by similarity:", {share: round(1 - (1 - share**8) ** 16, 2) for share in (0.3, 0.5, 0.8, 0.9)})

# %% [markdown]
# Since nobody can compare every pair among a billion pages, the 128 values are divided into 16 bands of 8, and only pages that share a
# whole band are compared (*locality-sensitive hashing*). The last line shows how likely that is: a pair with similarity 0.9 is almost
# certainly compared, and a pair with 0.3 almost never.
#
# **Interview · Why deduplicate training data, and how do you find near-duplicates among billions of pages?**
#
# - *Thirty seconds:* Repeated text wastes compute, is memorized much more easily, and leaks into the held-out set. I find exact copies by
#   hashing the pages. For near-duplicates I use MinHash: the share of values on which two signatures agree estimates the pages'
#   similarity, and by grouping the values into bands I compare only pages that share a band.
# - *They ask next:* Can you deduplicate too much? Yes, because good pages are often copied more than bad ones. I keep
#   one page of each cluster, and train small models with and without the duplicates to compare. Repeating good data for
#   a few epochs does little harm.
# - *The trap:* It isn't enough to deduplicate whole pages, or inside the training set. Headers and quotations recur across different pages,
#   and copies of held-out pages have to leave the training set.
# - *Proof:* `proof-near-duplicates`.

# %% [markdown]
# ### Contaminated evaluations
# A benchmark that is in the training data measures memory instead of ability. The usual search looks for n-grams of its questions, which
# finds copies even if a number has been changed but misses rewordings:

# %% tags=["proof-contamination"]
question = "A train covers eighty kilometres in its first hour and keeps its speed. How far has it come by noon if it left at nine?"
reworded = "Leaving at nine, a train runs at eighty km/h without a break. What distance has it covered when the clock strikes twelve?"


def grams(text, size=8):
    words = text.split()
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


for name, text in (("copied", question), ("renumbered", question.replace("eighty", "ninety")), ("reworded", reworded)):
    print(f"{name:10} {len(grams(question) & grams(text)) / len(grams(question)):.0%} of the question's 8-grams")

# %% [markdown]
# **Interview · How do you find out whether a benchmark was in the training data?**
#
# - *Thirty seconds:* I search the training text for the benchmark's n-grams, and report the score without the items that overlap.
#   Rewordings and translations share no n-gram, so I also test on items that the model can't have seen: newer ones, or the same ones with
#   different numbers. If its score drops more on those than other models' scores do, that is evidence.
# - *Longer:* Without access to the data, I ask the model to continue the first half of a question, or compare the
#   likelihood of the items in their published order with that of shuffled orders. A model that hasn't seen them has no
#   reason to prefer the published order.
# - *They ask next:* The clean items have a lower score. Is that proof? Not by itself, because they may be harder. I
#   compare with a model that is known to be clean, on the same two groups, with error bars.
# - *The trap:* The pretraining data isn't the only place to search. The benchmark also leaks through fine-tuning data, through text by
#   models that knew it, and through choosing a checkpoint by its score.
# - *Proof:* `proof-contamination`.

# %% [markdown]
# ## The real one
# PyTorch's own tests use oracles, too: they compare operations with NumPy, gradients with finite differences, and each
# device with the CPU. Most of the numerical tests come down to a single function, and here is minitorch's version:

# %%
import inspect

from minitorch.testing import assert_close

print("\n".join(inspect.getsource(assert_close).splitlines()[:14]))

# %% [markdown] tags=["short"]
# It compares shape, dtype and device before it compares values, and its tolerances depend on the dtype. For float32 they are 1.3 · 10⁻⁶ relative
# and 10⁻⁵ absolute, which would have caught four of the five faults above.
#
# ## Rapid fire
# 1. Which layers does a GPT need that LeNet doesn't? [Normalization, embeddings and attention](proof-chapters).
# 2. Which first loss do you expect with ten classes? [About ln 10 = 2.3](proof-oracle).
# 3. A run saves every tenth step and dies in step 103. Where does it resume? After [step 100](proof-killed).
# 4. How large is a checkpoint with Adam? [Three times as large as the weights](proof-checkpoint-size) in float32; in mixed precision, 14
#    bytes per parameter.
# 5. Which batch size on one rank corresponds to four ranks with 4 rows each? [16 rows](proof-four-ranks).
# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A model file that imports only the library runs on any library with the same interface.
# 2. Compare each loss with an oracle's, for the same seed and the same data.
# 3. Three steps reveal gross faults; small ones hide below the tolerance.
# 4. Measure the noise floor first, and set the tolerance a little above it.
# 5. Report several seeds and the number of held-out images.
# 6. Test a resume by killing a real process, with dropout and shuffling on, and compare losses with `==`.
# 7. Save about every $\sqrt{2 c M}$; a checkpoint has 12 bytes per parameter in float32, 14 in mixed precision.
# 8. A language model that recites its training text has memorized it, so hold out some text.
# 9. For four ranks, keep the global batch, average the gradients, average the losses, and seed dropout by rank.
# 10. A faulty model often still learns, and a test sees only what it compares.
#
# ## You try
# In [the exercises](../exercises/24_capstone.ipynb) you predict which tests fail, assemble a run that may be killed at any time, fix a
# resume that isn't exact, measure the best interval between checkpoints, and make four ranks with unequal shares match a single one.
# [Chapter 24b](24b_llama.ipynb) turns your GPT into a Llama, in four steps.

# %% [markdown]
# ## If you have time
# ### Whose code runs in a training step?
# You have written code in more than twenty chapters. Guess how many of them a single training step of LeNet needs, and then let Python
# count: `sys.setprofile` installs a hook that runs on every function call.

# %% tags=["proof-chapters"]
import linecache


def chapters_that_run(job):
    ran = set()
    sys.setprofile(lambda frame, event, _: ran.add(frame.f_code))
    job(mytorch, 1)
    sys.setprofile(None)
    return sorted({heading_above(code) for code in ran if code.co_filename.startswith("<mytorch>")} - {None})


def heading_above(code):
    lines = linecache.getlines(code.co_filename)[: code.co_firstlineno]
    return next((line.split()[1] for line in lines[::-1] if line.startswith("# ") and " · " in line), None)


for job in (lenet_losses, gpt_losses):
    print(f"{job.__name__:13}", *chapters_that_run(job))

# %% [markdown]
# Even LeNet runs code from the very first chapter, since no tensor can exist without a dtype. Convolutions run only in
# LeNet; normalization, embeddings and attention run only in the GPT. Both need the core: tensors, views, dispatch, the
# graph, modules, the loss and the optimizer.
#
# The programs themselves are short. `on` runs a model's file after replacing the name `minitorch` with your library's, `descend` takes one
# training step, and each program builds a model and calls `descend` a few times:

# %%
print("\n".join(inspect.getsource(function) for function in (on, descend, gpt_losses)))

# %% [markdown]
# To find out how many different operations a GPT needs, traverse its graph and count them:

# %% tags=["proof-operations"]
loss = small_gpt(mytorch)(*mytorch.randint(0, 11, (2, 4, 8)))[1]
nodes, names = [loss.grad_fn], set()
for node in nodes:
    names.add(node.name().split("::")[-1].removesuffix("Backward0"))
    nodes += [source for source, _ in node.next_functions if source is not None and source not in nodes]
names.remove("AccumulateGrad")  # a parameter, not an operation
print(len(nodes), "nodes,", len(names), "operations:", *sorted(names))

# %% [markdown]
# ### A map of your library
# The map shows how much of the library you have written. Each box is a definition in `mytorch`, and the wider the box, the more lines it
# has. The filled boxes are yours: exercises that you solved, and definitions that you wrote with `course write`. The exercises cover about
# 35 % of the code, and `course mine` gives the exact numbers.

# %%
whole = lesson.mine()
pictures.Picture(whole.png, "A map of mytorch: each definition is a box, and those that you wrote are filled.")

# %% [markdown]
# ### Why Adam hides gradients that were summed instead of averaged
# Suppose that four ranks sum their gradients and forget to divide by four. SGD's steps are then four times too large, while Adam
# divides a running mean of the gradients by the square root of a running mean of their squares, so the factor of four cancels,
# unless the gradients are as small as eps or Adam's `weight_decay` is added to them:


# %% tags=["proof-sum-or-mean"]
def losses_of(kind, factor):
    mytorch.manual_seed(0)
    model, batch = small_gpt(mytorch), mytorch.randint(0, 11, (2, 4, 8))
    optimizer, losses = kind(model.parameters(), lr=0.01), []
    for _ in range(10):
        loss = model(*batch)[1]
        optimizer.zero_grad()
        (factor * loss).backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


for kind in (mytorch.optim.SGD, mytorch.optim.AdamW):
    apart = abs(losses_of(kind, 4) - losses_of(kind, 1)).max()
    print(f"{kind.__name__:5} losses differ by less than 0.001: {apart < 0.001}, by more than 0.05: {apart > 0.05}")

# %% [markdown]
# Clipping hides the mistake as well, if it shortens the gradient to the same length in both cases. So compare the gradients themselves, not
# just the losses.
