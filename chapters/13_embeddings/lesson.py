# %% [markdown]
# # Embeddings
# You'll write the layer that turns words into vectors, and the gradient that reaches only the rows that were used. Then
# it reads *Alice's Adventures in Wonderland*, and words that belong together move together.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(13)  # as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## Three votes, one counted
# Four votes: three for row 2, one for row 0. Count them in two ways, by adding 1 to the rows and by asking autograd for
# the slope of a sum.

# %% tags=["proof-lost-votes"]
import minitorch as torch
from minitorch.nn import functional as F

votes = torch.tensor([2, 0, 2, 2])
counted = torch.zeros(4)
counted[votes] += 1
table = torch.zeros(4, 1, requires_grad=True)
table[votes].sum().backward()
print("written: ", counted.tolist())
print("gradient:", table.grad.flatten().tolist())

# %% [markdown] tags=["short"]
# `counted[votes] += 1` reads four numbers, adds 1 to each, and writes four numbers back. Row 2 is written three times,
# with the same 1. The gradient has to be better than that: whatever was used three times gets three gradients, and they
# add up. An embedding is this lookup with its gradient, and little else.
#
# ## A table of vectors
# Number your words. The numbers themselves mean nothing: word 7 isn't half of word 14. So give each word a vector, a row
# of a table, and let training find the rows.
#
# ### The smallest model
# Write word 2 of 4 as the vector 0 0 1 0, which is called **one-hot**. The product of one-hot vectors and the table picks
# rows. It's a matrix product, so you know its gradient from [chapter 06](06_computation_graph.ipynb).


# %% tags=["proof-one-hot"]
import numpy as np


def one_hot(words, rows):
    return np.eye(rows, dtype="float32")[words]


words = np.array([2, 0, 2, 2])
values = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], dtype="float32")
g = np.array([[1, 1], [2, 2], [3, 3], [4, 4]], dtype="float32")
found, gradient = one_hot(words, 4) @ values, one_hot(words, 4).T @ g

weight = torch.from_numpy(values).requires_grad_()
result = F.embedding(torch.from_numpy(words), weight)
result.backward(torch.from_numpy(g))
slopes = weight.grad.tolist()
print("words", words.tolist(), " by one-hot:", found[:, 0].tolist(), " by lookup:", result[:, 0].tolist())
print("row 2 of the gradient, by one-hot:", gradient[2].tolist(), " by lookup:", slopes[2])
torch.manual_seed(0)
for layer in (torch.nn.Linear(1000, 64), torch.nn.Embedding(1000, 64)):
    print(layer, tuple(layer.weight.shape), f"std {layer.weight.std().item():.2f}")

# %%
from course import pictures

pictures.assign({"one-hot": "index"}, table="weight", transposed="index", words="index")
pictures.assign(found="result", g="gradient", gradient="gradient")
hot = one_hot(words, 4).astype(int)
forwards = ("one-hot", hot), "@", ("table", values), "=", ("found", found)
backwards = ("transposed", hot.T), "@", ("g", g), "=", ("gradient", gradient)
pictures.grids(*forwards, "↓", *backwards)

# %% [markdown]
# Row 2 of the gradient is 1 + 3 + 4: the sum over all the places where the word stood.
#
# ### Break it
# The model says that each result is a sum over *all* rows, all but one of them times 0. So put one bad number into a row that
# nobody asks for. Then count bytes, for a batch of 1,024 words from GPT-2's vocabulary.

# %% tags=["proof-one-hot-breaks"]
spoilt = np.array([values[0], [np.inf, np.inf], values[2], values[3]])
with np.errstate(invalid="ignore"):
    print("one-hot:", (one_hot(words, 4) @ spoilt)[0])
print("lookup: ", F.embedding(votes, torch.from_numpy(spoilt))[0].numpy())
print(f"one-hot: {1024 * 50257 * 4 / 1e6:.0f} MB, indices: {1024 * 8 / 1e6:.3f} MB")

