# %% [markdown]
# # Exercises · LLM serving at the whiteboard
# Each of these problems is asked at a whiteboard as it stands here, and together they are the parts of a server for language models: text becomes
# tokens, tokens are chosen, the cache is cut into blocks and shared, and a scheduler fills each step. Give each problem the minutes below its
# task, write in plain Python and NumPy unless the task says otherwise, and say its cost aloud before you open the fold below it.

# %% setup=true
from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

import minitorch as torch
from course import check

# %% [markdown] exercise="serve_bpe" kind="build" points=4 minutes=25
# ### Exercise 1 · Byte-pair encoding: train, encode, decode
# Write a byte-level BPE tokenizer. The ids 0 to 255 are the bytes, and the merge that is learned as number i, from 0, gets the id 256 + i.
# Training merges the most frequent pair of neighbouring ids again and again; among equally frequent pairs it takes the smallest.
# Encoding applies the merges in the order in which they were learned, and any bytes, valid UTF-8 or not, come back when they are decoded.


# %% solution="serve_bpe"
def replaced(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """The ids with each occurrence of `pair` replaced by `new`, found from left to right; occurrences don't overlap.

    The list `ids` stays as it is.
    """
    ### BEGIN SOLUTION
    out, at = [], 0
    while at < len(ids):
        if tuple(ids[at : at + 2]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out
    ### END SOLUTION


def train(text: bytes, merges: int) -> list[tuple[int, int]]:
    """The pairs in the order in which they are learned: `merges` of them, or fewer if the text has become a single id.

    All pairs of neighbours are counted, so `aaa` holds the pair `aa` twice.
    """
    ### BEGIN SOLUTION
    ids, learned = list(text), []
    for new in range(256, 256 + merges):
        counts = Counter(pairwise(ids))
        if not counts:
            break
        pair = min(counts, key=lambda each: (-counts[each], each))
        ids = replaced(ids, pair, new)
        learned.append(pair)
    return learned
    ### END SOLUTION


def encode(text: bytes, merges: list[tuple[int, int]]) -> list[int]:
    """The ids of a text. An empty text has none."""
    ### BEGIN SOLUTION
    ids = list(text)
    for rank, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + rank)
    return ids
    ### END SOLUTION


def decode(ids: list[int], merges: list[tuple[int, int]]) -> bytes:
    """The bytes that the ids stand for."""
    ### BEGIN SOLUTION
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b"".join([pieces[each] for each in ids])
    ### END SOLUTION


# %% check="serve_bpe"
generator = check.rng()
words = [bytes(generator.integers(97, 102, size=size).tolist()) for size in (2, 3, 4, 5)]
text = b" ".join(words[each] for each in generator.integers(0, 4, size=40)) + "naïve café".encode()
merges = train(text, 15)
low, mid, high, top = sorted(generator.choice(26, size=4, replace=False).tolist())
low, mid, high, top = 97 + low, 97 + mid, 97 + high, 97 + top
crafted = [(mid, high), (low, mid), (256, top), (low, 256)]
noise = bytes(generator.integers(0, 256, size=60).tolist())
five = [low] * 5
check.show(
    {
        "text": text.decode(),
        "merges": merges,
        "merge of two equally frequent pairs": train(bytes([high, top, high, top, low, mid, low, mid]), 1),
        "merge of a row of four and a pair that is there twice": train(bytes([high] * 4 + [low, mid] * 2), 1),
        "merges of a text of three equal bytes": train(bytes([mid] * 3), 5),
        "merges of one byte": train(b"a", 3),
        "a pair in a row of five, and the row": [replaced(five, (low, low), 300), five],
        "the pair (17, 9)": replaced([117, 9, 17, 9, 17, 91, 17, 9], (17, 9), 300),
        "letters, and their merges": [bytes([low, mid, high, top]).decode(), crafted],
        "ids of the letters": encode(bytes([low, mid, high, top, low, mid, low]), crafted),
        "ids of another text": encode(b" ".join(words[::-1]), merges),
        "ids of an empty text, and without merges": [encode(b"", merges), encode(bytes([low, mid]), [])],
        "one id, one merge": [
            replaced([low], (low, mid), 1),
            encode(bytes([low, mid]), [(low, mid)]),
            check.intact(decode, [256], [(low, mid)]).hex(),
        ],
        "bytes of all learned ids": decode(list(range(250, 256 + len(merges))), merges).hex(),
        "random bytes come back": decode(encode(noise, merges), merges) == noise,
        "the text comes back, in fewer ids": [decode(encode(text, merges), merges) == text, len(encode(text, merges))],
    },
    text="Merges that were learned, and ids of several texts.",
)

# %% [markdown] hint="serve_bpe"
# Start with `list(text)`, which has the bytes as integers. Which part of training does encoding need as well?

# %% [markdown] hint="serve_bpe"
# A `while` loop with an index is the safe way to replace: it moves by two after a match and by one otherwise. `Counter(pairwise(ids))`
# counts pairs, and a key of (−count, pair) settles ties.

# %% [markdown] hint="serve_bpe"
# A merge can only build on earlier ones, so `encode` goes through `enumerate(merges)` once and calls
# `replaced(ids, pair, 256 + rank)` for each, and `decode` builds a list of 256 single bytes to which each merge
# appends `pieces[left] + pieces[right]`.


# %% mutant="serve_bpe"
# Encodes from left to right
# Merges apply in the order in which they were learned, wherever they occur. This takes the first pair that has any merge, so a later merge can win over an earlier one.
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at : at + 2]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out


def train(text, merges):
    ids, learned = (list(text), [])
    for new in range(256, 256 + merges):
        counts = Counter(pairwise(ids))
        if not counts:
            break
        pair = min(counts, key=lambda each: (-counts[each], each))
        ids = replaced(ids, pair, new)
        learned.append(pair)
    return learned


def encode(text, merges):
    ids, ranks = (list(text), {pair: rank for rank, pair in enumerate(merges)})
    at = 0
    while at + 1 < len(ids):
        if (ids[at], ids[at + 1]) in ranks:
            ids[at : at + 2] = [256 + ranks[ids[at], ids[at + 1]]]
            at = max(at - 1, 0)
        else:
            at += 1
    return ids


def decode(ids, merges):
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b"".join([pieces[each] for each in ids])


# %% mutant="serve_bpe"
# Takes the longest piece
# Greedy longest match is what WordPiece does. BPE applies its merges in the order in which they were learned, which can give other ids.
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at : at + 2]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out


def train(text, merges):
    ids, learned = (list(text), [])
    for new in range(256, 256 + merges):
        counts = Counter(pairwise(ids))
        if not counts:
            break
        pair = min(counts, key=lambda each: (-counts[each], each))
        ids = replaced(ids, pair, new)
        learned.append(pair)
    return learned


def encode(text, merges):
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    ids = []
    while text:
        fitting = [each for each in range(len(pieces)) if text.startswith(pieces[each])]
        ids.append(max(fitting, key=lambda each: len(pieces[each])))
        text = text[len(pieces[ids[-1]]) :]
    return ids


def decode(ids, merges):
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b"".join([pieces[each] for each in ids])


# %% mutant="serve_bpe"
# Settles ties by what came first
# Among equally frequent pairs the smallest one is learned. `most_common` returns the pair that was counted first, so the merges depend on the order of the text.
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at : at + 2]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out


def train(text, merges):
    ids, learned = (list(text), [])
    for new in range(256, 256 + merges):
        counts = Counter(pairwise(ids))
        if not counts:
            break
        pair = counts.most_common(1)[0][0]
        ids = replaced(ids, pair, new)
        learned.append(pair)
    return learned


def encode(text, merges):
    ids = list(text)
    for rank, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + rank)
    return ids


def decode(ids, merges):
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b"".join([pieces[each] for each in ids])


# %% mutant="serve_bpe"
# Merges overlapping pairs
# In `aaa`, the middle `a` belongs to one merged pair only. Each position whose right neighbour fits is replaced here, so a letter is used twice.
def replaced(ids, pair, new):
    out, skip = [], False
    for at, each in enumerate(ids):
        if tuple(ids[at : at + 2]) == pair:
            out.append(new)
            skip = True
        elif skip:
            skip = False
        else:
            out.append(each)
    return out


def train(text, merges):
    ids, learned = list(text), []
    for new in range(256, 256 + merges):
        counts = Counter(pairwise(ids))
        if not counts:
            break
        learned.append(min(counts, key=lambda each: (-counts[each], each)))
        ids = replaced(ids, learned[-1], new)
    return learned


def encode(text, merges):
    ids = list(text)
    for rank, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + rank)
    return ids


def decode(ids, merges):
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b"".join([pieces[each] for each in ids])


# %% mutant="serve_bpe"
# Characters instead of bytes
# A byte-level tokenizer starts from 256 bytes, so no text is unknown to it. Here the ids start from characters, and bytes that aren't valid UTF-8 are lost.
def replaced(ids, pair, new):
    out, at = [], 0
    while at < len(ids):
        hit = tuple(ids[at : at + 2]) == pair
        out.append(new if hit else ids[at])
        at += 2 if hit else 1
    return out


def train(text, merges):
    ids, learned = [ord(each) for each in text.decode("utf-8", "ignore")], []
    for new in range(256, 256 + merges):
        counts = Counter(pairwise(ids))
        if not counts:
            break
        learned.append(min(counts, key=lambda each: (-counts[each], each)))
        ids = replaced(ids, learned[-1], new)
    return learned


def encode(text, merges):
    ids = [ord(each) for each in text.decode("utf-8", "ignore")]
    for rank, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + rank)
    return ids


def decode(ids, merges):
    pieces = [chr(each) for each in range(2**16)]
    for rank, (left, right) in enumerate(merges):
        pieces[256 + rank] = pieces[left] + pieces[right]
    return "".join([pieces[each] for each in ids]).encode()


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* Training takes O(merges · n) time and O(n) memory; encoding takes O(merges · n) in this form.
#
# - *How do you make encoding fast?* "I keep the ids in a linked list and the pairs in a heap by rank. A merge removes its own pair and
#   replaces the pairs on its two sides, so a text of n bytes takes O(n log n). Real tokenizers first split the text into words and cache the ids of each word."
# - *Why is the text split before training?* "It is split so that no merge crosses a word boundary. Otherwise frequent
#   phrases like *of the* would become tokens, and `dog.` and `dog!` would get different tokens for the dog. Digits are
#   often split into groups of at most three for the same reason."
# - *How are special tokens handled?* "They are matched before BPE and get ids of their own. Text from users must not be matched that way,
#   or a user could type the end-of-turn token and forge a conversation."
#
# </details>

# %% [markdown] exercise="serve_processors" kind="build" points=3
# ### Exercise 2 · Logit processors: repetition, frequency, presence, temperature, min-p
# Write what an API applies to the logits of a batch before it draws, in this order. The *repetition penalty* r applies once to every token of the row's prompt or output,
# however often the token occurred: a positive logit is divided by r, any other is multiplied by it, so 0 stays 0. Then each token of the *output* loses
# `frequency` times its count there, and `presence` once. Then everything is divided by the temperature. Last, *min-p* sets a token to −∞ if its probability is below `min_p` times that of the row's likeliest token.


# %% solution="serve_processors"
def process(
    logits: np.ndarray,
    prompts: list[list[int]],
    outputs: list[list[int]],
    repetition: float = 1.0,
    frequency: float = 0.0,
    presence: float = 0.0,
    temperature: float = 1.0,
    min_p: float = 0.0,
) -> np.ndarray:
    """The processed logits, a new array (B, V); `logits` stays as it is. Row b has seen `prompts[b]` and written `outputs[b]`.

    The temperature is above 0. A logit of −∞ stays −∞. The row's likeliest token always stays.
    """
    ### BEGIN SOLUTION
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits
    ### END SOLUTION


# %% check="serve_processors"
generator = check.rng()
rows, size = int(generator.integers(2, 4)), int(generator.integers(9, 12))
logits = generator.normal(size=(rows, size)) * 2
logits[:, 0], logits[:, 1] = 1.7 + generator.random(rows), -1.2 - generator.random(rows)
prompts = [[0, 2, 2, 5], [1, 3], [4, 4]][:rows]
outputs = [[1, 3, 3, 2, 3], [3, 0, 0, 5], []][:rows]
before = logits.copy()
shares = np.exp(logits - logits.max(-1, keepdims=True))
between = [float(each) for each in np.sort(shares, -1)[0, -4:-2]]
cases = {
    "nothing": {},
    "repetition 1.3": {"repetition": 1.3},
    "repetition 0.8": {"repetition": 0.8},
    "frequency 0.4": {"frequency": 0.4},
    "presence 0.7": {"presence": 0.7},
    "frequency -0.3, presence 0.5": {"frequency": -0.3, "presence": 0.5},
    "temperature 0.5": {"temperature": 0.5},
    "min-p between the third and the fourth likeliest token": {"min_p": (between[0] + between[1]) / 2},
    "temperature 2, the same min-p": {"temperature": 2.0, "min_p": (between[0] + between[1]) / 2},
    "min-p 1": {"min_p": 1.0},
    "repetition 1.2, frequency 0.2, presence 0.1, temperature 0.7": {
        "repetition": 1.2,
        "frequency": 0.2,
        "presence": 0.1,
        "temperature": 0.7,
    },
    "repetition 1.2, frequency 0.2, presence 0.1, temperature 0.7, min-p 0.05": {
        "repetition": 1.2,
        "frequency": 0.2,
        "presence": 0.1,
        "temperature": 0.7,
        "min_p": 0.05,
    },
}
shown = {"logits": logits.copy()}
for name, how in cases.items():
    shown[name] = process(logits, prompts, outputs, **how)
flat = np.log(np.full((1, 40), 1 / 40))
shown["min-p 0.1 of 40 equal tokens: how many stay"] = int(np.isfinite(process(flat, [[]], [[]], min_p=0.1)).sum())
banned = np.array([[1000.0, -np.inf, -1000.0, 998.0]])
shown["large, banned and small ones"] = np.asarray(
    process(banned, [[1]], [[1, 3]], 1.1, 0.2, 0.1, temperature=0.5, min_p=0.1)
)
top = np.array([[5.0, 3.0, 2.0, 0.0]])
shown["min-p after a penalty of the likeliest token"] = process(top, [[]], [[0]], presence=4.0, min_p=0.2)
shown["the opposite logits"] = process(-logits, prompts, outputs)
shown["the logits are as they were"] = bool(np.array_equal(logits, before))
check.show(shown, text="Logits after processing. Tokens 0 and 1 have a positive and a negative logit in each row.")

