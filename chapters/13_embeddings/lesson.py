# %% [markdown]
# # Embeddings
# In this chapter you write the layer that turns words into vectors, with a gradient that reaches only the rows that were used.
# You then train it on *Alice's Adventures in Wonderland*, where words that occur in similar contexts end up with similar vectors.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(13)  # as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Repeated indices: three votes, one counted
# Of four votes, three are for row 2 and one is for row 0. Count them in two ways: by adding 1 to the chosen rows, and by taking
# the gradient of a sum.

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
# `counted[votes] += 1` reads four elements, adds 1 to each and writes the four results back, so the same 1 is written to row 2
# three times. A gradient must not lose anything: a row that was used three times receives three gradients, which have to be
# added up. An embedding is this lookup with its gradient, and little else.
#
# ## A table of vectors
# Each word of a vocabulary has an index, but the indices themselves mean nothing, because word 7 isn't half of word 14. Each word
# therefore also gets a vector, stored as a row of a table, and training finds the values of these rows.
#
# ### The smallest model
# Word 2 of 4 can be written as the vector 0 0 1 0, which is called **one-hot**. Multiplying one-hot vectors by the table picks
# out rows, and since this is a matrix multiplication, you know its gradient from [chapter 06](06_computation_graph.ipynb).


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
rows_of_gradient = weight.grad.tolist()
print("words", words.tolist(), " by one-hot:", found[:, 0].tolist(), " by lookup:", result[:, 0].tolist())
print("row 2 of the gradient, by one-hot:", gradient[2].tolist(), " by lookup:", rows_of_gradient[2])
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
# Row 2 of the gradient is 1 + 3 + 4, the sum over all positions at which the word occurred.
#
# ### Break it
# In this model, each result is a sum over *all* rows, and all but one of them are multiplied by 0. So put an infinity into a row that no
# word of the batch uses, and then count the bytes that a batch of 1,024 words from GPT-2's vocabulary would take.

# %% tags=["proof-one-hot-breaks"]
spoilt = np.array([values[0], [np.inf, np.inf], values[2], values[3]])
with np.errstate(invalid="ignore"):
    print("one-hot:", (one_hot(words, 4) @ spoilt)[0])
print("lookup: ", F.embedding(votes, torch.from_numpy(spoilt))[0].numpy())
print(f"one-hot: {1024 * 50257 * 4 / 1e6:.0f} MB, indices: {1024 * 8 / 1e6:.3f} MB")

# %% [markdown]
# Because 0 · inf is `nan`, one bad row spoils every result, whereas a lookup never reads that row. Nor does it need the 206 MB.
#
# **Interview · What is an embedding layer, and how is it related to one-hot vectors?**
#
# - *Thirty seconds:* It is a table with a trainable vector for each word or other category. Looking up row i gives the same
#   result as multiplying a one-hot vector by the table, but without storing the vector or doing the multiplication.
# - *Longer:* The cost of a lookup doesn't depend on the number of rows, and rows that aren't looked up can't affect the result.
# - *They ask next:* Is it the same as a linear layer without a bias? It computes the same map, but `nn.Linear` stores the
#   transpose of the table and needs one-hot inputs. The initialization differs, too: `nn.Embedding` draws from a normal
#   distribution with a standard deviation of 1.
# - *The trap:* Word indices aren't quantities. In a linear layer their order and distances would count, and they mean nothing.
# - *Proof:* `proof-one-hot`, `proof-one-hot-breaks`.
#
# ## `mytorch`: a lookup and its gradient
# The model's gradient was the transposed one-hot matrix times `g`. Without the zeros, this becomes a loop in which each position
# adds its row of `g` to the row of its word, which is the scatter-add of [chapter 04](04_broadcasting_indexing_joining.ipynb).
# Move the slider to see it position by position:


# %%
def after(places):
    gradient = np.zeros((4, 2))
    for position in range(places):
        gradient[words[position]] += g[position]
    arrows = [((1, (places - 1, 1)), (2, (words[places - 1], 0)))] if places else []
    seen = np.arange(4)[:, None] < places
    given = ("words", words[:, None], seen), ("g", g, seen.repeat(2, 1))
    return pictures.grids(*given, "→", ("gradient", gradient), arrows=arrows)


pictures.slider(after, start={"places": 3}, places=[0, 1, 2, 3, 4])