# %% [markdown]
# 0 · inf is `nan`, so one row that went wrong spoils every result. A lookup doesn't touch it. And the lookup needs neither
# the 206 MB nor the multiplications.
#
# **Interview · What is an embedding layer, and how is it related to one-hot vectors?**
#
# - *Thirty seconds:* A table with a trainable vector for each word or other category. Looking up row $i$ gives what a
#   one-hot vector times the table would give, without the vector and without the product.
# - *Longer:* The cost of a lookup doesn't depend on the number of rows, and rows that nobody asks for take no part.
# - *They ask next:* Is it the same as a linear layer without bias? It's the same map, but `nn.Linear` holds the transpose
#   of the table and wants one-hot vectors. It also starts differently: `nn.Embedding` with a standard deviation of 1.
# - *The trap:* Feeding the numbers of words to a linear layer. Their order and distance mean nothing.
# - *Proof:* `proof-one-hot`, `proof-one-hot-breaks`.
#
# ## `mytorch`: a lookup and its gradient
# The gradient of the model was the transposed one-hot matrix times `g`. Leave out the zeros, and it is a loop: each place
# adds its row of `g` to the row of its word. That is the scatter-add of [chapter 04](04_broadcasting_indexing_joining.ipynb). Move the slider:


# %%
def after(places):
    gradient = np.zeros((4, 2))
    for place in range(places):
        gradient[words[place]] += g[place]
    arrows = [((1, (places - 1, 1)), (2, (words[places - 1], 0)))] if places else []
    seen = np.arange(4)[:, None] < places
    given = ("words", words[:, None], seen), ("g", g, seen.repeat(2, 1))
    return pictures.grids(*given, "→", ("gradient", gradient), arrows=arrows)


pictures.slider(after, start={"places": 3}, places=[0, 1, 2, 3, 4])

# %% [markdown] given="mytorch.nn.embedding:derivative.embedding mytorch.nn.embedding:derivative.embedding_backward"
# In `mytorch` the lookup is an operation of its own, `embedding(input, weight)`, and so is its gradient. You write both,
# without a loop. Their derivatives are given. The first needs no values of the table, only its shape. The second says that
# the gradient of a scatter-add is a lookup again.

# %% [markdown]
# Check the gradient, and the gradient of the gradient, against differences.

# %% tags=["proof-gradcheck"]
ids = mytorch.tensor([[0, 2, 2], [2, 1, 0]])
rows = mytorch.randn(4, 3, dtype=mytorch.float64, requires_grad=True)


def cubed(rows):
    return mytorch.nn.functional.embedding(ids, rows) ** 3


print("gradient:", mytorch.autograd.gradcheck(cubed, [rows]))
print("gradient of the gradient:", mytorch.autograd.gradgradcheck(cubed, [rows]))

# %% [markdown]
# Frequent words get large gradients, and rare words hardly move. `scale_grad_by_freq=True` divides each
# row's sum by the number of places. It is off by default, and `mytorch` leaves it out.

# %% tags=["proof-repeats"]
layer, ones = torch.nn.Embedding(4, 1, scale_grad_by_freq=True), torch.ones(4)
layer(votes).sum().backward()
print("scale_grad_by_freq", layer.weight.grad.flatten().tolist())
print("index_add_        ", torch.zeros(4).index_add_(0, votes, ones).tolist())
counted = torch.zeros(4).index_put_((votes,), ones, accumulate=True)
print("index_put_        ", counted.tolist())

# %% [markdown] tags=["short"]
# **Interview · A word occurs three times in a batch. What gradient does its row get?**
#
# - *Thirty seconds:* The sum of the three. The backward pass of a lookup is a scatter-add.
# - *Longer:* It is the rule for any value that is used several times; a row is a value that three places share.
# - *They ask next:* And rows that weren't used? Zero. The gradient has the shape of the whole table.
# - *The trap:* Writing it as `grad[words] += g`: of the repeated rows, one write survives. Use `index_add_`,
#   `scatter_add_` or `index_put_(accumulate=True)`.
# - *Proof:* `proof-lost-votes`, `proof-repeats`.
#
# ## Padding
# Sentences have different lengths, and a batch is a rectangle. So short ones are **padded**: filled up with a word that
# means nothing, often number 0. `padding_idx=0` does two things for it.


# %% tags=["proof-padding"]
def padding_row(name, layer):
    grad = layer.weight.grad
    print(f"{name:23} {layer.weight[0].tolist()} gradient {grad[0].tolist()}")