# %% [markdown] hint="serve_processors"
# Should a penalty ever raise a probability? Try what the division does to a logit of −2.

# %% [markdown] hint="serve_processors"
# Repetition: the *set* of the row's prompt and output, with `np.where(x > 0, x / r, x * r)`. Frequency and presence: `Counter(output)`.

# %% [markdown] hint="serve_processors"
# p < min_p · p_max is the same as logit < largest logit + log(min_p), because the denominator of the softmax cancels. So min-p needs no softmax, and it stays exact for logits of ±1000.


# %% mutant="serve_processors"
# Divides negative logits
# A negative logit that is divided by 1.3 comes closer to 0, so the token becomes *more* likely. Negative logits are multiplied.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = row[seen] / repetition
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits


# %% mutant="serve_processors"
# Penalizes each occurrence
# The repetition penalty applies once to a token, however often it occurred. Counting occurrences is what the frequency penalty does.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        for token in prompt + output:
            row[token] = row[token] / repetition if row[token] > 0 else row[token] * repetition
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits


# %% mutant="serve_processors"
# Repetition ignores the prompt
# The repetition penalty looks at the prompt and the output. Frequency and presence look at the output alone.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, output in zip(logits, outputs, strict=True):
        seen = list({*output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits


# %% mutant="serve_processors"
# Frequency and presence count the prompt
# These two penalties look at the tokens that the model has written, or a long prompt would forbid its own words.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(prompt + output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits


# %% mutant="serve_processors"
# Presence for each occurrence
# The presence penalty is subtracted once from every token that occurs in the output, whatever its count.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= (frequency + presence) * count
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits


# %% mutant="serve_processors"
# Min-p as a fixed limit
# The limit is relative: `min_p` times the largest probability. With a fixed limit, a flat distribution over many tokens loses all of them.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        logits[shares / shares.sum(-1, keepdims=True) < min_p] = -np.inf
    return logits


# %% mutant="serve_processors"
# Min-p before the temperature
# Min-p was applied to the probabilities at temperature 1. It comes last, so a high temperature lets more tokens stay.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    logits /= temperature
    return logits


# %% mutant="serve_processors"
# Min-p by logits
# The limit was `min_p` times the largest *logit*. Min-p compares probabilities, and so differences of logits.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) * min_p] = -np.inf
    return logits


# %% mutant="serve_processors"
# Writes into the model's logits
# The logits that were handed in have changed. A caller that returns log probabilities, or retries with other settings, needs them as they were.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = np.asarray(logits)
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* O(B · V + tokens seen) time and one copy of the logits. A server keeps counts (B, V) on the GPU, so that nothing is recounted each step.
#
# - *Why is min-p preferred to top-p at high temperatures?* "Its limit moves with the confidence of the model. Where one token is clear, hardly anything
#   else stays; where many are equally good, all of them stay. Top-p keeps a long tail of bad tokens when the distribution is flat."
# - *Does the order matter?* "Yes. The repetition penalty isn't invariant to shifts of the logits, and min-p after the temperature keeps other tokens than before it. Libraries differ,
#   so the same settings needn't give the same text."
# - *What breaks with a batch?* "Each request needs its own settings, counts and random generator. Otherwise the text of a request depends on its neighbours."
#
# </details>


# %% mutant="serve_processors"
# The penalty twice
# A token that occurs in the prompt and in the output is penalized twice here. The penalty applies once to each token of their union.
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        for seen in (list({*prompt}), list({*output})):
            row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits


# %% [markdown] exercise="serve_beam" kind="build" points=4 minutes=20
# ### Exercise 3 · Beam search that ends
# Write beam search. In each step, all continuations of the live prefixes compete by their summed log probability. Of the `width` best
# continuations, those that end in `eos` are *finished*; the `width` best continuations that don't end in `eos` live on. After `length` tokens, the live ones are
# finished too. A finished sequence of n tokens, `eos` included and `start` not, has the score sum / n**alpha, and the `width` best of all finished ones are returned.


# %% solution="serve_beam"
def beam(logprobs, start: int, eos: int, width: int, length: int, alpha: float = 0.0) -> list[tuple[list[int], float]]:
    """The best finished sequences with their scores, best first: at most `width`, each without `start`.

    `logprobs(prefixes)` takes an integer array (W, t) of prefixes, each beginning with `start`, and returns the log
    probabilities (W, V) of the next token, in an array of its own that must not be changed. A search may stop early
    only where that doesn't change what is returned.
    """
    ### BEGIN SOLUTION
    live, finished = [([start], 0.0)], []
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]
    ### END SOLUTION


# %% check="serve_beam"
generator = check.rng()
eos, start, size = 1, int(generator.integers(2, 5)), 5


def table(seed, ending):
    """A model whose next token depends on the last two; `ending` is added to the logit of `eos`."""
    logits = np.random.default_rng(seed).normal(size=(size, size, size)) * 1.5
    logits[..., eos] += ending
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))

    def logprobs(prefixes):
        before = prefixes[:, -2] if prefixes.shape[1] > 1 else np.zeros(len(prefixes), int)
        return logits[before, prefixes[:, -1]]

    return logprobs


def trap(first):
    """Token 2 is a likely first token that leads to poor continuations; after token 3 the text ends at once."""

    def logprobs(prefixes):
        shares = {(): first, (2,): [0.21, 0.2, 0.22, 0.18, 0.19], (3,): [0.025, 0.9, 0.04, 0.02, 0.015]}
        rows = [shares.get(tuple(prefix[1:].tolist()), [0.061, 0.052, 0.043, 0.034, 0.81]) for prefix in prefixes]
        return np.log(np.array(rows))

    return logprobs


def remembering(model):
    """The model, which returns the same array whenever it gets the same prefixes."""
    known = {}
    return lambda prefixes: known.setdefault((prefixes.shape, prefixes.tobytes()), model(prefixes))


def found(model, width, length, alpha):
    returned = beam(model, start, eos, width, length, alpha)
    return [[[int(each) for each in tokens], float(score)] for tokens, score in returned]


seeds = [int(each) for each in generator.integers(0, 10**6, size=3)]
shown = {"seeds of the models": seeds}
for seed, ending in zip(seeds, (0.0, 2.0, -1.0), strict=True):
    for width, alpha in ((2, 0.0), (3, 1.0), (4, 0.6), (3, -0.5)):
        shown[f"model {seed}, width {width}, alpha {alpha}"] = found(table(seed, ending), width, 5, alpha)
shown["exhaustive: width 700, length 4"] = found(table(seeds[0], 0.5), 700, 4, 0.8)[:6]
poor, early = trap([0.02, 0.28, 0.36, 0.3, 0.04]), trap([0.02, 0.4, 0.32, 0.24, 0.02])
shown["a likely first token that leads nowhere, width 1, 2 and 3"] = [found(poor, width, 4, 1.0) for width in (1, 2, 3)]
shown["ending at once is the likeliest, width 2"] = found(early, 2, 4, 1.0)
again = remembering(table(seeds[2], 1.0))
shown["twice with the same model"] = [found(again, 3, 5, 1.0) for _ in range(2)]
eos = 3
shown["another end token"] = found(table(seeds[2], 0.5), 3, 4, 0.5)
shown["length 1, wider than the vocabulary"] = found(table(seeds[1], 0.0), 8, 1, 1.0)
check.show(shown, rtol=1e-4, atol=1e-6, text="Sequences that were found, best first, with their scores.")

# %% [markdown] hint="serve_beam"
# Keep two lists: prefixes that live, with their summed log probability, and sequences that are finished. The sum decides who lives on; the score, divided by
# the length, is needed only at the end.

# %% [markdown] hint="serve_beam"
# Begin with a single live prefix, `[start]`. Expand every live prefix by every token, sort the continuations once, and read both
# groups from the sorted list: `eos` among the first `width`, and the first `width` of the others.

# %% [markdown] hint="serve_beam"
# Don't stop when something is finished: a longer sequence can still have a better score. After the loop, score `finished + live` with
# `total / (len(tokens) - 1) ** alpha`, sort, and return the first `width`.


# %% mutant="serve_beam"
# Stops when the best beam ends
# The best continuation of a step ended in `eos`, and the search stopped there. A live prefix can still become a sequence with a better score.
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = [([start], 0.0)], []
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
        if longer[0][0][-1] == eos:
            live = []
            break
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]


# %% mutant="serve_beam"
# Stops when `width` sequences are finished
# With enough finished sequences the search ended, although a live prefix could still get a better score. It is safe to stop only if no live prefix can.
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = [([start], 0.0)], []
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
        if len(finished) >= width:
            live = []
            break
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]


# %% mutant="serve_beam"
# Finished sequences go on
# A sequence that ended in `eos` was continued with further tokens. It has to leave the beam.
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live = [([start], 0.0)]
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        live = sorted(longer, key=lambda each: -each[1])[:width]
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in live]
    return sorted(scored, key=lambda each: -each[1])[:width]


# %% mutant="serve_beam"
# The end token isn't counted
# The length of a finished sequence includes `eos`, whose log probability is part of the sum.
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = [([start], 0.0)], []
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
        if not live:
            break
    scored = [
        (tokens[1:], total / max(len(tokens) - 1 - (tokens[-1] == eos), 1) ** alpha)
        for tokens, total in finished + live
    ]
    return sorted(scored, key=lambda each: -each[1])[:width]


# %% mutant="serve_beam"
# Ranks finished sequences by their sum
# Without the division by the length, the shortest sequences win, because each further token lowers the sum.
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = [([start], 0.0)], []
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
        if not live:
            break
    best = sorted(finished + live, key=lambda each: -each[1])[:width]
    return [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in best]


# %% mutant="serve_beam"
# Live prefixes compete by their normalized score
# The beam keeps the prefixes with the largest sum. All live prefixes have the same length, but the sums and the normalized scores of finished ones must not be mixed.
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = [([start], 0.0)], []
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        pool = [(tokens, total, total / (len(tokens) - 1) ** alpha) for tokens, total in longer + finished]
        pool = sorted(pool, key=lambda each: -each[2])[:width]
        finished = [each[:2] for each in pool if each[0][-1] == eos]
        live = [each[:2] for each in pool if each[0][-1] != eos]
        if not live:
            break
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]


# %% mutant="serve_beam"
# A finished sequence takes a place in the beam
# The beam shrank whenever a sequence ended. The `width` best continuations that don't end live on, whatever is finished.
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = [([start], 0.0)], []
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [
            ([*tokens, token], total + float(row[token]))
            for (tokens, total), row in zip(live, rows, strict=True)
            for token in range(len(row))
        ]
        longer = sorted(longer, key=lambda each: -each[1])[:width]
        finished += [each for each in longer if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos]
        if not live:
            break
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* T steps score W prefixes of V tokens each: O(T · W · V) candidates, of which `argpartition` finds the best 2W without a full
# sort. The cache is W times that of greedy decoding.
#
# - *Why do chat models sample instead?* "Beam search finds likely texts, and the likeliest continuation of an open question is short and
#   repetitive. It helps where there is one correct answer, as in translation or speech recognition."
# - *What happens to the KV cache?* "When beams are reordered, their caches must be reordered with them. With paged blocks a beam is forked:
#   the prefix is shared by reference counts, and only the last block is copied."
# - *When may you stop early?* "When even the best live prefix can't beat the worst of the `width` finished ones. For alpha of 0 that is its sum,
#   since sums only fall. For a positive alpha, the bound divides by the greatest length."
#
# </details>
# %% [markdown] exercise="serve_allowed" kind="build" points=4 minutes=25
# ### Exercise 4 · Constrained decoding from an automaton
# The output has to match a format that is given as an automaton over characters: `moves[state]` maps a character to the next state, and a text matches if it ends in a state of `accepting`.
# A token may have several characters. For every state, compute which tokens are allowed: those whose characters can all be read from there, and which
# lead to a state from which some further tokens can still complete a match. The end token is allowed exactly in accepting states.


# %% solution="serve_allowed"
def advance(moves: dict[int, dict[str, int]], state: int, text: str) -> int | None:
    """The state after reading all of `text`, or None if that is impossible. An empty text stays where it is."""
    ### BEGIN SOLUTION
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state
    ### END SOLUTION


def masks(moves: dict[int, dict[str, int]], accepting: set[int], tokens: list[str], end: int) -> dict[int, np.ndarray]:
    """For each state of `moves`, a boolean array (V,) of the tokens that are allowed there.

    Token number `end` is the end token, whose text in `tokens` is to be ignored. No other token is empty. Every state is a key of `moves`.
    """
    ### BEGIN SOLUTION
    leads = {
        state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end}
        for state in moves
    }
    into: dict[int | None, set[int]] = {}  # the states from which one token leads to a state
    for state, found in leads.items():
        for to in found.values():
            into.setdefault(to, set()).add(state)
    alive, todo = set(accepting), list(accepting)
    while todo:
        for state in into.get(todo.pop(), set()) - alive:
            alive.add(state)
            todo.append(state)
    return {
        state: np.array(
            [state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]
        )
        for state in moves
    }
    ### END SOLUTION


# %% check="serve_allowed"
generator = check.rng()
letters = "".join(generator.permutation(list("abcdefg"))[:4].tolist())
a, b, c, d = letters


def automaton(states, density):
    """A random automaton with a state that accepts and one that leads nowhere."""
    moves = {state: {} for state in range(states)}
    for state, letter in product(range(states - 1), letters):
        if generator.random() < density:
            moves[state][letter] = int(generator.integers(states))
    accepting = {int(each) for each in generator.choice(states - 1, size=2, replace=False)}
    return moves, accepting


def vocabulary(missing):
    """Words of one to three letters, in which `missing` occurs in no word of one letter."""
    words = {each for each in letters if each != missing}
    while len(words) < 14:
        words.add("".join(generator.choice(list(letters), size=int(generator.integers(2, 4))).tolist()))
    words = generator.permutation(sorted(words)).tolist()
    return [*words[:5], "end", *words[5:]], 5


def shown_masks(moves, accepting, tokens, end):
    found = check.intact(masks, moves, accepting, tokens, end)
    names = ["END" if number == end else text for number, text in enumerate(tokens)]
    return {f"state {state}": [names[at] for at in np.flatnonzero(found[state])] for state in sorted(moves)}


def ab(tokens, end):
    """The language a(bc)*d, with a trap: after `aa` nothing leads to an end."""
    moves = {0: {a: 1}, 1: {b: 2, d: 3, a: 4}, 2: {c: 1}, 3: {}, 4: {a: 4, b: 4}}
    return shown_masks(moves, {3}, tokens, end)