# %% [markdown] given="mytorch.nn.embedding:derivative.embedding mytorch.nn.embedding:derivative.embedding_backward"
# In `mytorch`, the lookup is an operation of its own, `embedding(input, weight)`, and so is its gradient. You write both without
# a loop, while their derivatives are provided. The first of these needs only the shape of the table, and the second says that the
# gradient of a scatter-add is again a lookup.

# %% [markdown]
# Check the gradient, and the gradient of the gradient, against finite differences:

# %% tags=["proof-gradcheck"]
ids = mytorch.tensor([[0, 2, 2], [2, 1, 0]])
rows = mytorch.randn(4, 3, dtype=mytorch.float64, requires_grad=True)


def cubed(rows):
    return mytorch.nn.functional.embedding(ids, rows) ** 3


print("gradient:", mytorch.autograd.gradcheck(cubed, [rows]))
print("gradient of the gradient:", mytorch.autograd.gradgradcheck(cubed, [rows]))

# %% [markdown]
# Sums favour frequent words, while rare words hardly move. `scale_grad_by_freq=True` divides each row's sum by the number of times
# that the row was used in the batch. The next cell shows it, and then two calls that add repeated votes correctly:

# %% tags=["proof-repeats"]
layer, ones = torch.nn.Embedding(4, 1, scale_grad_by_freq=True), torch.ones(4)
layer(votes).sum().backward()
print("scale_grad_by_freq", layer.weight.grad.flatten().tolist())
print("index_add_        ", torch.zeros(4).index_add_(0, votes, ones).tolist())
counted = torch.zeros(4).index_put_((votes,), ones, accumulate=True)
print("index_put_        ", counted.tolist())

# %% [markdown]
# **Interview · A word occurs three times in a batch. What gradient does its row get?**
#
# - *Thirty seconds:* The sum of the three gradients, because the backward pass of a lookup is a scatter-add. Rows that weren't used get
#   zero.
# - *Longer:* The same rule holds for any value that is used more than once.
# - *They ask next:* How large is the gradient? It has the shape of the whole table, unless you ask for a sparse one.
# - *The trap:* `grad[words] += g` keeps only one of the repeated writes. Use `index_add_`, `scatter_add_` or `index_put_(accumulate=True)`.
# - *Proof:* `proof-lost-votes`, `proof-repeats`.
#
# ## Padding
# Sentences differ in length, but a batch is a rectangle. Short sentences are therefore **padded** with an index that means
# nothing, often 0, and `padding_idx=0` does two things for its row:


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
# The row starts at zero and gets no gradient from the layer's own *lookup*, and that is all. Code that writes to the table later can put
# anything there, and no lookup will reset it. If an output layer shares the table, as in GPT-2, that layer's gradient reaches the row as
# well, and so does the gradient of `layer.weight[ids]`, which ignores `padding_idx`.
#
# Besides, a vector of zeros still counts as a word. Average a sentence, first by itself and then in a batch with a longer one:

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

# %% [markdown]
# **Interview · What does `padding_idx` do, and what doesn't it do?**
#
# - *Thirty seconds:* The row starts at zero, and lookups give it no gradient. That isn't a mask, though, so the zeros take part in means,
#   softmaxes and everything else that follows.
# - *Longer:* For a mean, divide the sum by the true lengths; in attention, mask the positions ([chapter 14](14_attention.ipynb)).
#   `nn.EmbeddingBag`, which looks up and averages in one step, skips its `padding_idx`.
# - *They ask next:* Does the row stay zero? Not if `nn.init` or a checkpoint overwrites it, or if an output layer shares
#   the table.
# - *The trap:* `from_pretrained(table, padding_idx=0)` doesn't set the row to zero. It keeps the table as it is.
# - *Proof:* `proof-padding`, `proof-padded-mean`; the trap: `proof-rapid-fire`.