torch.manual_seed(0)
layer = torch.nn.Embedding(5, 2, padding_idx=0)
layer(torch.tensor([0, 1, 0])).sum().backward()
padding_row("new", layer)
torch.nn.init.ones_(layer.weight)
padding_row("initialized again", layer)
torch.optim.SGD(layer.parameters(), lr=0.1).step()
padding_row("after a step", layer)
head = torch.nn.Linear(2, 5, bias=False)
head.weight = layer.weight
layer.zero_grad()
head(layer(torch.tensor([0, 0]))).sum().backward()
padding_row("shared with the output", layer)

# %% [markdown]
# The row starts at zero, and the *lookup* gives it no gradient. That's all. Code that writes to the table later can put
# anything there, and no lookup's gradient will repair it. If an output layer shares the table, as in GPT-2, that layer's
# gradient reaches the row as well.
#
# And a vector of zeros still counts. Take the mean of a sentence, alone and beside a longer one:

# %% tags=["proof-padded-mean"]
vectors = torch.tensor([[0.0, 0], [1, 7], [5, 3], [9, 1], [2, 2]])
layer = torch.nn.Embedding.from_pretrained(vectors, padding_idx=0)
alone, filled = torch.tensor([[1, 2]]), torch.tensor([[1, 2, 0, 0], [1, 2, 3, 4]])
padding, means = filled == 0, layer(filled).mean(1)
right = layer(filled).sum(1) / (~padding).sum(1, keepdim=True)
print("alone:", layer(alone).mean(1).tolist(), " padded:", means[0].tolist())
pictures.assign({"filled": "index", "mean": "gradient", "sum / count": "result"})
wrong = ("mean", means, [[1, 1], [0, 0]])
pictures.grids(("filled", filled, padding), "→", wrong, ("sum / count", right))

# %% [markdown] tags=["short"]
# **Interview · What does `padding_idx` do, and what doesn't it do?**
#
# - *Thirty seconds:* The row starts at zero, and lookups give it no gradient. It isn't a mask: the zeros take part in
#   means, softmaxes and everything else that follows.
# - *Longer:* Divide by the true lengths; in attention, mask the places ([chapter 14](14_attention.ipynb)).
# - *They ask next:* Does the row stay zero? Not if `nn.init` or a checkpoint overwrites it, or if an output layer shares
#   the table.
# - *The trap:* `from_pretrained(table, padding_idx=0)` doesn't set the row to zero.
# - *Proof:* `proof-padding`, `proof-padded-mean`; the trap: `proof-rapid-fire`.
#
# ## Which rows move?
# Word 0 occurs in the first batch and never again. After that its gradient is zero. Does its vector stay where it is?


# %% tags=["proof-unused-rows"]
def path(kind, **options):
    layer = torch.nn.Embedding.from_pretrained(torch.zeros(2, 1), freeze=False)
    optimizer = getattr(torch.optim, kind)(layer.parameters(), lr=0.1, **options)
    places = []
    for step in range(40):
        optimizer.zero_grad()
        layer(torch.tensor([0 if step == 0 else 1])).sum().backward()
        optimizer.step()
        places.append(layer.weight[0].item())
    return places


paths = {"SGD": path("SGD"), "weight decay": path("SGD", weight_decay=0.3)}
paths |= {"momentum 0.9": path("SGD", momentum=0.9)}
paths |= {kind: path(kind) for kind in ("Adam", "RMSprop", "Adagrad")}
for name, places in paths.items():
    print(f"{name:12} after 1, 2, 40:", [round(places[step], 2) for step in (0, 1, 39)])
pictures.curves(paths, xlabel="step", ylabel="the vector of word 0")