number = {0: {a: 1, b: 2}, 1: {a: 1, b: 2}, 2: {b: 2}}
shown = {
    "letters": letters,
    "read from state 0": [advance({0: {a: 1}, 1: {b: 0}}, 0, text) for text in (a, a + b, a + b + b, "", b, a + b + a)],
    "one letter at a time, with a trap": ab([a, b, c, d, "end"], 4),
    "tokens of several letters": ab(["end", a + b, c, d, a + d, b + c, a + a, c + d, a + b + c + d, a, b], 0),
    "the end token alone": shown_masks({0: {}, 1: {a: 0}}, {0}, ["end"], 0),
    "no token spells the way out": ab([a, b, "end", c + c, d + d, a + d], 2),
    "seven letters to the end": shown_masks({at: {a: at + 1} for at in range(7)} | {7: {}}, {7}, [a, b, "end"], 2),
    "the end token's text is a letter": shown_masks(number, {1, 2}, [a, b, a + b, b + a, b], 4),
    "only the end token's text leads on": shown_masks({0: {a: 1}, 1: {b: 2}, 2: {}}, {2}, [a, b], 1),
    "dtype, shape": [str(masks(number, {2}, [a, b, "end"], 2)[0].dtype), masks(number, {2}, [a, b, "end"], 2)[0].shape],
}
for states, density in ((5, 0.5), (7, 0.35), (9, 0.4)):
    shown[f"{states} states"] = shown_masks(
        *automaton(states, density), *vocabulary(letters[int(generator.integers(4))])
    )
check.show(shown, text="The tokens that are allowed in each state.")

# %% [markdown] hint="serve_allowed"
# Write `advance` first. Then decide which states are worth entering. Call a state *alive* if some sequence of tokens
# leads from it to an accepting state.

# %% [markdown] hint="serve_allowed"
# Accepting states are alive, and so is each state from which one token leads to a live state. So walk backwards from the accepting states, for which you need
# the states that lead to each state. Use whole tokens here: a path of characters that no token spells can't be taken.

# %% [markdown] hint="serve_allowed"
# Compute `leads[state][token] = advance(moves, state, text)` once for all pairs, without the end token. A token is allowed if what it leads to is in
# `alive` (None never is), the end token if the state is in `accepting`.


# %% mutant="serve_allowed"
# Looks at the first character alone
# All characters of a token have to be readable, one after the other. Here a token was allowed because its first character was.
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state


def masks(moves, accepting, tokens, end):
    leads = {
        state: {number: moves[state].get(text[0]) for number, text in enumerate(tokens) if number != end}
        for state in moves
    }
    alive = set(accepting)
    while grown := ({state for state in moves if alive & set(leads[state].values())} - alive):
        alive |= grown
    return {
        state: np.array(
            [state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]
        )
        for state in moves
    }


# %% mutant="serve_allowed"
# Walks into dead ends
# The token can be read, but from the state behind it nothing leads to an accepting state any more: the text could never end.
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state


def masks(moves, accepting, tokens, end):
    leads = {
        state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end}
        for state in moves
    }
    alive = set(moves)
    return {
        state: np.array(
            [state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]
        )
        for state in moves
    }


# %% mutant="serve_allowed"
# Dead ends by characters
# A path of characters leads on to an accepting state, but no sequence of tokens spells it. What counts is what the vocabulary can write.
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state


def masks(moves, accepting, tokens, end):
    leads = {
        state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end}
        for state in moves
    }
    alive = set(accepting)
    while grown := ({state for state in moves if alive & set(moves[state].values())} - alive):
        alive |= grown
    return {
        state: np.array(
            [state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]
        )
        for state in moves
    }


# %% mutant="serve_allowed"
# Looks one token ahead
# A state is alive if *some sequence* of tokens leads to an accepting state. Here only states that are one token away from it count, so longer texts become impossible.
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state


def masks(moves, accepting, tokens, end):
    leads = {
        state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end}
        for state in moves
    }
    alive = set(accepting)
    alive |= {state for state in moves if alive & set(leads[state].values())}
    return {
        state: np.array(
            [state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]
        )
        for state in moves
    }


# %% mutant="serve_allowed"
# The end token is always allowed
# In a state that doesn't accept, the text doesn't match yet, so it must not end there.
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state


def masks(moves, accepting, tokens, end):
    leads = {
        state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end}
        for state in moves
    }
    alive = set(accepting)
    while grown := ({state for state in moves if alive & set(leads[state].values())} - alive):
        alive |= grown
    return {
        state: np.array([number == end or leads[state][number] in alive for number in range(len(tokens))])
        for state in moves
    }


# %% mutant="serve_allowed"
# Reads the text of the end token
# The end token ends the text, whatever string stands for it in the vocabulary. Here it was allowed where its characters could be read.
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state


def masks(moves, accepting, tokens, end):
    leads = {state: {number: advance(moves, state, text) for number, text in enumerate(tokens)} for state in moves}
    alive = set(accepting)
    while grown := ({state for state in moves if alive & set(leads[state].values())} - alive):
        alive |= grown
    return {state: np.array([leads[state][number] in alive for number in range(len(tokens))]) for state in moves}


# %% mutant="serve_allowed"
# Stays where a character doesn't fit
# A character that the state has no move for makes the whole token impossible. Here it was skipped.
def advance(moves, state, text):
    for character in text:
        state = moves.get(state, {}).get(character, state)
    return state


def masks(moves, accepting, tokens, end):
    leads = {
        state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end}
        for state in moves
    }
    alive = set(accepting)
    while grown := ({state for state in moves if alive & set(leads[state].values())} - alive):
        alive |= grown
    return {
        state: np.array(
            [state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]
        )
        for state in moves
    }


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* S states, V tokens of L characters: O(S · V · L) once, and S · V bits of memory. The walk backwards takes each of the at most S · V edges once, whereas going over all
# states until nothing is added takes S rounds on a chain, O(S² · V). Decoding then needs one lookup and one masked softmax a step.
#
# - *V is 150,000 and the grammar is a whole JSON schema. What now?* "I put the tokens into a trie and walk trie and automaton together, so that shared prefixes are read
#   once, and I compute masks lazily and cache them by state. Nested JSON needs a stack, so most tokens are checked ahead of time and only those that depend on the stack at run time."
# - *Where does the mask go?* "It goes before temperature, top-k and top-p. If it came after top-p, all remaining tokens
#   could be forbidden, and nothing would be left to draw."
# - *Does it change the quality?* "It can. The mask renormalizes step by step, which isn't the model's distribution conditioned on a match, and it may force a
#   tokenization that the model never writes by itself."
#
# </details>

# %% [markdown] exercise="serve_blocks" kind="build" points=5 minutes=25
# ### Exercise 5 · Blocks: allocate, append, fork, free
# Write the block manager of a paged KV cache. A sequence's tokens lie in blocks of `size` slots, listed in its *table*, and only the last one
# may be partly filled. `fork` gives a child the parent's blocks without copying them, and counts the *references* to each block. Before a
# token is written into a block that somebody else refers to as well, the block is copied (*copy on write*). A block that nobody refers to is free again.


# %% solution="serve_blocks"
class Blocks:
    """The tables of all sequences; the cache itself isn't here, since the caller copies and writes its slots."""

    def __init__(self, count: int, size: int) -> None:
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self) -> int:
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name: str, length: int) -> None:
        """Give a new sequence the blocks for its `length` tokens, which may be none.

        Raises:
            MemoryError: there are too few free blocks; nothing has changed then.
        """
        ### BEGIN SOLUTION
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length
        ### END SOLUTION

    def append(self, name: str) -> tuple[int, int] | None:
        """Make room for one more token, so that its slot can be written. The pair (old, new) if the caller has to copy a block first, or None.

        Raises:
            MemoryError: a block is needed and none is free; nothing has changed then.
        """
        ### BEGIN SOLUTION
        table, at = self.tables[name], self.lengths[name]
        is_full = at % self.size == 0
        is_shared = not is_full and self.references[table[-1]] > 1
        if (is_full or is_shared) and not self.free_list:
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = table[-1], self._take()
            self.references[old] -= 1
            return old, table[-1]
        return None
        ### END SOLUTION

    def fork(self, parent: str, child: str) -> None:
        """Start a sequence with the parent's tokens, in the same blocks."""
        ### BEGIN SOLUTION
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1
        ### END SOLUTION

    def free(self, name: str) -> None:
        """Forget a sequence, and put the blocks that nobody refers to any more into the free list."""
        ### BEGIN SOLUTION
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)
        ### END SOLUTION


# %% check="serve_blocks" raises="MemoryError"
generator = check.rng()
size = int(generator.integers(3, 6))