# %% [markdown]
# ## Which rows move?
# Word 0 occurs in the first batch and never again, so from the second batch on, its gradient is zero. Does its vector stay where
# it is?


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
# Only with plain SGD, RMSprop and Adagrad, whose step without momentum and weight decay is a multiple of the current gradient. (RMSprop's
# single step is ten times as long, since its mean of squares starts at zero.) Momentum and Adam average over earlier gradients ([chapter
# 16](16_losses_and_optimizers.ipynb)) and so go on moving the vector, while weight decay pulls it back to zero.
#
# **Interview · A word isn't in the batch. Does its vector move?**
#
# - *Thirty seconds:* That depends on the optimizer, because the gradient is zero but not missing. Plain SGD leaves the vector in
#   place, whereas momentum and Adam go on moving it for a while if it was used before, and weight decay shrinks it.
# - *Longer:* An optimizer skips a parameter whose `.grad` is `None`, but here the parameter is the whole table, which has a
#   gradient as soon as one word is used.
# - *They ask next:* How do you avoid it? I use sparse gradients with `SparseAdam`, which updates only the rows that were used.
# - *The trap:* A zero gradient means no step only if each step is a multiple of the current gradient, as in SGD, RMSprop and Adagrad
#   without momentum and weight decay.
# - *Proof:* `proof-unused-rows`.
#
# ## Large vocabularies and new tokens
# Language models cut words into subwords. **Byte pair encoding** (BPE) starts with characters or, as in GPT-2, with single bytes. Then it
# repeatedly merges the most frequent pair of neighbours into a new token, until the vocabulary has the desired size, usually 30,000 to
# 250,000. ([Chapter 27](27_whiteboard_serving.ipynb) builds a tokenizer.)
#
# A new token needs a new row. Since the output layer often shares the table, the token's logit is the dot product of a hidden state and
# this row. What happens if you draw the new row as `nn.Embedding` does?

# %% tags=["proof-new-row"]
torch.manual_seed(0)
table, hidden = 0.02 * torch.randn(1000, 64), torch.randn(200, 64)  # rows as small as GPT-2's
mean, sharper = table.mean(0, keepdim=True), 15 * table  # sharper: logits with a standard deviation of 2.4
rows_of = {"drawn from N(0, 1)": (table, torch.randn(1, 64)), "mean of the rows": (table, mean)}
for name, (rows, row) in (rows_of | {"mean, sharper model": (sharper, 15 * mean)}).items():
    logits = hidden @ torch.cat([rows, row]).t()
    share = logits.softmax(1)[:, -1]
    print(f"new row {name:19}: probability from {share.min().item():.0e} to {share.max().item():.0e}")
for rows in (32_000, 256_000):
    print(f"{rows} rows: {rows * 4096 / 1e9:.2f} billion parameters, {8192 * rows * 4 / 1e9:.1f} GB of logits")

# %% [markdown]
# A large row dominates the softmax for some hidden states and vanishes for others. The mean of all rows gives the mean of all logits, so
# the new token starts with a probability of at most about 1/1001. The sharper the model's predictions are, the lower it is.
#
# **Interview · You add tokens to the tokenizer. What has to change in the model?**
#
# - *Thirty seconds:* The embedding needs a row for each new token, and so does the output layer, because otherwise the new
#   indices are out of range. I copy the old rows, initialize the new ones with the mean of the old, so that the new tokens start
#   with a small probability, and then train them.
# - *Longer:* Hugging Face's `resize_token_embeddings` copies the old rows and, by default, draws the new ones close to their mean.
#   With LoRA, the embedding is usually frozen, so make it trainable, or the new rows will stay as they are. If the two layers are
#   tied, tie them again after resizing.
# - *They ask next:* Why not draw them as `nn.Embedding` does? Its standard deviation is 1, while GPT-2's rows start at 0.02, so a
#   new logit would be about fifty times too large.
# - *The trap:* An optimizer that was created before resizing still holds the old table.
# - *Proof:* `proof-new-row`.
#
# **Interview · Why do language models share the table with the output layer?**
#
# - *Thirty seconds:* Sharing saves a matrix of vocabulary times width, which is 39 of the 124 million parameters of the smallest GPT-2.
#   Both layers need the same thing, a vector for each token, and in small models, sharing often improves quality as well. Large models,
#   where the share is small, often keep two tables.
# - *Longer:* The table then receives two gradients: a sparse one from the lookup, and a dense one from the softmax that reaches
#   all rows.
# - *The trap:* A copy isn't tied: both modules must hold the same `Parameter` object, even after the model has been moved or loaded.
# - *Proof:* the shared row in `proof-padding`.
#
# **Interview · Your vocabulary grows from 32k to 256k. What does it cost?**
#
# - *Thirty seconds:* Parameters and memory. At a width of 4,096 a table grows from 0.13 to 1.05 billion parameters, or twice that if the
#   output layer has its own, and the float32 logits of 8,192 tokens take 8.4 GB instead of 1.0. In return each text has fewer tokens.
# - *Longer:* The saving is far smaller than the growth, because frequent words are single tokens already. Llama 3 quadrupled Llama 2's
#   vocabulary, and English went from 3.17 to 3.94 characters a token ([report](https://arxiv.org/abs/2407.21783)). The logits never have
#   to exist at once, because the loss can be computed in chunks ([chapter 22b](22b_memory.ipynb)).
# - *They ask next:* Which rows suffer? The rare ones, which get few gradients.
# - *The trap:* There is nothing to gain from a faster lookup, whose cost doesn't depend on the number of rows.
# - *Proof:* `proof-new-row`; the lookup: `proof-one-hot-breaks`.
#
# ## Milestone: vectors from a book
# "King" and "queen" occur in similar contexts: "the" often comes before them, and "said" before that. So we train a table to
# predict a word's context: from the word's vector, a linear layer predicts the two words before it and the two after it. (This is
# word2vec's skip-gram, with all four neighbours of a word at once.) Words that share their contexts need the same predictions, so
# they get similar vectors. The text is *Alice's Adventures in Wonderland*:

# %%
import re
from collections import Counter
from pathlib import Path

text = re.findall("[a-z]+", Path("files/alice.txt").read_text().lower())
vocabulary = [word for word, count in Counter(text).most_common() if count >= 20]
number, size = {word: position for position, word in enumerate(vocabulary)}, len(vocabulary)
ids = np.array([number.get(word, size) for word in text])  # one number for all rare words
pairs = [ids * (size + 1) + np.roll(ids, -distance) for distance in (-2, -1, 1, 2)]
counts = [np.bincount(pair, minlength=(size + 1) ** 2).reshape(size + 1, -1)[:size, :150] for pair in pairs]
shares = np.concatenate(counts, 1) / np.concatenate(counts, 1).sum(1, keepdims=True)  # of the 150 most frequent words

# %% tags=["proof-milestone"]
nn, context = mytorch.nn, mytorch.from_numpy(shares.astype("float32"))


def train(seed):
    """The initial table, the trained one, and the loss of the last ten epochs."""
    mytorch.manual_seed(seed)
    model, losses = nn.Sequential(nn.Embedding(size, 24), nn.Linear(24, 4 * 150)), []
    fresh = model[0].weight.detach().clone()
    for _ in range(60):
        for batch in mytorch.randperm(size).split(64):
            log_probabilities = nn.functional.log_softmax(model(batch), 1)
            loss = -(context[batch] * log_probabilities).sum(1).mean()
            model.zero_grad()
            loss.backward()
            with mytorch.no_grad():
                for parameter, rate in zip(model.parameters(), (50, 5, 5), strict=True):
                    parameter -= rate * parameter.grad
        losses.append(loss.item())
    return fresh, model[0].weight.detach(), np.mean(losses[-10:])


runs = [train(seed) for seed in range(3)]
choices = max(np.exp(loss) for *_, loss in runs)  # the largest perplexity
print(
    f"a uniform guess has perplexity {4 * 150}; after each of three trainings it is below {np.ceil(choices / 100) * 100:.0f}"
)

# %% [markdown]
# ### Nearest neighbours
# The angle between two vectors shows how similar their directions are, and its cosine is the dot product of the vectors after
# each has been divided by its length. Compare three pairs of words before and after training, for three seeds:


# %% tags=["proof-neighbours"]
def nearest(table, word, count):
    unit = table / (table * table).sum(1, keepdim=True).sqrt()
    cosine = unit @ unit[number[word]]
    found = cosine.argsort(descending=True)[1 : count + 1]  # place 0 is the word itself
    return {vocabulary[number]: cosine[number].item() for number in found.tolist()}


for word, other in (("king", "queen"), ("he", "she"), ("down", "up")):
    ranks = [
        [[*nearest(table, word, size)].index(other) + 1 for table in (fresh, trained)] for fresh, trained, _ in runs
    ]
    before, after = min(rank for rank, _ in ranks) // 10 * 10, -(-max(rank for _, rank in ranks) // 10) * 10
    print(
        f"'{other}' is never among the {before} words nearest to '{word}' before training, always among {after} afterwards"
    )