# %% [markdown]
# Plain SGD, RMSprop and Adagrad leave it alone: their step is a multiple of the gradient. Momentum and Adam remember
# earlier gradients ([chapter 16](16_losses_and_optimizers.ipynb)) and keep pushing; weight decay pulls the vector back to
# zero. In a table that is mostly rare words, a lot of rows move without any data.
#
# **Interview · A word isn't in the batch. Does its vector move?**
#
# - *Thirty seconds:* Its gradient is zero, not missing. Plain SGD leaves it in place. Momentum and Adam move it for a
#   while, if it was used before, and weight decay shrinks it.
# - *Longer:* An optimizer skips a parameter whose `.grad` is `None`. But the parameter is the whole table.
# - *They ask next:* How do you avoid it? With sparse gradients and `SparseAdam`, which touches the rows that were used.
# - *The trap:* "Zero gradient, so no step." That depends on the optimizer: it is true of SGD, RMSprop and Adagrad, without
#   momentum and weight decay.
# - *Proof:* `proof-unused-rows`.
#
# ### Sparse gradients
# A batch uses few rows, and yet the gradient is as large as the table. It could be kept as two small arrays: the rows that
# were used, and what each of them got.


# %% tags=["proof-sparse"]
def sparse_gradient(g, words):
    used, place = np.unique(words, return_inverse=True)
    return used, one_hot(place, len(used)).T @ g


used, sums = sparse_gradient(g, words)
print("rows", used.tolist(), " sums", sums.tolist())
many = np.random.default_rng(0).zipf(1.2, 4096) % 50257
used, sums = sparse_gradient(np.ones((4096, 32), dtype="float32"), many)
sparse, dense = used.nbytes + sums.nbytes, 50257 * 32 * 4
print(f"{len(used)} of 50257 rows, {sparse / 1e6:.1f} MB; dense: {dense / 1e6:.1f} MB")

# %% [markdown]
# That is what `nn.Embedding(…, sparse=True)` gives in PyTorch: `weight.grad` is then a sparse tensor, and its `coalesce()`
# adds up the repeated rows. `SparseAdam` takes it, and so do `SGD` and `Adagrad`, but not with `weight_decay`. Most others
# refuse: "Adam does not support sparse gradients, please consider SparseAdam instead". minitorch has no sparse gradients,
# so its lookup raises with `sparse=True`.
#
# **Interview · When do you want sparse gradients?**
#
# - *Thirty seconds:* With a large table of which each batch uses few rows. The gradient's memory and the optimizer's step
#   then grow with the batch, not with the table.
# - *Longer:* `SparseAdam` updates only the means of the used rows. So it isn't Adam: rare words keep old means. And the
#   means themselves still fill two whole tables.
# - *They ask next:* Why isn't it the default? Many optimizers and options want dense gradients.
# - *The trap:* Expecting a faster forward pass. That is a lookup either way.
# - *Proof:* `proof-sparse`; what it avoids: `proof-unused-rows`.
#
# **Interview · The vocabulary has a million words. What gets expensive, and what do you do?**
#
# - *Thirty seconds:* Memory: at a width of 300 the table takes 1.2 GB in float32, its dense gradient as much again, and Adam's
#   two means twice that. And the output layer, which computes a million scores for each position.
# - *Longer:* For the table: sparse gradients, or rows spread over several machines. For the output: negative sampling, which
#   compares the right word with a few random ones instead of all, or one table for input and output.
# - *They ask next:* What do language models do? They cut words into subwords, such as byte pairs, so that some 50,000 to
#   250,000 rows are enough for any text.
# - *The trap:* Trying to make the lookup faster. Its cost doesn't depend on the number of rows.
# - *Proof:* `proof-sparse`, `proof-one-hot-breaks`; a table that is shared: `proof-padding`.
#
# ## Milestone: vectors from a book
# "King" and "queen" occur in the same contexts: "the" often comes before them, and "said" before that. So train a table to
# predict the context of a word: from its vector, a linear layer predicts the two words before it and the two after it.
# (This is word2vec's skip-gram, with all four neighbours of a word at once.) Words in the same contexts need the same
# prediction, so they get similar vectors. The book is *Alice's Adventures in Wonderland*:

# %%
import re
from collections import Counter
from pathlib import Path

text = re.findall("[a-z]+", Path("files/alice.txt").read_text().lower())
vocabulary = [word for word, count in Counter(text).most_common() if count >= 20]
number, size = {word: place for place, word in enumerate(vocabulary)}, len(vocabulary)
ids = np.array([number.get(word, size) for word in text])  # one number for all rare words
pairs = [ids * (size + 1) + np.roll(ids, -distance) for distance in (-2, -1, 1, 2)]
counts = [np.bincount(each, minlength=(size + 1) ** 2).reshape(size + 1, -1)[:size, :150] for each in pairs]
shares = np.concatenate(counts, 1) / np.concatenate(counts, 1).sum(1, keepdims=True)  # of the 150 most frequent words