class Memory:
    """The slots of a cache, and what each sequence should read there."""

    def __init__(self, count, size):
        self.blocks, self.size, self.texts, self.copies = Blocks(count, size), size, {}, 0
        self.slots = [[None] * size for _ in range(count)]

    def _slots(self, name, at):
        table = self.blocks.tables[name]
        return self.slots[table[at // self.size]] if at // self.size < len(table) else [None] * self.size

    def _write(self, name, at, token):
        self._slots(name, at)[at % self.size] = token

    def start(self, name, length):
        self.blocks.allocate(name, length)
        self.texts[name] = [f"{name}{at}" for at in range(length)]
        for at, token in enumerate(self.texts[name]):
            self._write(name, at, token)

    def append(self, name):
        copied = self.blocks.append(name)
        if copied is not None:
            self.copies += 1
            self.slots[copied[1]] = list(self.slots[copied[0]])
        self.texts[name].append(f"{name}{len(self.texts[name])}")
        self._write(name, len(self.texts[name]) - 1, self.texts[name][-1])

    def fork(self, parent, child):
        self.blocks.fork(parent, child)
        self.texts[child] = list(self.texts[parent])

    def free(self, name):
        before = set(self.blocks.free_list)
        self.blocks.free(name)
        del self.texts[name]
        for block in set(self.blocks.free_list) - before:
            self.slots[block] = [None] * self.size

    def state(self):
        tables = self.blocks.tables
        read = {
            name: [self._slots(name, at)[at % self.size] for at in range(len(text))]
            for name, text in self.texts.items()
        }
        counted = Counter(block for table in tables.values() for block in table)
        return {
            "tokens that aren't what was written": [
                name for name in sorted(self.texts) if read[name] != self.texts[name]
            ],
            "lengths": dict(sorted(self.blocks.lengths.items())),
            "blocks of each sequence": {name: len(table) for name, table in sorted(tables.items())},
            "references": sorted(self.blocks.references),
            "references that aren't those of the tables": sum(
                each != counted[block] for block, each in enumerate(self.blocks.references)
            ),
            "free": len(self.blocks.free_list),
            "free twice, or free and in use": len(self.blocks.free_list)
            - len({*self.blocks.free_list} - {block for block in counted if counted[block]}),
            "copies": self.copies,
        }


def trace(memory, steps):
    """Random calls, of which some find no free block."""
    refused, names = [], iter(f"s{number}-" for number in range(10**6))
    for step in range(steps):
        alive, kind = sorted(memory.texts), generator.choice(4, p=[0.15, 0.55, 0.18, 0.12])
        try:
            if kind == 0 or not alive:
                memory.start(next(names), int(generator.integers(1, 3 * memory.size)))
            elif kind == 1:
                memory.append(alive[int(generator.integers(len(alive)))])
            elif kind == 2:
                memory.fork(alive[int(generator.integers(len(alive)))], next(names))
            else:
                memory.free(alive[int(generator.integers(len(alive)))])
        except MemoryError:
            refused.append(step)
    return refused


def story(*calls, count=6):
    """The state after some calls, or the name of the error of the last one."""
    memory = Memory(count, size)
    for name, *arguments in calls:
        error = check.error(getattr(memory, name), *arguments)
        if error is not None:
            return [type(error).__name__, memory.state()]
    return memory.state()


grow = [("append", "a")] * (size - 1)
memory = Memory(14, size)
refused = trace(memory, 150)
check.show(
    {
        "slots in a block": size,
        "two full blocks": story(("start", "a", 2 * size)),
        "one token more": story(("start", "a", 2 * size), ("append", "a")),
        "a block that is filled by appending": story(("start", "a", 1), *grow),
        "the child writes into a shared block": story(("start", "a", size + 1), ("fork", "a", "b"), ("append", "b")),
        "then the parent writes": story(("start", "a", size + 1), ("fork", "a", "b"), ("append", "b"), ("append", "a")),
        "a fork of full blocks, then a write": story(("start", "a", size), ("fork", "a", "b"), ("append", "b")),
        "the parent is freed first": story(
            ("start", "a", size + 1), ("fork", "a", "b"), ("free", "a"), ("append", "b")
        ),
        "everybody is freed": story(("start", "a", size + 1), ("fork", "a", "b"), ("free", "b"), ("free", "a")),
        "a sequence that starts empty": story(("start", "a", 0), ("append", "a"), ("append", "a")),
        "too long for what is free": story(("start", "a", size), ("start", "b", 3 * size), count=3),
        "no block for the next token": story(("start", "a", 2 * size), ("append", "a"), count=2),
        "no block for a copy": story(("start", "a", size + 1), ("fork", "a", "b"), ("append", "b"), count=2),
        "calls of a random trace that found no block": refused,
        "after the random trace": memory.state(),
    },
    text="What is in the tables after some calls. Block numbers are up to you.",
)

# %% [markdown] hint="serve_blocks"
# Only `append` is difficult, and it has three cases: the last block is full, the last block is shared, or neither. Which of them need a free block?

# %% [markdown] hint="serve_blocks"
# The last block is full when the length is a multiple of `size`; a new block then takes the token, whether or not the old ones are shared. Look for a
# free block before you change anything.

# %% [markdown] hint="serve_blocks"
# For a shared, partly filled block: take a new one, put it at `table[-1]`, lower the old one's count by one and return (old, new). `fork` copies the list
# (`list(table)`) and raises each count; `free` lowers each count and returns a block to the list only at 0.


# %% mutant="serve_blocks"
# A new block one token too late
# With a length that is a multiple of the block size, the last block is full, and the next token needs a new block at once.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 1 and at > 1
        is_shared = not is_full and self.references[table[-1]] > 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% mutant="serve_blocks"
# A new block one token too early
# A block with a single free slot still takes a token. Here a sequence has a spare block as soon as its last slot is filled.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = length // self.size + 1
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = not is_full and self.references[table[-1]] > 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% mutant="serve_blocks"
# Forgets copy on write
# The last block was shared with another sequence, and the token was written into it, where the other sequence writes its own next token.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = False
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% mutant="serve_blocks"
# Copies full blocks as well
# A full block is never written to again, so it can stay shared. Only a partly filled last block has to be copied.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = self.references[table[-1]] > 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full and (not is_shared):
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% mutant="serve_blocks"
# Frees blocks that others use
# A block goes back to the free list when its last reference is gone. Here it goes back with the first sequence that is freed, and the next sequence overwrites it.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = not is_full and self.references[table[-1]] > 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            self.free_list.append(block)


# %% mutant="serve_blocks"
# The child has the parent's list
# Both names refer to one Python list, so a block that is appended for one sequence appears in the other's table as well. A fork needs a list of its own.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = not is_full and self.references[table[-1]] > 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = self.tables[parent]
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% mutant="serve_blocks"
# Forgets to count the copy
# After a copy, one sequence fewer refers to the old block. If its count stays, the block is never free again.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = not is_full and self.references[table[-1]] > 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% mutant="serve_blocks"
# Keeps what a failed allocation took
# The blocks were taken one by one until none was left. After a MemoryError everything must be as it was before.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        blocks = []
        for _ in range(needed):
            if not self.free_list:
                raise MemoryError
            blocks.append(self._take())
        self.tables[name] = blocks
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = not is_full and self.references[table[-1]] > 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        self.lengths[name] += 1
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% mutant="serve_blocks"
# Counts the token before there is room
# The length was raised before the MemoryError, so it counts a token that has no slot. Nothing may change when no block is free.
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables: dict[str, list[int]] = {}
        self.lengths: dict[str, int] = {}

    def _take(self):
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        needed = -(-length // self.size)
        if needed > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._take() for _ in range(needed)]
        self.lengths[name] = length

    def append(self, name):
        table, at = (self.tables[name], self.lengths[name])
        is_full = at % self.size == 0
        is_shared = not is_full and self.references[table[-1]] > 1
        self.lengths[name] += 1
        if (is_full or is_shared) and (not self.free_list):
            raise MemoryError
        if is_full:
            table.append(self._take())
        elif is_shared:
            old, table[-1] = (table[-1], self._take())
            self.references[old] -= 1
            return (old, table[-1])
        return None

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.lengths[child] = self.lengths[parent]
        for block in self.tables[child]:
            self.references[block] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* `append` takes O(1), the other calls O(blocks of the sequence). At most one block a sequence is partly filled, so fewer than
# `size` slots are wasted per sequence.
#
# - *How large should a block be?* "Small blocks waste less and share more prefixes; large ones need shorter tables and read longer
#   contiguous runs of memory. vLLM's default is 16 tokens."
# - *What do you do when no block is free?* "I preempt the newest sequence and either recompute its cache later or swap it to the CPU.
#   Recomputing is one prefill, which is often faster than two copies over PCIe."
# - *Who needs `fork`?* "Parallel samples of one prompt need it, and so does beam search. The beams share the prompt's
#   blocks, and only the last, partly filled block is copied."
#
# </details>

# %% [markdown] exercise="serve_pages" kind="build" points=3
# ### Exercise 6 · Attention over pages
# Each of B sequences decodes one token, and its keys and values lie in blocks of a common pool. Row b of `tables` lists
# the blocks of sequence b in the order of its tokens, and is padded with −1; `lengths[b]` says how many tokens it has.
# The last block may be partly filled, and slots that belong to nobody hold whatever was there before, even nan. With
# fewer heads of keys than of queries, neighbouring query heads share a head (GQA). The scores are scaled by 1/√D, and
# the arguments stay as they are.


# %% solution="serve_pages"
def paged_attention(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, tables: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """What each sequence's query finds: (B, H, D).

    `q` is (B, H, D); `keys` and `values` are (blocks, size, G, D), where H is a multiple of G; `tables` is (B, P) and `lengths` (B,),
    both int64. Each length is at least 1.
    """
    ### BEGIN SOLUTION
    size, group = keys.shape[1], q.shape[1] // keys.shape[2]
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)
    ### END SOLUTION


# %% check="serve_pages"
generator = check.rng()
torch.manual_seed(check.seed())


def case(groups, times, width, size, lengths):
    """A pool of shuffled blocks in which all slots that no sequence uses are nan, and what contiguous attention finds."""
    pages = [-(-length // size) for length in lengths]
    numbers = generator.permutation(sum(pages) + 2).tolist()
    keys, values = (torch.full((len(numbers), size, groups, width), float("nan")) for _ in range(2))
    tables = torch.full((len(lengths), max(pages)), -1, dtype=torch.int64)
    for row, (length, count) in enumerate(zip(lengths, pages, strict=True)):
        for page in range(count):
            tables[row, page] = block = numbers.pop()
            filled = min(size, length - page * size)
            keys[block, :filled], values[block, :filled] = (torch.randn(filled, groups, width) for _ in range(2))
    q = torch.randn(len(lengths), groups * times, width)
    given = q, keys, values, tables, torch.tensor(lengths)
    before = [np.nan_to_num(each.numpy(), nan=7.0) for each in given]  # copies
    out = check.intact(paged_attention, *given)
    after = [np.nan_to_num(each.numpy(), nan=7.0) for each in given]
    return {
        "result": out,
        "shape": tuple(out.shape),
        "the arguments are as they were": all(map(np.array_equal, before, after)),
    }


size = int(generator.integers(3, 6))
long = int(generator.integers(2 * size + 1, 3 * size))
check.show(
    {
        "slots in a block, lengths": [size, [long, 1, size, size + 1]],
        "a head of keys for each of queries": case(3, 1, 5, size, [long, 1, size, size + 1]),
        "two query heads share one": case(3, 2, 4, size, [1, long, size]),
        "one head of keys for four": case(1, 4, 6, size, [long, size - 1]),
        "one sequence, full blocks": case(2, 2, 5, size, [2 * size]),
        "one slot in a block, twice": [case(2, 3, 4, 1, [3, 1, 2]) for _ in range(2)],
    },
    rtol=1e-4,
    atol=1e-5,
    text="What the queries find in the pages.",
)

# %% [markdown] hint="serve_pages"
# Solve it for a single sequence with a contiguous cache of (length, G, D) first. How do you get that cache from the pool?

# %% [markdown] hint="serve_pages"
# Indexing with a row of block numbers gives (pages, size, G, D), and `flatten(0, 1)` joins the pages. Cut off at the length
# before you compute anything: a weight of 0 times nan is nan, so masking the scores isn't enough.

# %% [markdown] hint="serve_pages"
# `pool[blocks].flatten(0, 1)[:length].repeat_interleave(H // G, 1)` is (length, H, D) for keys and for values. The scores are `(query * k).sum(-1) / D ** 0.5`,
# with a softmax over the tokens, dimension 0.


# %% mutant="serve_pages"
# Reads stale slots
# The last block is only filled up to the length. The slots behind it still hold numbers of an earlier sequence, and they were read as tokens.
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1).nan_to_num(0.5).repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% mutant="serve_pages"
# Masks the scores alone
# The weight of a stale slot is 0, but 0 · nan is nan, so the sum over the values is spoiled. Values of unused slots must not take part at all.
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1).repeat_interleave(group, 1) for pool in (keys, values))
        scores = (query * k).sum(-1) / q.shape[-1] ** 0.5
        scores[length:] = -float("inf")
        weights = scores.softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% mutant="serve_pages"
# Blocks in the order of the pool
# A table lists the blocks in the order of the tokens, and their numbers are arbitrary. Sorted, the partly filled block is no longer the last one.
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)].sort().values
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% mutant="serve_pages"
# The query heads take the key heads in turn
# Query heads 0 and 1 share key head 0. `repeat` gives heads a, b, a, b, where a, a, b, b is needed.
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat(1, group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% mutant="serve_pages"
# No scale
# The scores are divided by the square root of the head's width.
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = (query * k).sum(-1).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% mutant="serve_pages"
# Softmax over the heads
# The weights of each head sum to 1 over the *tokens*. Here they sum to 1 over the heads.
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(1)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% mutant="serve_pages"
# Loses the last token
# The table and the length already include the newest token, whose key the query has to see.
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[: max(length - 1, 1)].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* O(T · H · D) FLOPs a sequence and T · G · D elements read for each of keys and values, so decoding is bound by bandwidth. This version also copies the gathered pages.
#
# - *What does a kernel do better?* "It reads each page through the table straight into shared memory and keeps a running maximum and sum, as
#   FlashAttention does. Nothing is gathered, and padding costs nothing."
# - *How do long sequences keep a GPU busy at batch 1?* "Several thread blocks take parts of the sequence, and their partial results
#   are merged by their log-sum-exp. That is split-KV, or flash decoding."
# - *Why is GQA a bandwidth trick?* "The query heads of a group read the same keys, so the bytes fall by the size of the group while the FLOPs stay."
#
# </details>

# %% [markdown] exercise="serve_prefix" kind="build" points=5 minutes=35
# ### Exercise 7 · Prefix cache: a chain of hashes, the last token, eviction
# Requests that begin alike can share the blocks of their common beginning. Write the index that finds them. It knows whole blocks of `size` tokens only, and the
# key of a block is the key of the block before it together with its own tokens, so equal tokens after different beginnings are different blocks. The first block's parent is the
# `salt`: an adapter, an image or a tenant. A hit never covers the whole prompt, because at least one token has to run through the model to give logits.


# %% solution="serve_prefix"
class Prefixes:
    """Which block of the cache holds which beginning. Keys are (parent's key, tokens of the block).

    `entries` maps a key to its block, `used` to the time of its last use, `users` to the number of requests that hold it.
    """

    def __init__(self, size: int) -> None:
        self.size, self.time = size, 0
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens: list[int], salt: str = "") -> list[tuple]:
        """The keys of all whole blocks of the tokens."""
        ### BEGIN SOLUTION
        found, parent = [], (salt,)
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found
        ### END SOLUTION

    def match(self, prompt: list[int], salt: str = "") -> list[int]:
        """The blocks of the longest known beginning that leaves at least one token of the prompt to compute.

        This is a use of these blocks, all at the same time, and each of them gets one more user.
        """
        ### BEGIN SOLUTION
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks
        ### END SOLUTION

    def insert(self, tokens: list[int], blocks: list[int], salt: str = "") -> None:
        """Enter the whole blocks of a request: number i of `blocks` holds block i of the tokens. This is a use of them; their users don't change.

        A key that is known keeps its block. A new one has no users yet.
        """
        ### BEGIN SOLUTION
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time
        ### END SOLUTION

    def release(self, prompt: list[int], count: int, salt: str = "") -> None:
        """Take one user from each of the first `count` blocks, which `match` found for this prompt."""
        ### BEGIN SOLUTION
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1
        ### END SOLUTION

    def evict(self, count: int) -> list[int]:
        """Forget up to `count` blocks and return them in the order in which they went.

        Only a block without users that no other entry has as its parent can go; of these, the one that hasn't been used
        for the longest time goes first (ties: the smallest block number). A parent can go once its children have gone.
        """
        ### BEGIN SOLUTION
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and not self.users[key]]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone
        ### END SOLUTION


# %% check="serve_prefix"
generator = check.rng()
size = int(generator.integers(2, 5))
numbers = generator.permutation(90).tolist()
system, other, tail = numbers[: 2 * size], numbers[30 : 30 + size], numbers[50 : 50 + 2 * size]


def fresh(*inserted):
    index = Prefixes(size)
    for tokens, blocks, *salt in inserted:
        index.insert(tokens, blocks, *salt)
    return index


shown = {"tokens in a block": size}
index = fresh((system + tail, [3, 1, 4, 9]))
shown["the same beginning, another end"] = index.match([*system, *other, 99])
shown["a prompt of whole blocks that is known entirely"] = index.match(system)
shown["the same and one token more"] = index.match([*system, 99])
shown["one token short of a block"] = index.match(system[:-1])
shown["a different first token"] = index.match([98, *system[1:], *tail, 99])
shown["the second block at the beginning"] = index.match([*system[size:], *tail, 99])
shown["the same tokens after another beginning"] = index.match([*other, *system[size:], 99])
shown["another salt"] = index.match([*system, 99], "adapter")
shown["a block that isn't full"] = fresh(([*other, 99], [3, 1])).match([*other, 99, 98])
shown["an empty prompt, one token"] = [index.match([]), index.match(system[:1])]
index = fresh((system, [3, 1]), ([*system, *other, 99], [7, 8, 5, 6]), ([*system, 99], [20, 21], "adapter"))
shown["what a second insert adds"] = [index.match([*system, *other, 99]), index.match([*system, *tail], "adapter")]

index = fresh((system + tail, [3, 1, 4, 9]), ([*system, *other], [3, 1, 5]), (tail, [6, 2]))
held = index.match([*system, *other, 99])
shown["evicted while a request holds blocks"] = [held, index.evict(10)]
check.error(index.release, [*system, *other, 99], len(held))
shown["evicted after it has let go"] = index.evict(10)
index = fresh((system, [3, 1]), (tail, [6, 2]), (other, [5]))
first, second = index.match([*system, 99]), index.match([*system, 98])
index.release([*system, 99], len(first))
shown["two users, one lets go"] = index.evict(9)
shown["what the others found"] = [second, index.match([*system, 97])]
index = fresh((system, [3, 1]))
shown["what a prompt of whole blocks holds"] = [index.match(system), index.evict(9)]
index = fresh((system, [3, 1]))
index.match([*system, 99])
index.insert([*system, 99], [3, 1])
shown["a request inserts what it holds"] = index.evict(9)
index = fresh((system, [3, 1], "a"), (system, [6, 2], "b"))
first, second = index.match([*system, 99], "a"), index.match([*system, 99], "b")
index.release(system, len(first), "a")
shown["two salts, one lets go"] = [first, second, index.evict(9)]
index = fresh((system, [3, 1]))
first = index.match([*system[:size], 99])
index.release([*system[:size], 99], len(first))
shown["a single block, and everything after its release"] = [first, index.evict(9)]
index = fresh((system, [8, 7]), (tail, [6, 2]))
index.release(system, len(index.match([*system, 99])))
shown["the least recently used leaf goes first"] = [index.evict(1), index.evict(2), index.evict(5)]
shown["of two that nobody has used since"] = fresh((system, [8, 7]), (tail, [6, 2])).evict(1)
index = fresh((system, [1, 0]), (tail, [6, 2]))
index.release(system, len(index.match([*system, 99])))
shown["a match is newer than an insert"] = index.evict(1)
index = fresh((system, [1, 0]), (tail, [6, 2]), (system, [1, 0]))
shown["a second insert is newer than the first"] = index.evict(1)
index = fresh((system, [1, 0]), (tail, [6, 2]))
first, second = index.match([*tail, 99]), index.match([*system, 99])
index.release(system, len(second))
index.release(tail, len(first))
shown["a release doesn't count as a use"] = index.evict(1)
index = fresh((system, [3, 1]))
first = index.match([*system, *tail, 99])
index.insert([*system, *tail], [3, 1, 6, 2])
check.error(index.release, [*system, *tail, 99], len(first))
shown["a release of the blocks that were found, and of no others"] = index.evict(9)
index = fresh((system, [3, 1]))
first = index.match([*system, *tail, 99])
index.insert([*system, *tail], [3, 1, 6, 2])
index.match([*system, *tail, 98])
check.error(index.release, [*system, *tail, 99], len(first))
shown["a release leaves the users of the other blocks"] = index.evict(9)
index = fresh((system, [8, 1]), (other, [5]))
held = index.match([*other, 99])
check.error(index.release, system, len(index.match([*system, 99])))
gone = index.evict(1)
check.error(index.release, other, len(held))
shown["a match is a use of all its blocks"] = [gone, index.evict(1)]
index = fresh((system, [3, 1]))
index.evict(9)
shown["what evicted blocks leave behind"] = [len(index.entries), len(index.used), len(index.users)]
index = fresh((system + tail, [3, 1, 4, 9]))
index.match([*system, 99])
shown["different times after an insert and a match"] = len({*index.used.values()})