# %%
def neighbours(word):
    near = nearest(runs[0][1], word, 8)
    axes = pictures.axes()
    axes.barh(list(near)[::-1], list(near.values())[::-1], color="#0072B2")
    axes.set(xlabel=f"cosine with '{word}'", xlim=(0, 1))
    return pictures.publish(axes, alt=f"The words nearest to '{word}', with cosines.")


pictures.slider(neighbours, word=["king", "he", "down", "could", "his"])

# %% [markdown]
# Although the table was trained only on contexts, characters of the book are near other characters, and pronouns near pronouns.
#
# Why the cosine, and not just the dot product? Three points show it:

# %% tags=["proof-cosine"]
points = torch.tensor([[1.0, 0.0], [0.9, 0.2], [4.0, 4.0]])
lengths = (points * points).sum(1, keepdim=True).sqrt()
print("products with row 0:", points @ points[0])
print("cosines with row 0: ", (points / lengths) @ (points / lengths)[0])

# %% [markdown]
# **Interview · How do you find a word's nearest neighbours?**
#
# - *Thirty seconds:* I use the cosine: divide all rows by their lengths, multiply them by the word's normalized row, and take the
#   largest results.
# - *Longer:* That is a single matrix-vector product for all words; for millions of rows, an approximate index such as HNSW is
#   faster. Retrieval works the same way, with vectors of whole texts.
# - *They ask next:* Why not the dot product? With it, a long vector can beat a more similar one and even the word itself, as the third
#   point does above.
# - *The trap:* The first result is the word itself, and a row of zeros, such as the padding row, gives 0 / 0.
# - *Proof:* `proof-cosine`, `proof-neighbours`.
#
# ### Text embeddings for retrieval: in-batch negatives
# A model that embeds whole texts is trained on pairs that belong together, such as a question and the page that answers it. In a
# batch of pairs, the texts of the other pairs serve as negatives. The loss, called *InfoNCE*, is the cross-entropy over the
# cosines, divided by a temperature. In the next cell each query equals its text, so the loss should be near 0:

# %% tags=["proof-in-batch-negatives"]
torch.manual_seed(0)
texts = torch.randn(64, 256)
texts = texts / texts.norm(dim=1, keepdim=True)
twice = torch.cat([texts[:32], texts[:32]])
print(f"64 equal probabilities: loss {np.log(64):.1f}")
for name, these, temperature in (("matches", texts, 1.0), ("matches", texts, 0.05), ("each text twice", twice, 0.05)):
    loss = F.cross_entropy(these @ these.T / temperature, torch.arange(64))
    print(f"{name}, temperature {temperature}: loss {loss.item():.1f}")

# %% [markdown]
# A cosine is at most 1, so at a temperature of 1 the softmax can't become confident: even perfect matches have a loss of 3.2. A
# text that occurs twice is its own negative (a *false negative*), so the loss can't fall below ln 2 = 0.7.
#
# **Interview · How do you train an embedding model for retrieval?**
#
# - *Thirty seconds:* I embed pairs that belong together and apply a cross-entropy to all cosines of the batch, so that the other
#   texts serve as negatives. A temperature of about 0.05 lets the softmax become confident.
# - *Longer:* Random negatives soon become too easy, so *hard negatives*, which an earlier model ranks high by mistake, are added.
# - *They ask next:* Why not read query and text together? Such a cross-encoder is more accurate, but it can't index texts in
#   advance, so it is used only to rerank hits.
# - *The trap:* Duplicates in a batch become false negatives.
# - *Proof:* `proof-in-batch-negatives`; you write the loss in an exercise of [chapter 16](16_losses_and_optimizers.ipynb).
#
# ## Edge cases
# The indices may have any shape, and the result has one more dimension. Unlike in indexing, negative indices raise an error
# instead of counting from the end.

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
# - *Thirty seconds:* An assertion in a kernel failed, most often because an index is out of range: in an embedding, in `gather`,
#   or as a class index in the loss. I run the same batch on the CPU, where the call itself raises an error and the traceback
#   points to the line.
# - *Longer:* On the GPU a later call reports the error. [Chapter 05](05_devices.ipynb) explains why, what `CUDA_LAUNCH_BLOCKING=1` does,
#   and why the process has to be restarted.
# - *They ask next:* What do you check first? Compare the smallest and the largest index with the number of rows. Typical causes
#   are tokens that were added to the tokenizer but not to the table, labels that count from 1, and padding of −1.
# - *The trap:* −1 isn't the last row, as in indexing; a lookup refuses it.
# - *Proof:* `proof-edges`, `proof-rapid-fire`.
#
# ## The real one
# minitorch sorts the positions by row, so that those of one row become neighbours, called a *run*. It adds the first values of all runs
# at once, then the second ones, and so on, as long as more runs are left than steps to go:

# %%
import inspect

from minitorch.kernels.accumulation import combine_rows

source = inspect.getsource(combine_rows)
print(source[source.index("    while 0") : source.index("    for run")])

# %% [markdown]
# `left` holds the runs that still have values, `longest` is the length of the longest run, and `done` counts the steps. `combine` is
# addition, and `held` and `given` pick rows of the gradient and of the values.
#
# ## A common myth: "A forward pass doesn't change the weights"
# With `max_norm` it does, because any row that is looked up and is longer than `max_norm` is scaled down in the table itself.

# %% tags=["proof-max-norm"]
layer = torch.nn.Embedding.from_pretrained(torch.tensor([[3.0, 4], [6, 8]]), max_norm=1)
layer(torch.tensor([0]))
print(layer.weight.data)

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What shape does an embedding of width 64 return for a (32, 128) batch? (32, 128, 64).
# 2. Does the output of a frozen embedding require grad? No: the table doesn't, so neither does what is looked up in it.
# 3. Does `nn.Embedding.from_pretrained` train the table? Not unless you pass `freeze=False`.
# 4. Does `from_pretrained(…, padding_idx=0)` set row 0 to zero? No, it keeps the row as it is.
# 5. What does `weight[torch.tensor([-1])]` give for an embedding's weight? The last row, whereas `F.embedding` raises an error.

# %% hidden=true tags=["proof-rapid-fire"]
print("1.", tuple(torch.nn.Embedding(9, 64)(torch.zeros(32, 128).long()).shape))
layer = torch.nn.Embedding.from_pretrained(torch.ones(3, 2), padding_idx=0)
print("2.", layer(votes).requires_grad, " 3.", layer.weight.requires_grad)
print("4.", layer.weight[0].tolist(), " 5.", layer.weight[torch.tensor([-1])].tolist())

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. An embedding is a table, and looking up a row gives what a one-hot vector times the table would, without the multiplication.
# 2. Its gradient is a scatter-add: repeated words add up, and unused rows get zero.
# 3. `grad[words] += g` loses repeated words.
# 4. `padding_idx` starts a row at zero and gives it no gradient through lookups.
# 5. It neither masks the row nor keeps it at zero, so divide sums by the number of real words.
# 6. Momentum, Adam and weight decay also move rows that weren't used.
# 7. `sparse=True` stores the gradient of the used rows only, and most optimizers refuse it.
# 8. New tokens need new rows in both layers; start them at the mean of the old rows.
# 9. Nearest neighbours are found by the cosine, without the word itself.
# 10. Indices are int64 or int32, from 0 to the number of rows minus 1.
#
# ## You try
# In [the exercises](../exercises/13_embeddings.ipynb) you predict a gradient, write the lookup, its gradient and the layer, and find
# neighbours for a whole batch. Then you repair an initialization and measure how long an optimizer remembers a word. In [chapter
# 14](14_attention.ipynb), the vectors of a sentence exchange information.

# %% [markdown]
# ## If you have time
# ### Sparse gradients
# A batch uses only a few rows, yet its gradient is as large as the table. It can be stored as two small arrays instead: the
# indices of the rows that were used, and the gradient of each.


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
# In PyTorch, `nn.Embedding(…, sparse=True)` makes `weight.grad` such a sparse tensor, and its `coalesce()` adds up repeated rows.
# `SparseAdam` accepts it, and so do `SGD` and `Adagrad`, unless they have a `weight_decay`. Most other optimizers refuse: "Adam
# does not support sparse gradients, please consider SparseAdam instead". minitorch has no sparse gradients.
#
# **Interview · When do you want sparse gradients?**
#
# - *Thirty seconds:* When the table is large and each batch uses only a few of its rows. The gradient's memory and
#   the optimizer's work then grow with the batch and not with the table.
# - *Longer:* `SparseAdam` updates its two means only for the rows that were used, so it isn't quite Adam: the means of rare words go
#   stale. They still fill two whole tables, too.
# - *The trap:* The forward pass doesn't get faster: it is a lookup either way.
# - *Proof:* `proof-sparse`; what it avoids: `proof-unused-rows`.