# %% tags=["proof-milestone"]
nn = mytorch.nn
mytorch.manual_seed(0)
model = nn.Sequential(nn.Embedding(size, 24), nn.Linear(24, 4 * 150))
context, losses = mytorch.from_numpy(shares.astype("float32")), []
fresh = model[0].weight.detach().clone()
for _ in range(100):
    for batch in mytorch.randperm(size).split(64):
        scores = nn.functional.log_softmax(model(batch), 1)
        loss = -(context[batch] * scores).sum(1).mean()
        model.zero_grad()
        loss.backward()
        with mytorch.no_grad():
            for parameter, rate in zip(model.parameters(), (50, 5, 5), strict=True):
                parameter -= rate * parameter.grad
    losses.append(loss.item())
choices = np.exp(np.mean(losses[-10:]))  # the perplexity
print(f"like a guess among {4 * 150} before, among fewer than {np.ceil(choices / 100) * 100:.0f} after training")

# %% [markdown]
# ### Nearest neighbours
# The angle between two vectors says how similar their directions are. Its cosine is the dot product of the two vectors,
# each divided by its length.


# %% tags=["proof-neighbours"]
def nearest(table, word, count):
    unit = table / (table * table).sum(1, keepdim=True).sqrt()
    cosine = unit @ unit[number[word]]
    found = cosine.argsort(descending=True)[1 : count + 1]  # place 0 is the word itself
    return {vocabulary[each]: cosine[each].item() for each in found.tolist()}