index, texts, free, held = Prefixes(size), [], list(range(40)), []
shown["blocks that were found, and evicted, in a random trace"] = log = []
for _ in range(60):
    begin = texts[int(generator.integers(len(texts)))] if texts and generator.random() < 0.75 else []
    cut = int(generator.integers(len(begin) + 1))
    prompt = [*begin[:cut], *generator.integers(0, 4, size=int(generator.integers(1, 2 * size))).tolist()]
    salt = "ab"[int(generator.integers(2))]
    found = index.match(prompt, salt)
    while len(free) < len(prompt) // size:
        evicted = index.evict(2)
        if not evicted:
            break
        free += evicted
        log.append(evicted)
    need = len(prompt) // size - len(found)
    if need <= len(free):
        blocks = found + [free.pop(0) for _ in range(max(need, 0))]
        known = set(index.entries.values())
        index.insert(prompt, blocks, salt)
        free += [each for each in blocks if each not in known and each not in set(index.entries.values())]
        texts.append(prompt)
    log.append(list(found))
    held.append((prompt, len(found), salt))
    if len(held) > 3:
        check.error(index.release, *held.pop(0))
shown["entries, times, users at its end"] = [len(index.entries), len(index.used), len(index.users)]
check.show(shown, text="Blocks that were found and evicted.")

# %% [markdown] hint="serve_prefix"
# Every block of a chain needs its predecessor's key. What goes wrong if the key is the block's own tokens alone?

# %% [markdown] hint="serve_prefix"
# Build a key as a pair: `parent = (parent, tuple(block))`, starting from `(salt,)`. A hit that leaves one token is a match of `prompt[:-1]`.

# %% [markdown] hint="serve_prefix"
# In `evict`, collect the parents of all entries (`{parent for parent, _ in self.entries}`) again for each block that goes. A key that isn't among them and has no users is a candidate; take the one with the smallest
# `(used, block)`.


# %% mutant="serve_prefix"
# Hashes a block without its parent
# The keys and values of a block depend on all tokens before it. With a key made of the block's own tokens, it is found after another beginning, where its cache is wrong.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (salt, start, tuple(tokens[start : start + self.size]))[::2]
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# The whole prompt hits
# If every token of the prompt comes from the cache, nothing runs through the model, and there are no logits for the next token. One token has to be left.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt, salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# Leaves a whole block to compute
# One token has to be left, not a block. A prompt of two blocks and one token can use both blocks.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt, salt)[:-1]:
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# Forgets the salt
# With another adapter or image, equal tokens have other keys and values. The salt has to be part of the first block's key.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], ("",))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# Enters a partly filled block
# The last block isn't full yet, so its contents still change. Only whole blocks are entered.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens), self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# Evicts blocks in use
# A running request still reads this block. A block with users has to stay.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# Evicts a parent before its children
# A block can only be found through its parent. Once the parent has gone, its children take up memory and never hit again.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            assert len(self.used) == len(self.entries)
            leaves = [key for key in self.entries if not self.users[key]]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], str(key).count("("), self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# First in, first out
# A match is a use. Here the time is set when a block is entered and never again, so a system prompt that every request needs goes first.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# A flag instead of a count
# Two requests held the block, and one of them let go. The block is still in use until the last of them does.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] = 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% mutant="serve_prefix"
# A second insert replaces the block
# The key is known, and running requests may hold its block. The newcomer's copy is the one that isn't needed.
class Prefixes:
    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start : start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries[key] = block
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* `match` and `insert` take O(T), if a hash of the parent stands for the nested pair. `evict` takes O(entries) for each block here; a count of children
# and a queue ordered by time make it O(log entries).
#
# - *Hash chain or radix tree?* "A hash chain finds whole blocks in a flat table, which is simple and fits paged memory. A radix tree splits at any token, so it hits a bit more and
#   shows what is shared, which helps to schedule requests with a common prefix together."
# - *Suppose that you have ten replicas. What changes?* "A prefix is cached on one replica, so the router should send
#   requests by their prefix, as long as that replica isn't overloaded."
# - *Is sharing between customers safe?* "A fast first token tells that somebody else has sent this prefix. So the tenant belongs into the salt."
#
# </details>

# %% [markdown] exercise="serve_schedule" kind="build" points=5 minutes=40
# ### Exercise 8 · The scheduler: budget, admission, preemption
# Write one step of continuous batching. A request has `pending` tokens that haven't run through the model: its prompt at first, and the last written token later. The rules:
#
# 1. *Budget:* a step runs at most `budget` tokens.
# 2. *Decodes first:* every running request with a single pending token gets it, the oldest first.
# 3. *Chunks:* then running requests with more pending tokens, the oldest first, get as many as budget and free blocks allow, so a long prompt runs in chunks.
# 4. *Preemption:* if a running request would get nothing for lack of blocks, although there is budget left, the *newest* running request is preempted, again and again if need be, possibly the request itself. What a victim had got in this step is taken back.
# 5. *Admission:* waiting requests follow in their order in the same way, as long as they get a token, but not in a step that preempts.


# %% setup=true
@dataclass
class Request:
    """A request: `cached` of its tokens are in the cache, and `written` ones have been sent to the user."""

    name: str
    prompt: int
    limit: int
    written: int = 0
    cached: int = 0

    @property
    def pending(self) -> int:
        """Tokens that have to run through the model before the next one is known."""
        return self.prompt + self.written - self.cached


# %% solution="serve_schedule"
def plan(waiting: list[Request], running: list[Request], budget: int, free: int, size: int) -> dict[str, int]:
    """How many tokens of each request run in this step, by name; a request that gets none isn't listed.

    `running` is ordered from the oldest to the newest admission, and `waiting` from the first to be served to the last. `free`
    blocks of `size` tokens are free; a request needs blocks for `cached` plus the tokens that it gets. Move requests between the lists:
    an admitted one goes to the end of `running`, a preempted one to the front of `waiting`, with nothing cached. What it has written stays.
    The caller updates `cached` and `written` of what has run.
    """
    ### BEGIN SOLUTION
    step, preempted = {}, set()

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request.name not in preempted and budget and not most(request):
            victim = running.pop()
            preempted.add(victim.name)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request.name not in preempted and most(request):
            give(request, most(request))
    while waiting and not preempted and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step
    ### END SOLUTION


# %% check="serve_schedule"
generator = check.rng()


def one(waiting, running, budget, free, size=4):
    """A step, and where everybody is afterwards."""
    waiting, running = [Request(*each) for each in waiting], [Request(*each) for each in running]
    step = plan(waiting, running, budget, free, size)
    after = [
        [f"{each.name}: {each.cached} cached, {each.written} written" for each in group] for group in (waiting, running)
    ]
    return {
        "runs": {name: int(count) for name, count in sorted(step.items())},
        "waiting": after[0],
        "running": after[1],
    }