trained = model[0].weight.detach()
for word, other in (("king", "queen"), ("he", "she"), ("down", "up")):
    before, after = ([*nearest(table, word, size)].index(other) // 10 * 10 + 10 for table in (fresh, trained))
    print(f"'{other}' is among the {before} words nearest to '{word}' before training, among the {after} nearest after")


# %%
def neighbours(word):
    near = nearest(trained, word, 8)
    axes = pictures.axes()
    axes.barh(list(near)[::-1], list(near.values())[::-1], color="#0072B2")
    axes.set(xlabel=f"cosine with '{word}'", xlim=(0, 1))
    return pictures.publish(axes, alt=f"The words nearest to '{word}', with cosines.")


pictures.slider(neighbours, word=["king", "he", "down", "could", "his"])

# %% [markdown]
# Move the slider. The table got nothing but contexts, and yet characters are near characters, and pronouns near pronouns.
# Why the cosine, and not the dot product alone?

# %% tags=["proof-cosine"]
points = torch.tensor([[1.0, 0.0], [0.9, 0.2], [4.0, 4.0]])
lengths = (points * points).sum(1, keepdim=True).sqrt()
print("products with row 0:", points @ points[0])
print("cosines with row 0: ", (points / lengths) @ (points / lengths)[0])

# %% [markdown]
# **Interview · How do you find a word's nearest neighbours?**
#
# - *Thirty seconds:* By the cosine: divide all rows by their lengths, multiply by the word's row, take the largest.
# - *Longer:* It's one matrix product for all words. For millions of rows, use an approximate index.
# - *They ask next:* Why not the dot product? A long vector wins against a similar one, even against the word itself.
# - *The trap:* The first result is the word itself. And a row of zeros, as padding has, gives 0 / 0.
# - *Proof:* `proof-cosine`, `proof-neighbours`.
#
# ## Edge cases
# Any shape of indices goes in; the result has one more dimension. Negative numbers don't count from the back, as they do
# in square brackets.

# %% tags=["proof-edges"]
none, short = np.zeros((2, 0), dtype="int64"), np.zeros(2, dtype="int32")
cases = {"a number": 3, "a batch": [[0, 1], [2, 3]], "nothing": none, "int32": short}
for name, case in (cases | {"too large": 4, "negative": -1, "a float": 1.0}).items():
    shown = []
    for library in (torch, mytorch):
        ids, table = library.tensor(case), library.ones(4, 2)
        try:
            shown.append(str(tuple(library.nn.functional.embedding(ids, table).shape)))
        except (IndexError, RuntimeError) as error:
            shown.append(f"{type(error).__name__}: {str(error).split(' to have')[0]}")
    print(f"{name:9} equal {shown[0] == shown[1]}  {shown[0]}")

# %% [markdown]
# **Interview · "CUDA error: device-side assert triggered". What is it, and how do you find the line?**
#
# - *Thirty seconds:* A kernel met something impossible, most often an index out of range: in an embedding, in `gather`, or
#   as a class number in the loss. Run the same batch on the CPU, and the call itself raises: an IndexError, or from `gather`
#   a RuntimeError.
# - *Longer:* Kernels run asynchronously ([chapter 05](05_devices.ipynb)), so a later call reports the error, and the
#   traceback points there. With `CUDA_LAUNCH_BLOCKING=1` each call waits. After the error nothing on the GPU works in this
#   process: start it again.
# - *They ask next:* What do you check first? The smallest and the largest index against the number of rows. Typical causes
#   are tokens that were added to the tokenizer but not to the table, labels that count from 1, and padding of −1.
# - *The trap:* "−1 is the last row." In square brackets it is; a lookup refuses it.
# - *Proof:* `proof-edges`, `proof-rapid-fire`.
#
# ## The real one
# NumPy has a function that adds row by row. minitorch sorts instead, so that the places of each row become neighbours,
# a *run*. It adds the first values of all runs at once, then the second ones, and so on:

# %%
import inspect

from minitorch.kernels.accumulation import combine_rows

source = inspect.getsource(combine_rows)
print(source[source.index("    size = int") :])

# %% [markdown]
# `combine` is addition here, `target` the gradient, `fresh` says that it holds nothing yet. `held` and `given` pick rows of
# `target` and `values`. `left` holds the runs with values still to come; the last loop finishes a few long runs one by one.
#
# ## Myths
# ### "A forward pass doesn't change the weights"
# With `max_norm`, it does: rows that are used and longer than that are scaled down, in the table itself.

# %% tags=["proof-max-norm"]
layer = torch.nn.Embedding.from_pretrained(torch.tensor([[3.0, 4], [6, 8]]), max_norm=1)
layer(torch.tensor([0]))
print(layer.weight.data)

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Embedding of a (32, 128) batch, width 64: which shape? (32, 128, 64).
# 2. Does the result of a frozen table require grad? No.
# 3. Does `from_pretrained` train the table? No, unless you say `freeze=False`.
# 4. Does `from_pretrained(…, padding_idx=0)` make row 0 zero? No.
# 5. `weight[torch.tensor([-1])]`? The last row. `F.embedding` raises.

# %% tags=["proof-rapid-fire"]
print("1.", tuple(torch.nn.Embedding(9, 64)(torch.zeros(32, 128).long()).shape))
layer = torch.nn.Embedding.from_pretrained(torch.ones(3, 2), padding_idx=0)
print("2.", layer(votes).requires_grad, " 3.", layer.weight.requires_grad)
print("4.", layer.weight[0].tolist(), " 5.", layer.weight[torch.tensor([-1])].tolist())

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. An embedding is a table; looking up a row is a one-hot product without the product.
# 2. Its gradient is a scatter-add: repeated words add up, unused rows get zero.
# 3. `grad[words] += g` loses repeats.
# 4. `padding_idx` starts a row at zero and gives it no gradient through lookups.
# 5. It doesn't mask, and it doesn't hold the row at zero.
# 6. Divide a sum by the number of real words.
# 7. Momentum, Adam and weight decay also move rows that weren't used; plain SGD, RMSprop and Adagrad don't.
# 8. `sparse=True` stores a gradient for the used rows only; most optimizers refuse it.
# 9. Nearest neighbours go by the cosine, without the word itself.
# 10. Indices are int64 or int32, from 0 to the number of rows minus 1.
#
# ## You try
# [The exercises](../exercises/13_embeddings.ipynb): predict a gradient; write the lookup, its gradient and the layer;
# find neighbours for a whole batch; repair an initialization; and measure how long an optimizer remembers a word.
# [Chapter 14](14_attention.ipynb) lets the vectors of a sentence look at each other.