def serve(requests, budget, count, size):
    """Run a trace of (step of arrival, request) to its end; what each step ran, and when each request ended."""
    requests, waiting, running, steps, ends, first = list(requests), [], [], [], {}, {}
    for now in range(400):
        waiting += [each for at, each in requests if at == now]
        if len(ends) == len(requests):
            break
        held = sum(-(-each.cached // size) for each in running)
        step = plan(waiting, running, budget, count - held, size)
        for each in list(running):
            each.cached += step.get(each.name, 0)
            if each.name in step and each.pending == 0:
                each.written += 1
                first.setdefault(each.name, now)
                if each.written == each.limit:
                    running.remove(each)
                    ends[each.name] = now
        used = sum(-(-each.cached // size) for each in running)
        steps.append([sum(step.values()), len(step), used])
    return {
        "steps": len(steps),
        "most tokens in a step, most blocks": [max(each[0] for each in steps), max(each[2] for each in steps)],
        "first tokens": dict(sorted(first.items())),
        "ends": dict(sorted(ends.items())),
        "tokens and requests in each step": [each[:2] for each in steps],
    }


def drawn(count, longest):
    arrivals = np.sort(generator.integers(0, 12, size=count)).tolist()
    sizes = generator.integers(1, [longest, 9], size=(count, 2)).tolist()
    return [
        (at, Request(f"r{number:02}", *each)) for number, (at, each) in enumerate(zip(arrivals, sizes, strict=True))
    ]


long, extra = int(generator.integers(20, 30)), int(generator.integers(3, 6))
check.show(
    {
        "one prompt": one([("a", extra, 5)], [], 16, 9),
        "one prompt, blocks of one token": one([("a", extra, 5)], [], 16, 9, 1),
        "a prompt longer than the budget": one([("a", long, 5)], [], 8, 20),
        "its next chunk, beside decodes": one([], [("a", long, 5, 0, 8), ("b", 3, 5, 2, 4), ("c", 3, 5, 1, 3)], 8, 20),
        "decodes first, then the waiting": one([("d", 9, 5)], [("b", 3, 5, 2, 4), ("c", 3, 5, 1, 3)], 8, 20),
        "more decodes than budget": one(
            [("d", 2, 5)], [("a", 3, 5, 1, 3), ("b", 3, 5, 2, 4), ("c", 3, 5, 1, 3)], 2, 20
        ),
        "few blocks for a prompt": one([("a", long, 5), ("b", 2, 3)], [], 40, 3),
        "no block for the first, who waits": one([("a", 6, 5), ("b", 1, 3)], [("c", 3, 5, 1, 3)], 40, 0),
        "a decode without a block": one(
            [("d", 2, 3)], [("a", 4, 9, 1, 4), ("b", 5, 9, 2, 6), ("c", 3, 9, 3, 5)], 16, 0
        ),
        "the newest decode without a block": one([("d", 2, 3)], [("a", 5, 9, 2, 6), ("b", 3, 9, 2, 4)], 16, 0),
        "neither budget nor a block for the second": one([], [("a", 3, 9, 1, 3), ("b", 4, 9, 1, 4)], 1, 0),
        "a lone request without a block": one([], [("a", 8, 9, 1, 8)], 10, 0),
        "two have to go": one([], [("a", 4, 9, 1, 4), ("b", 4, 9, 1, 4), ("c", 4, 9, 5, 8), ("e", 3, 9, 1, 0)], 16, 0),
        "a block is enough for one of two": one([], [("a", 4, 9, 1, 4), ("b", 4, 9, 1, 4), ("c", 6, 9, 1, 6)], 16, 1),
        "a preempted request comes back": one([("c", 3, 9, 3)], [("a", 4, 9, 2, 5)], 16, 3),
        "two prompts that are half done": one([], [("a", long, 9, 0, 8), ("b", long, 9, 0, 4)], 16, 0),
        "a prompt preempts a decode": one([("d", 2, 3)], [("a", long, 9, 0, 8), ("b", 3, 9, 1, 3)], 5, 0),
        "a preempted decode's share of the budget is free again": one(
            [("d", 2, 3)], [("a", long, 9, 0, 8), ("b", 3, 9, 1, 3)], 2, 0
        ),
        "the same, with another decode that stays": one(
            [], [("a", long, 9, 0, 8), ("b", 3, 9, 1, 3), ("c", 3, 9, 1, 3)], 3, 0
        ),
        "the same, with a budget of four": one([], [("a", long, 9, 0, 8), ("b", 7, 9, 1, 7)], 4, 0),
        "a preempted decode's new block is free again": one([], [("a", long, 9, 0, 8), ("b", 4, 9, 1, 4)], 16, 1),
        "a small trace": serve([(0, Request("a", 5, 3)), (0, Request("b", 9, 2)), (2, Request("c", 1, 6))], 6, 8, 2),
        "many requests": serve(drawn(14, 12), 16, 40, 4),
        "many requests, few blocks": serve(drawn(14, 10), 12, 7, 3),
        "long prompts, a small budget": serve(drawn(9, 40), 7, 30, 4),
    },
    text="Single steps, then whole traces: how many tokens each step ran, and the step in which each request got its first and its last token.",
)

# %% [markdown] hint="serve_schedule"
# Everything is a number of pending tokens: a decode has one of them, a prompt many, and a preempted request its prompt and what it has written. How many blocks does a request with `cached` tokens need for n more?

# %% [markdown] hint="serve_schedule"
# `-(-tokens // size)` blocks hold that many tokens, so the room of a request is `(blocks(cached) + free) * size - cached`. What it gets is the least of pending, budget and room. Two loops use this: one over a sorted copy of
# `running`, and one over `waiting`.

# %% [markdown] hint="serve_schedule"
# `sorted(running, key=lambda each: each.pending > 1)` has the decodes first and keeps the order otherwise. While the request isn't preempted, budget is left and it has no room: pop the last of `running`, note its name as preempted, take back what it
# got in this step, add its blocks to `free`, set its `cached` to 0 and insert it at the front of `waiting`.


# %% mutant="serve_schedule"
# Preempts the oldest
# The oldest request has the most to lose and has waited the longest. The newest running request has to go.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(0), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# A preempted request loses what it wrote
# Its tokens have been sent to the user. Only the cache is given up: prompt and written tokens run through the model once more.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = victim.written = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# Keeps the count of a cache that is gone
# The victim's blocks were freed, so nothing of it is cached any more, and all its tokens are pending again.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# The victim goes to the end of the queue
# A preempted request was admitted before everybody who waits, so it goes to the front.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.append(victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# Prompts first, so decodes stall
# The prompts used up the budget, and a running request got no token in this step. Decodes come first, since each costs one token of the budget.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending == 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# A prompt never preempts
# Two prompts that are half done can hold all blocks between them. If neither may preempt the other, the server stands still for ever.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (request.pending == 1) and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# The victim still runs in this step
# A newer decode had got its token when an older prompt preempted it. Its cache is gone, so it can't run, and its share of the budget is free again.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.get(victim.name, 0)
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# A victim's share of the budget is lost
# A victim's tokens don't run in this step, so the budget that they had taken is free again for the request that preempts it.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# Ignores the budget of running requests
# The budget bounds all tokens of a step, decodes included.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens if request.pending > 1 else 0
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# Whole prompts only
# A prompt that is longer than the budget never fits, and everybody behind it starves. It has to run in chunks.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return request.pending if request.pending <= min(budget, room) else 0

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# Admits in a step that preempts
# The blocks that preemption set free went to a waiting request, often the victim itself, which then has to go again in the next step.
def plan(waiting, running, budget, free, size):
    step = {}

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim = running.pop()
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    while waiting and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% mutant="serve_schedule"
# Static batching
# New requests were admitted only when nobody was running. In continuous batching they join as soon as there is room.
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(request.cached + tokens) - blocks(request.cached)
        step[request.name] = tokens

    def most(request):
        room = (blocks(request.cached) + free) * size - request.cached
        return min(request.pending, budget, room)

    for request in sorted(running, key=lambda each: each.pending > 1):
        while request in running and budget and (not most(request)):
            victim, preempted = (running.pop(), True)
            taken = step.pop(victim.name, 0)
            budget += taken
            free += blocks(victim.cached + taken)
            victim.cached = 0
            waiting.insert(0, victim)
        if request in running and most(request):
            give(request, most(request))
    alone = not running
    while waiting and alone and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* O(running + admitted) a step, apart from the sort and from moving list elements, so it costs a few microseconds for each request, where the model's step costs milliseconds. Asking `request in running` for
# each request instead compares it with all before it. That is O(running²): a plan for some hundred requests then takes longer than the model's step.
#
# - *Which figures do you watch?* "Time to first token and time per output token as percentiles, and goodput: how many requests a second meet both limits. Throughput
#   alone rewards large batches that are too slow for everybody."
# - *How many requests run at once?* "Little's law: arrival rate times the mean time in the system. If their caches don't fit, requests queue or get preempted."
# - *Recompute or swap a victim?* "Recompute if one prefill of its tokens is faster than moving its cache over PCIe twice, which is usual for short contexts."
#
# </details>

# %% [markdown] exercise="serve_chunk" kind="build" points=3
# ### Exercise 9 · Chunked prefill: which chunk size?
# While a prompt is read in chunks, other requests decode in the same steps and wait for each step to end. `step_time(tokens, context)` measures a step on a machine that you don't
# know: it runs `tokens` tokens in all, and the prompt's cache holds `context` tokens after it. More tokens or a longer context never make a step shorter. Find the
# largest chunk that keeps every step within a limit, with few measurements, and the time to first token that it gives.


# %% solution="serve_chunk"
def largest_chunk(step_time, prompt: int, decodes: int, limit: float) -> int:
    """The largest chunk, from 1 to `prompt`, whose step stays within `limit` along with `decodes` decoding requests; 0 if none does.

    Judge a chunk by a step at the end of the prompt, when the context is the whole prompt. At most 2 + log2(prompt) calls of `step_time`.
    """
    ### BEGIN SOLUTION
    low, high = 0, prompt
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle + decodes, prompt) <= limit:
            low = middle
        else:
            high = middle - 1
    return low
    ### END SOLUTION


def time_to_first_token(step_time, prompt: int, decodes: int, chunk: int) -> float:
    """How long the prompt takes in chunks of this size, along with `decodes` decoding requests in each step."""
    ### BEGIN SOLUTION
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, end)
    return total
    ### END SOLUTION


# %% check="serve_chunk"
generator = check.rng()


def machine():
    """A step reads the weights or computes, in tiles of some tokens, and attends to the context."""
    read, tile = float(generator.uniform(8, 12)), int(generator.integers(3, 9))
    compute, attend = float(generator.uniform(0.05, 0.08)), float(generator.uniform(2e-6, 4e-6))
    calls = []

    def step_time(tokens, context):
        calls.append((tokens, context))
        return max(read, -(-tokens // tile) * tile * compute) + tokens * context * attend

    return step_time, calls


def tried(prompt, decodes, share):
    """The chunk for a limit that lies at a share of the way from the shortest step to that of the whole prompt."""
    step_time, calls = machine()
    shortest, longest = step_time(1 + decodes, prompt), step_time(prompt + decodes, prompt)
    limit = shortest + share * (longest - shortest)
    calls.clear()
    chunk = largest_chunk(step_time, prompt, decodes, limit)
    few = len(calls) <= 2 + math.log2(prompt)
    calls.clear()
    first = time_to_first_token(step_time, prompt, decodes, max(int(chunk), 1))
    return {"chunk": int(chunk), "few calls": few, "first token": float(first), "steps": len(calls)}


prompt = int(generator.integers(1500, 2500))
decodes = int(generator.integers(40, 90))
step_time, _ = machine()
check.show(
    {
        "tokens of the prompt, decoding requests": [prompt, decodes],
        "a strict limit": tried(prompt, decodes, 0.13),
        "a mild limit": tried(prompt, decodes, 0.41),
        "nobody else decodes": tried(prompt + 1, 0, 0.27),
        "one request decodes": tried(prompt, 1, 0.34),
        "no chunk is short enough": tried(prompt, decodes, -0.05),
        "the whole prompt fits": tried(prompt, decodes, 1.01),
        "a prompt of one token": tried(1, decodes, 0.0),
        "first token with a chunk that divides the prompt": float(time_to_first_token(step_time, 600, decodes, 200)),
        "with one that doesn't": float(time_to_first_token(step_time, 600, decodes, 250)),
        "with one that is longer": float(time_to_first_token(step_time, 600, decodes, 1000)),
    },
    text="Chunks that were found, and times in milliseconds.",
)

# %% [markdown] hint="serve_chunk"
# If a chunk of n tokens is too slow, which other chunks do you know to be too slow without measuring them?

# %% [markdown] hint="serve_chunk"
# Bisection over 0 to `prompt`: the answer stays between `low`, which is fast enough or 0, and `high`. For the time to first token, the last chunk is what is left of the prompt.

# %% [markdown] hint="serve_chunk"
# Measure `middle = (low + high + 1) // 2` with `step_time(middle + decodes, prompt)`, then move `low` to `middle` or `high` to `middle - 1`. In the sum, the chunk from `start` to
# `end = min(start + chunk, prompt)` runs `end - start + decodes` tokens with a context of `end`.


# %% mutant="serve_chunk"
# Forgets the decodes
# The decoding requests run in the same step, and each adds a token to it.
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle, prompt) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, end)
    return total


# %% mutant="serve_chunk"
# Measures with an empty cache
# The first chunk attends to itself alone and is the fastest. The limit has to hold for the last one, which attends to the whole prompt.
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle + decodes, middle) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, end)
    return total


# %% mutant="serve_chunk"
# Tries one size after the other
# Each measurement takes a step of a real server. A step never gets shorter with more tokens, so bisection needs some eleven of them.
def largest_chunk(step_time, prompt, decodes, limit):
    chunk = 0
    while chunk < prompt and step_time(chunk + 1 + decodes, prompt) <= limit:
        chunk += 1
    return chunk


def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, end)
    return total


# %% mutant="serve_chunk"
# Powers of two only
# Doubling finds a power of two, which can be half of the largest chunk. Bisect between it and the next one.
def largest_chunk(step_time, prompt, decodes, limit):
    chunk = 1
    while chunk * 2 <= prompt and step_time(chunk * 2 + decodes, prompt) <= limit:
        chunk *= 2
    return chunk


def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, end)
    return total


# %% mutant="serve_chunk"
# The last chunk is a whole one
# The last chunk holds what is left of the prompt. Its step is shorter, and the context ends with the prompt.
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle + decodes, prompt) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = start + chunk
        total += step_time(end - start + decodes, end)
    return total


# %% mutant="serve_chunk"
# Each chunk attends to the whole prompt
# A chunk attends to what has been read so far, so the first chunks are faster than the last.
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle + decodes, prompt) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, prompt)
    return total


# %% mutant="serve_chunk"
# The context before the chunk
# The tokens of a chunk attend to each other as well, so the cache holds them after the step.
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle + decodes, prompt) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, start)
    return total


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* O(log prompt) measurements for the chunk, and prompt / chunk steps for the prompt.
#
# - *What do smaller chunks cost?* "More steps, each of which reads all weights again, and the earlier keys and values are read once per chunk. So the time to first token of
#   the long prompt grows while the others' gaps between tokens shrink."
# - *Which mask does a chunk need?* "Query i of a chunk that starts after s tokens sees keys 0 to s + i. A causal mask aligned to the first key would hide the cache."
# - *What is the alternative?* "Prefill on GPUs of its own, whose caches are sent to the decoding GPUs. Then neither disturbs the other, at the price of moving the cache."
#
# </details>

# %% [markdown] exercise="serve_repair_speculative" kind="repair" points=4
# ### Exercise 10 · Faster, and wrong: speculative decoding with four faults
# A colleague's speculative decoding is fast, and users complain. Four reports came in:
#
# ```text
# 1. "The draft is a copy of the model, so all 3 drafts are accepted. I still get 3 tokens per pass; I expected 4."
# 2. "At temperature 1 the shares of the tokens are nearly right. At 0.5 they are far off."
# 3. "After the first rejected draft, the text stops making sense. Without rejections it is fine."
# 4. "Even for the first token, what the draft likes and the model doesn't still comes out too often or too rarely."
# ```
#
# Repair `speculate`, so that the text has exactly the distribution of the large model alone.


# %% setup=true
class Cached:
    """A toy model whose next token depends on the last two. `cache` holds the tokens that it has read."""

    def __init__(self, logits: np.ndarray) -> None:
        self.logits, self.cache = logits, []

    def run(self, tokens: list[int]) -> np.ndarray:
        """Read some tokens after those in the cache: the logits (tokens, V) of what follows each of them."""
        rows = []
        for token in tokens:
            rows.append(self.logits[self.cache[-1] if self.cache else 0, token])
            self.cache.append(token)
        return np.array(rows)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities along the last dimension."""
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


# %% solution="serve_repair_speculative"
def speculate(target: Cached, draft: Cached, text: list[int], count: int, temperature: float, draw, coin) -> list[int]:
    """The text with 1 to `count` + 1 further tokens, for one pass of the large model `target`.

    Before and after, the cache of each model holds the text without its last token. The list `text` stays as it is.
    `draw(shares)` draws a token from probabilities that sum to 1; `coin(chance)` is True with probability `chance`.
    """
    ### BEGIN SOLUTION
    drafted, q, last = [], [], text[-1]
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(min(1.0, p[place, token] / q[place][token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1 :]
    return text
    ### END SOLUTION
    ### BEGIN STUB
    # drafted, q, last = [], [], text[-1]
    # for _ in range(count):
    #     q.append(softmax(draft.run([last])[-1]))
    #     last = draw(q[-1])
    #     drafted.append(last)
    # draft.run([last])
    # p = softmax(target.run([text[-1], *drafted]) / temperature)
    # text = list(text)
    # for place, token in enumerate(drafted):
    #     if not coin(min(1.0, p[place, token] / q[place][token])):
    #         text.append(draw(p[place]))
    #         break
    #     text.append(token)
    # return text
    ### END STUB


# %% check="serve_repair_speculative"
generator = check.rng()


def outcomes(play):
    """Every result of `play(draw, coin)` with its exact probability: all draws and coins are tried."""
    found, scripts = {}, [[]]
    while scripts:
        script, place, chance = scripts.pop(), [0], [1.0]

        def choose(shares, script=script, place=place, chance=chance):
            shares = np.nan_to_num(np.asarray(shares, dtype="float64"))
            possible = [each for each in range(len(shares)) if shares[each] > 1e-12] or [0]
            if place[0] == len(script):
                scripts.extend([*script, each] for each in possible[1:])
                script.append(possible[0])
            picked = script[place[0]]
            place[0] += 1
            chance[0] *= float(shares[picked])
            return picked

        result = play(choose, lambda share, choose=choose: choose([1 - share, share]) == 1)
        found[result] = found.get(result, 0.0) + chance[0]
    return found


def first_tokens(found, count):
    """The exact probability of each beginning of `count` tokens, in order."""
    total = np.zeros([3] * count)
    for text, chance in found.items():
        total[text[:count]] += chance
    return total.ravel()


def alone(logits, start, count, temperature):
    """What the large model writes alone."""
    total = {tuple(start): 1.0}
    for _ in range(count):
        total = {
            (*text, token): chance * share
            for text, chance in total.items()
            for token, share in enumerate(softmax(logits[text[-2], text[-1]] / temperature).tolist())
        }
    return np.array([total[each] for each in sorted(total)])


def written(logits, drafts, start, count, temperature, passes):
    """After some passes: the shares of the first tokens, tokens a pass, and whether the caches are as they should be."""

    def play(draw, coin):
        target, draft, text = Cached(logits), Cached(drafts), list(start)
        target.run(start[:-1]), draft.run(start[:-1])
        clean = True
        for _ in range(passes):
            longer = speculate(target, draft, text, count, temperature, draw, coin)
            clean &= text == list(start) or passes > 1
            text = [int(each) for each in longer]
            clean &= target.cache == text[:-1] == draft.cache
        return (*text[len(start) :], clean)

    found = outcomes(play)
    return {
        "the model alone": alone(logits, start, passes, temperature),
        "speculation": first_tokens(found, passes),
        "tokens a pass": sum(chance * (len(text) - 1) for text, chance in found.items()) / passes,
        "caches and arguments are right": all(text[-1] for text in found),
    }


logits, drafts = generator.normal(size=(2, 3, 3, 3)) * 1.5
logits[1, 2], drafts[1, 2] = [0.5, 1.5, -1.0], [1.5, -0.5, 0.5]
start = [1, 2]
check.show(
    {
        "one draft, temperature 1": written(logits, drafts, start, 1, 1.0, 1),
        "one draft, temperature 0.5": written(logits, drafts, start, 1, 0.5, 1),
        "two drafts, two passes": written(logits, drafts, start, 2, 1.0, 2),
        "two drafts, two passes, temperature 2": written(logits, drafts, start, 2, 2.0, 2),
        "the draft is a copy, three drafts": written(logits, logits, start, 3, 0.7, 1),
    },
    rtol=1e-6,
    text="Exact probabilities of the first tokens: every draw and every coin was tried.",
)

# %% [markdown] hint="serve_repair_speculative"
# Take the reports one by one. Which line decides how many tokens come out if nothing is rejected? Where does the temperature enter, and in which models?

# %% [markdown] hint="serve_repair_speculative"
# What each model has read stays in its cache, rejected drafts included. And a rejected draft must not be replaced by just any token of the large model: tokens that the draft
# proposes too rarely have to make up for it.

# %% [markdown] hint="serve_repair_speculative"
# Divide both models' logits by the temperature. Replace a rejected draft by a draw from max(p − q, 0), divided by its sum. If the loop ends without a `break`, draw one more token from `p[-1]`. At the end, cut both caches to `len(text) - 1` tokens.


# %% mutant="serve_repair_speculative"
# The draft has another temperature
# The accepted share is min(1, p/q) for the q from which the token was *drawn*. Here the draft's probabilities ignore the temperature.
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1]))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(min(1.0, p[place, token] / q[place][token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1 :]
    return text


# %% mutant="serve_repair_speculative"
# Draws at one temperature, tests at another
# The draft token was drawn without the temperature, and the test compares with a q that has it. Both have to be the same q.
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(softmax(np.log(q[-1]) * temperature))
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(min(1.0, p[place, token] / q[place][token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1 :]
    return text


# %% mutant="serve_repair_speculative"
# Replaces a rejected draft from p
# A rejected draft is replaced by a draw from what p has more than q. Drawn from p itself, tokens that the draft likes come out too often.
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(min(1.0, p[place, token] / q[place][token])):
            text.append(draw(p[place]))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1 :]
    return text


# %% mutant="serve_repair_speculative"
# Only the large model's cache is cut
# The draft has read its rejected tokens as well. Its next drafts continue a text that nobody wrote.
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(min(1.0, p[place, token] / q[place][token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target,):
        del model.cache[len(text) - 1 :]
    return text


# %% mutant="serve_repair_speculative"
# The caches keep rejected drafts
# A rejected draft is still in the caches, so the next pass continues a text that nobody wrote.
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(min(1.0, p[place, token] / q[place][token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    return text


# %% mutant="serve_repair_speculative"
# Leaves out the free token
# The pass has also computed what follows the last draft. If all drafts are accepted, one more token costs nothing.
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(min(1.0, p[place, token] / q[place][token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        pass
    for model in (target, draft):
        del model.cache[len(text) - 1 :]
    return text


# %% mutant="serve_repair_speculative"
# Accepts by equality
# A draft was accepted only if the large model finds it the likeliest. That is greedy decoding; a sampled draft is accepted with probability min(1, p/q).
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if token != p[place].argmax():
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1 :]
    return text


# %% mutant="serve_repair_speculative"
# Accepts with probability p
# The draft has already been drawn with probability q, so it is accepted with p/q. Accepted with p, it comes out with probability p · q.
def speculate(target, draft, text, count, temperature, draw, coin):
    drafted, q, last = ([], [], text[-1])
    for _ in range(count):
        q.append(softmax(draft.run([last])[-1] / temperature))
        last = draw(q[-1])
        drafted.append(last)
    draft.run([last])
    p = softmax(target.run([text[-1], *drafted]) / temperature)
    text = list(text)
    for place, token in enumerate(drafted):
        if not coin(p[place, token]):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1 :]
    return text


# %% [markdown]
# <details><summary>When you have repaired it: cost, and what they ask next</summary>
#
# *Cost.* A pass runs k + 1 tokens of the large model and k + 1 steps of the draft, and yields (1 − aᵏ⁺¹)/(1 − a) tokens at an acceptance rate of a. The draft's last step proposes nothing: it only
# reads the last draft, whose key and value have to be in its cache if all drafts are accepted.
#
# - *How would you test this in production?* "At temperature 0 the text must equal that of plain decoding, up to ties. Otherwise I compare token frequencies on a tiny vocabulary, where
#   every outcome can be enumerated, because a statistical test on real text misses small biases."
# - *When does speculative decoding make a server slower?* "At large batches, where the pass is bound by FLOPs and rejected tokens cost time, at low acceptance rates, and with a slow draft."
# - *What else can draft?* "An n-gram lookup in the prompt, which is free and good at quoting and editing; extra heads on the model; or a small head that reuses its hidden states."
#
# </details>

# %% [markdown] exercise="serve_design" kind="design" points=5 minutes=30
# ### Exercise 11 · Size the cache and the GPUs
# Choose GPUs for a service, as in a capacity interview. A replica is `tp` GPUs that split weights, caches and work evenly; its sequences decode in batches of at most `max_batch`,
# and the requests spread evenly over `replicas`. Write `design`, which returns the four decisions for a case such that every limit is kept and the GPUs cost little. The docstring
# has the model of the machine; write the limits yourself, then search.


# %% solution="serve_design"
def design(case: dict) -> dict[str, int]:
    """Values for "tp", "replicas", "kv_bits" and "max_batch", each one of `case["options"][name]`.

    The case has the model (`parameters`, 2 bytes each; `layers`, `heads`, `kv_heads`, `width` of a head), the GPU (`memory` in bytes,
    `bandwidth` in bytes/s, `flops` in FLOP/s, `price` per hour), the load (`rate` in requests/s, `prompt` and `output` tokens of each) and
    the limits `ttft` and `tpot` in seconds.

    - Memory: weights and `max_batch` caches of prompt + output tokens fit into 90 % of the replica's memory.
    - A *prefill* takes 2 FLOPs per parameter and prompt token, at half of the replica's FLOP/s. It is the time to first token, at most `ttft`.
    - A *step* of decoding reads all weights and `max_batch` caches of prompt + output tokens. Prefills stop the decoding, so a replica decodes for a
      share of 1 − (requests/s of a replica) · prefill of the time, which must be above 0. The time per output token is step / share, at most `tpot`.
    - Concurrency: by Little's law, (requests/s of a replica) · (prefill + output · time per output token) requests are there at once, at most `max_batch`.
    """
    ### BEGIN SOLUTION
    gpu_cost, best = math.inf, {}
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best
    ### END SOLUTION


# %% check="serve_design"
generator = check.rng()


def simulate(case, tp, replicas, kv_bits, max_batch, prefills=1):
    """Which limits a design keeps, and what it costs an hour; of arrays of decisions, arrays of both.

    With `prefills` of 0, requests whose prompt is being read don't count as there.
    """
    per_token = 2 * case["layers"] * case["kv_heads"] * case["width"] * kv_bits / 8
    used = 2 * case["parameters"] + max_batch * (case["prompt"] + case["output"]) * per_token
    prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
    rate = case["rate"] / replicas
    share = np.maximum(1 - rate * prefill, 1e-9)
    step = used / (tp * case["bandwidth"]) / share
    limits = {
        "memory": used <= 0.9 * tp * case["memory"],
        "time to first token": prefill <= case["ttft"],
        "time per output token": step <= case["tpot"],
        "concurrency": rate * (prefills * prefill + case["output"] * step) <= max_batch,
    }
    return limits, tp * replicas * case["price"]


def least(case, ignored="", prefills=1, **chosen):
    """What the cheapest design costs that keeps every limit but one, of those with some `chosen` decisions."""
    options = {**case["options"], **chosen}
    every = dict(zip(options, np.array(np.meshgrid(*options.values())).reshape(4, -1), strict=True))
    limits, cost = simulate(case, **every, prefills=prefills)
    kept = np.logical_and.reduce([each for name, each in limits.items() if name != ignored])
    return np.where(kept, cost, math.inf).min()


def weights_alone(case):
    fitting = [each for each in case["options"]["tp"] if 2 * case["parameters"] <= 0.9 * each * case["memory"]]
    return least(case, "memory", tp=fitting) if fitting else math.inf


def fewest_replicas(case):
    costs = (least(case, replicas=[each]) for each in case["options"]["replicas"])
    return next((cost for cost in costs if cost < math.inf), math.inf)


def fewest_gpus_of_a_replica(case):
    """The cost with the smallest replica that keeps the limits, which is the first design that a search finds."""
    costs = [least(case, tp=[each]) for each in case["options"]["tp"]]
    return next((cost for cost in costs if cost < math.inf), math.inf) if costs[0] == math.inf else 0.0


matters = {
    "memory": lambda case, cost: 1.2 * weights_alone(case) < cost,
    "the reserve of a tenth": lambda case, cost: 1.2 * least({**case, "memory": case["memory"] / 0.9}) < cost,
    "the size of a cache": lambda case, cost: least({**case, "kv_heads": 1.5 * case["kv_heads"]}) > 1.2 * cost,
    "time to first token": lambda case, cost: 1.2 * least(case, "time to first token") < cost,
    "time per output token": lambda case, cost: 1.2 * least(case, "time per output token") < cost,
    "concurrency": lambda case, cost: 1.2 * least(case, "concurrency") < cost,
    "the number of replicas": lambda case, cost: min(least(case, replicas=[1]), fewest_replicas(case)) > 1.2 * cost,
    "the prefill of a request": lambda case, cost: 1.2 * least(case, prefills=0) < cost,
    "the size of a replica": lambda case, cost: fewest_gpus_of_a_replica(case) > 1.2 * cost,
}
"""Whether a mistake in one of these would change the cost of a case by a fifth."""


def drawn(about):
    while True:
        case = {
            "parameters": float(generator.uniform(5, 80)) * 1e9,
            "layers": int(generator.choice([32, 48, 80])),
            "heads": 64,
            "kv_heads": 8,
            "width": 128,
            "memory": float(generator.choice([40, 80, 141])) * 1e9,
            "bandwidth": float(generator.uniform(1.5, 4.8)) * 1e12,
            "flops": float(generator.uniform(300, 1000)) * 1e12,
            "price": round(float(generator.uniform(1.5, 4)), 2),
            "rate": round(float(generator.uniform(1, 20)), 1),
            "prompt": int(generator.integers(500, 6000)),
            "output": int(generator.integers(100, 600)),
            "ttft": round(float(generator.uniform(0.2, 1.5)), 2),
            "tpot": round(float(generator.uniform(0.015, 0.06)), 3),
            "options": {
                "tp": [1, 2, 4, 8],
                "replicas": list(range(1, 25)),
                "kv_bits": [16] if generator.random() < 0.4 else [16, 8],
                "max_batch": [1, 2, 4, 8, 16, 32, 64, 128, 256],
            },
        }
        cost = least(case)
        if cost < math.inf and matters[about](case, cost):
            return case


shown = {}
for about in matters:
    case = drawn(about)
    decisions = design({**case, "options": {name: list(each) for name, each in case["options"].items()}})
    shown[f"a case in which {about} matters"] = {
        "case": {name: value for name, value in case.items() if name != "options"},
        "kv_bits": case["options"]["kv_bits"],
        **check.design(decisions, case["options"], lambda case=case, **each: simulate(case, **each)),
    }
check.show(
    shown,
    text="What a simulator says of your designs. A cost within 15 % of the cheapest design's counts as the cheapest.",
)

# %% [markdown] hint="serve_design"
# Write each limit as one line of Python for given decisions before you think about the search. Which of the case's numbers does the cache need, and which one is there to mislead you?

# %% [markdown] hint="serve_design"
# The cache takes 2 · layers · kv_heads · width · bits / 8 bytes a token. Rates are those of one replica: `case["rate"] / replicas`. Memory, bandwidth and FLOP/s are those of `tp` GPUs.

# %% [markdown] hint="serve_design"
# Try all of `product(tp, replicas, kv_bits, max_batch)`, skip what breaks a limit, and keep the one with the fewest GPUs, tp · replicas. The time per output token is (weights + caches) / (tp · bandwidth) / share.


# %% mutant="serve_design"
# Forgets the caches
# The weights fit, but the caches of a full batch need memory as well.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# Counts the query heads
# Only keys and values are cached, and there are `kv_heads` heads of them. With the query heads the cache looks eight times as large, so the design has too many GPUs.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# Keys without values
# Keys and values are both cached, which is twice as much.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# Ignores the time to first token
# The prefill of a prompt takes longer than the limit. It depends on the FLOP/s of a replica, so more replicas don't help: more GPUs per replica do.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# A step reads the weights alone
# A step also reads the cache of each sequence in the batch. Without it the time per output token looks shorter than it is.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = weights / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# Little's law without the output
# A request is there for its prefill and for all of its output tokens, so many more requests are there at once than prefills.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * prefill > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# Little's law without the prefill
# A request is there while its prompt is read, too, so the time of its prefill counts beside that of its output tokens.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * case["output"] * per_token > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# The rate of the whole service for each replica
# The requests spread over the replicas. If each is sized for all of them, replicas don't help.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"]
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% mutant="serve_design"
# The fewest replicas
# A replica costs `tp` GPUs. The fewest replicas can be many more GPUs than needed.
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case["prompt"] + case["output"]
    weights = 2 * case["parameters"]
    names = ("tp", "replicas", "kv_bits", "max_batch")
    for tp, replicas, bits, batch in product(*(case["options"][name] for name in names)):
        caches = batch * tokens * 2 * case["layers"] * case["kv_heads"] * case["width"] * bits / 8
        prefill = 2 * case["parameters"] * case["prompt"] / (0.5 * tp * case["flops"])
        rate = case["rate"] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case["memory"] or prefill > case["ttft"]:
            continue
        per_token = (weights + caches) / (tp * case["bandwidth"]) / share
        if per_token > case["tpot"] or rate * (prefill + case["output"] * per_token) > batch:
            continue
        if replicas < gpu_cost:
            gpu_cost = replicas
            best = {"tp": tp, "replicas": replicas, "kv_bits": bits, "max_batch": batch}
    return best


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* 4 · 24 · 2 · 9 = 1,728 designs, each in constant time. At a whiteboard, go in this order: weights give the least tp, the cache per request gives the batch, Little's law gives the replicas.
#
# - *What does your model leave out?* "Communication between the GPUs of a replica, bursts, the spread of lengths, and failures. I would size for the peak hour, add a reserve for a lost replica, and measure."
# - *More GPUs in a replica or more replicas?* "A larger tp lowers both latencies and leaves room for the cache, but pays two all-reduces a layer. Replicas scale the rate and leave each of them
#   more time to decode between prefills, but a prefill and a single step stay as slow as they were. So I take the smallest tp that meets the latency limits, then replicas."
# - *The bill is twice too high, so what do you try first?* "Prefix caching if prompts share a beginning, then 8-bit
#   weights and caches, and a smaller model for easy requests. Each is checked on quality."
#
# </details>

# %% [markdown] exercise="serve_ridge" kind="build" points=3
# ### Exercise 12 · When does batching stop helping?
# Write the four formulas behind most questions about serving. A GPU computes `flops` FLOP/s and reads `bandwidth`
# bytes/s, and a step takes the longer of the two. A token costs two FLOPs for each of `parameters` weights, which are
# read once per step; in decoding, each sequence also reads its own `cache` bytes. FLOPs of attention are neglected, and
# for speculation, time is measured in steps of the large model for one token at batch 1.


# %% solution="serve_ridge"
def ridge(flops: float, bandwidth: float, weight_bytes: float) -> float:
    """How many tokens a step needs so that computing takes as long as reading the weights, of `weight_bytes` bytes each."""
    ### BEGIN SOLUTION
    return flops * weight_bytes / (2 * bandwidth)
    ### END SOLUTION


def balanced_batch(flops: float, bandwidth: float, parameters: float, weight_bytes: float, cache: float) -> float:
    """The number of decoding sequences at which computing takes as long as reading weights and caches; infinity if it never does."""
    ### BEGIN SOLUTION
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf
    ### END SOLUTION


def speedup(rate: float, drafts: int, cost: float, batch: float, ridge: float) -> float:
    """Tokens per second with speculation, divided by those without it.

    Each of the `drafts` drafts is accepted with probability `rate`, up to the first rejection, and takes `cost`. A step
    of the large model takes 1, or tokens / `ridge` if it has more tokens than `ridge`; here `batch` sequences decode together.
    """
    ### BEGIN SOLUTION
    tokens = sum(rate**count for count in range(drafts + 1))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)
    ### END SOLUTION


def best_drafts(rate: float, cost: float, batch: float, ridge: float) -> int:
    """The number of drafts from 0 to 16 with the largest speedup; the fewest, if several have it."""
    ### BEGIN SOLUTION
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))
    ### END SOLUTION


# %% check="serve_ridge"
generator = check.rng()
flops, bandwidth = float(generator.uniform(200, 1000)) * 1e12, float(generator.uniform(1, 5)) * 1e12
parameters = float(generator.uniform(5, 80)) * 1e9
even = 2 * parameters * bandwidth / flops
rate, cost, limit = (float(generator.uniform(*each)) for each in ((0.6, 0.9), (0.03, 0.12), (150, 300)))
batches = [1.0, limit / 8, limit / 3, 0.9 * limit, 3 * limit]
check.show(
    {
        "FLOP/s, bytes/s, parameters": [flops, bandwidth, parameters],
        "ridge in 16, 8 and 4 bits": [float(ridge(flops, bandwidth, each)) for each in (2, 1, 0.5)],
        "batch without caches": float(balanced_batch(flops, bandwidth, parameters, 2, 0.0)),
        "with small caches": float(balanced_batch(flops, bandwidth, parameters, 2, 0.4 * even)),
        "8-bit weights, larger caches": float(balanced_batch(flops, bandwidth, parameters, 1, 0.8 * even)),
        "caches that are too large": [
            float(balanced_batch(flops, bandwidth, parameters, 2, each * even)) for each in (1.1, 1.5)
        ],
        "caches that just fit, and that just don't": [
            float(balanced_batch(4.0, 2.0, 8.0, 2, each)) for each in (7.5, 8.0)
        ],
        "acceptance rate, cost of a draft, ridge": [rate, cost, limit],
        "speedup with 4 drafts, by batch": [float(speedup(rate, 4, cost, each, limit)) for each in batches],
        "speedup with 1 and 9 drafts": [float(speedup(rate, each, cost, 1, limit)) for each in (1, 9)],
        "no drafts; rates of 0 and 1": [
            float(speedup(*each, cost, 2, limit)) for each in ((rate, 0), (0.0, 3), (1.0, 3))
        ],
        "best number of drafts, by batch": [int(best_drafts(rate, cost, each, limit)) for each in batches],
        "for a draft that is always right": int(best_drafts(1.0, cost, 1, limit)),
        "for a draft that is slow": int(best_drafts(rate, 0.95, 1, limit)),
        "for a free draft that is never right": int(best_drafts(0.0, 0.0, 1, limit)),
    },
    text="Break-even points of a machine and of a draft.",
)

# %% [markdown] hint="serve_ridge"
# Write both times for n tokens and set them equal: 2 · P · n / FLOPs on one side, bytes / bandwidth on the other.

# %% [markdown] hint="serve_ridge"
# With caches the bytes are P · weight_bytes + n · cache, so n stands on both sides: every sequence brings FLOPs and bytes. If it brings at least as many bytes as its FLOPs allow, no batch is
# large enough. A pass with k drafts yields 1 + a + … + aᵏ tokens.

# %% [markdown] hint="serve_ridge"
# n = P · weight_bytes / (2 · P · bandwidth / flops − cache), or infinity. The speedup is tokens · max(1, batch / ridge) / (max(1, batch · (k + 1) / ridge) + k · cost).


# %% mutant="serve_ridge"
# One FLOP for a weight
# A weight is multiplied and the product is added, which is two FLOPs for each token.
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / bandwidth


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf


def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum(rate**count for count in range(drafts + 1))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% mutant="serve_ridge"
# FLOPs per byte taken for tokens
# FLOP/s over bytes/s is the machine's arithmetic intensity. A weight has `weight_bytes` bytes and costs two FLOPs a token, which converts it into tokens.
def ridge(flops, bandwidth, weight_bytes):
    return flops / bandwidth


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf


def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum(rate**count for count in range(drafts + 1))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% mutant="serve_ridge"
# Reads the cache once
# Weights are shared by the batch, but each sequence has a cache of its own. The bytes of the caches grow with the batch.
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    return (parameters * weight_bytes + cache) * flops / (2 * parameters * bandwidth)


def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum(rate**count for count in range(drafts + 1))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% mutant="serve_ridge"
# A negative batch
# If the cache of a sequence takes longer to read than its FLOPs take to compute, no batch is large enough. The formula is negative there; the answer is infinity.
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more else math.inf


def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum(rate**count for count in range(drafts + 1))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% mutant="serve_ridge"
# Counts accepted drafts alone
# Each pass gives one token more than accepted drafts: the replacement of a rejected one, or the free token at the end.
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf


def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum(rate**count for count in range(1, drafts + 1))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% mutant="serve_ridge"
# Drafts accepted independently
# A draft counts only if all drafts before it were accepted, so k drafts give 1 + a + … + aᵏ tokens, not 1 + k · a.
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf


def speedup(rate, drafts, cost, batch, ridge):
    tokens = 1 + drafts * rate
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% mutant="serve_ridge"
# Verifying is free
# A pass with k drafts runs k + 1 tokens of each sequence. At large batches the step is bound by FLOPs, and then it takes longer.
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf


def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum(rate**count for count in range(drafts + 1))
    plain = verify = max(1.0, batch / ridge)
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% mutant="serve_ridge"
# At least one draft
# With a slow draft or a large batch every number of drafts loses. The best number is 0 then.
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf


def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum(rate**count for count in range(drafts + 1))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)


def best_drafts(rate, cost, batch, ridge):
    return max(range(1, 17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))


# %% [markdown]
# <details><summary>When you have written it: cost, and what they ask next</summary>
#
# *Cost.* Constant time; all of it fits on a napkin, and interviewers expect you to do it there.
#
# - *An H100 has 990 TFLOP/s in 16 bits and 3.35 TB/s. Where is its ridge?* "It is at about 295 FLOPs per byte. In 16
#   bits, a weight of two bytes costs two FLOPs a token, so it is about 295 tokens."
# - *Do 8-bit weights move it?* "Weights in 8 bits that are computed in 16 halve the bytes, so the ridge falls to half as many tokens, and decoding at small batches is up to twice as fast."
# - *Why does batching stop helping earlier with long contexts?* "The weights are shared and the caches aren't. Once the caches dominate the bytes, each further sequence adds as much
#   time as it adds tokens."
#
# </details>


# %% [markdown] exercise="serve_timed_decode" kind="timed" points=3
# ### Exercise 13 · Timed: decode without computing anything twice
# A model with one attention layer writes greedily. `embed(tokens, start)` gives the vectors (n, C) of n tokens that stand at the positions from `start` on;
# `project(x)` gives their queries, keys and values, each (n, D); the output at the last position is softmax(q·Kᵀ/√D)·V over all tokens so far; and `head(output)` gives the
# logits (V,) of the next token. Scores may be in the thousands.
#
# Write the first version without a cache if you like; then keep the limit. The rows that `project` gets are counted, over the whole call: at most one for each
# token of the prompt and one for each token written.


# %% solution="serve_timed_decode"
def generate(embed, project, head, prompt: list[int], count: int) -> list[int]:
    """The `count` ≥ 1 tokens that the model writes after the prompt, each the one with the largest logit. `prompt` stays as it is."""
    ### BEGIN SOLUTION
    written: list[int] = []
    q, keys, values = project(embed(prompt, 0))
    while True:
        scores = keys @ q[-1] / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max())
        written.append(int(np.argmax(head(weights @ values / weights.sum()))))
        if len(written) == count:
            return written
        q, k, v = project(embed(written[-1:], len(keys)))
        keys, values = np.concatenate([keys, k]), np.concatenate([values, v])
    ### END SOLUTION


# %% machine="serve_timed_decode"
length, count, rows, is_over, drawn = 20, 40, 0, False, secret()
first, maps = drawn.normal(size=(12, 12)), drawn.normal(size=(3, 12, 8))


def project(x):
    """A projection that nobody else can do: two layers with drawn weights."""
    global rows
    if is_over:
        raise RuntimeError("the verdict has been given")
    rows += np.size(x) // len(first)
    return tuple(np.sin(x @ first) @ each for each in maps)


def verdict():
    global is_over
    is_over = True
    if rows > length + count:
        return f"{rows} rows were projected, where {length + count} are allowed"
    return seal(f"at most {length + count} rows")


# %% check="serve_timed_decode"
generator = check.rng()
V, C, D = 50, 12, 8
table, places, out, bias = (generator.normal(size=size) for size in ((V, C), (60, C), (D, V), V))
maps = generator.normal(size=(3, C, D)) * np.array([0.5, 0.5, 1.5])[:, None, None]


def decode(length, count, sharp=1.0, project=None):
    """What is written after a prompt of this length."""
    sharpened = maps * np.array([sharp, 1.0, 1.0])[:, None, None]
    prompt = generator.integers(V, size=length).tolist()
    given = list(prompt)
    found = generate(
        lambda tokens, start: table[np.asarray(tokens, int)] + places[start : start + len(tokens)],
        project or (lambda x: tuple(np.asarray(x) @ each for each in sharpened)),
        lambda output: output @ out + 3.0 * bias,
        given,
        count,
    )
    return {"prompt": prompt, "written": [int(each) for each in found], "unchanged": given == prompt}


check.show(
    {
        "a prompt of 6 tokens": decode(6, 14),
        "a prompt of one token": decode(1, 9),
        "one token to write": decode(5, 1),
        "a long text, counted": decode(20, 40, project=machine.project),
        "what is counted": machine.verdict(),
        "scores in the thousands": decode(8, 12, 1000.0),
    },
    text="What is written, and how many rows were projected.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* With a prompt of P tokens and N written ones, P + N − 1 rows are projected instead of about N·(P + N/2). Attention is O((P + N)·D) a token, with a cache or without. The
# cache holds 2·(P + N)·D numbers.
#
# - *If you concatenate in each step, does that spoil it?* "It copies the cache each time, O(N·(P + N)·D) elements in
#   all. A server allocates blocks or doubles a buffer, so that an append is O(1)."
# - *Why is one step still slow?* "It reads all weights and the cache to make one token, so the memory bandwidth limits it. Batching shares the weights, not the cache."
# - *What has to be right about positions?* "A new token stands behind all cached ones. With start = 0 it gets the first position's vector, and the text drifts off after some tokens."
#
# </details>

# %% [markdown] hint="serve_timed_decode"
# Which of the three, query, key and value, does a later step need of an earlier token? Those can be kept, and the other one can be forgotten.

# %% [markdown] hint="serve_timed_decode"
# Project the whole prompt once. In each further step project the newest token alone, at its own position, and append its key and value to those you have.

# %% [markdown] hint="serve_timed_decode"
# The position of the newest token is the number of keys kept so far: `project(embed([token], len(keys)))`. The last token that you write needs no projection.


# %% mutant="serve_timed_decode"
# Computes everything again
# Each step projects the whole text again, which makes rows quadratic in its length. Keep keys and values.
def generate(embed, project, head, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        q, keys, values = project(embed(tokens, 0))
        scores = keys @ q[-1] / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max())
        tokens.append(int(np.argmax(head(weights @ values / weights.sum()))))
    return tokens[len(prompt) :]


# %% mutant="serve_timed_decode"
# Projects the last token twice
# Each step projects two tokens, the newest and the one before, whose key and value are in the cache already.
def generate(embed, project, head, prompt, count):
    tokens, keys, values = list(prompt), None, None
    for _ in range(count):
        first = 0 if keys is None else len(keys) - 1
        q, k, v = project(embed(tokens[first:], first))
        keys = k if keys is None else np.concatenate([keys[:-1], k])
        values = v if values is None else np.concatenate([values[:-1], v])
        scores = keys @ q[-1] / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max())
        tokens.append(int(np.argmax(head(weights @ values / weights.sum()))))
    return tokens[len(prompt) :]


# %% mutant="serve_timed_decode"
# Position 0 for each new token
# A new token stands behind all tokens in the cache, and its vector depends on its position. Here it is embedded at the start.
def generate(embed, project, head, prompt, count):
    written = []
    q, keys, values = project(embed(prompt, 0))
    while True:
        scores = keys @ q[-1] / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max())
        written.append(int(np.argmax(head(weights @ values / weights.sum()))))
        if len(written) == count:
            return written
        q, k, v = project(embed(written[-1:], 0))
        keys, values = np.concatenate([keys, k]), np.concatenate([values, v])


# %% mutant="serve_timed_decode"
# The cache doesn't grow
# New tokens attend to the prompt alone: their own keys and values were never appended.
def generate(embed, project, head, prompt, count):
    written = []
    q, keys, values = project(embed(prompt, 0))
    while True:
        scores = keys @ q[-1] / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max())
        written.append(int(np.argmax(head(weights @ values / weights.sum()))))
        if len(written) == count:
            return written
        q, _, _ = project(embed(written[-1:], len(prompt) + len(written) - 1))
