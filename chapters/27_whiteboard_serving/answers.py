# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 27` grades them.


# %% answer="serve_bpe" right="merges the lowest rank first, pair by pair"
def replaced(ids, pair, new):
    result = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            result += [new]
            i += 1
        else:
            result += [ids[i]]
        i += 1
    return result


def train(text, merges):
    ids = [b for b in text]
    out = []
    while len(out) < merges and len(ids) > 1:
        count = {}
        for p in zip(ids, ids[1:]):
            count[p] = count.get(p, 0) + 1
        best = sorted(count, key=lambda p: (-count[p], p))[0]
        ids = replaced(ids, best, 256 + len(out))
        out.append(best)
    return out


def encode(text, merges):
    rank = {p: i for i, p in enumerate(merges)}
    ids = list(text)
    while len(ids) > 1:
        pair = min(zip(ids, ids[1:]), key=lambda p: rank.get(p, float("inf")))
        if pair not in rank:
            break
        ids = replaced(ids, pair, 256 + rank[pair])
    return ids


def decode(ids, merges):
    def expand(i):
        if i < 256:
            return bytes((i,))
        a, b = merges[i - 256]
        return expand(a) + expand(b)
    return b"".join(map(expand, ids))


# %% answer="serve_bpe" right="Counter over slices, a vocabulary dict"
def replaced(ids, pair, new):
    ids, out = list(ids)[::-1], []
    while ids:
        a = ids.pop()
        if ids and (a, ids[-1]) == tuple(pair):
            ids.pop()
            a = new
        out.append(a)
    return out


def train(text, merges):
    ids, learned = list(text), []
    for i in range(merges):
        stats = Counter((ids[j], ids[j + 1]) for j in range(len(ids) - 1))
        if len(stats) == 0:
            return learned
        top = max(stats.values())
        pair = min(p for p, n in stats.items() if n == top)
        learned += [pair]
        ids = replaced(ids, pair, 256 + i)
    return learned


def encode(text, merges):
    out = list(text)
    for i in range(len(merges)):
        out = replaced(out, merges[i], i + 256)
    return out


def decode(ids, merges):
    vocab = {i: bytes([i]) for i in range(256)}
    for i, (a, b) in enumerate(merges, 256):
        vocab[i] = vocab[a] + vocab[b]
    return b"".join(vocab[i] for i in ids)


# %% answer="serve_bpe" right="NumPy finds the pairs"
def replaced(ids, pair, new):
    out, i, n = [], 0, len(ids)
    for i, each in enumerate(ids):
        if out and out[-1] == (pair[0], i - 1) and each == pair[1]:
            out[-1] = (new, -5)
        else:
            out.append((each, i))
    return [a for a, _ in out]


def train(text, merges):
    ids, pairs = np.frombuffer(text, np.uint8).astype(int).tolist(), []
    for k in range(merges):
        if len(ids) < 2:
            break
        both, n = np.unique(np.stack([ids[:-1], ids[1:]], 1), axis=0, return_counts=True)
        pair = tuple(int(x) for x in both[n.argmax()])
        pairs.append(pair)
        ids = replaced(ids, pair, 256 + k)
    return pairs


def encode(text, merges):
    ids = list(text)
    for k, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + k)
    return ids


def decode(ids, merges):
    ids = list(ids)
    for k in reversed(range(len(merges))):
        ids = [x for i in ids for x in (merges[k] if i == 256 + k else (i,))]
    return bytes(ids)


# %% answer="serve_bpe" wrong="replaces through strings of digits"
def replaced(ids, pair, new):
    text = ' '.join(map(str, ids)).replace(f'{pair[0]} {pair[1]}', str(new))
    return [int(each) for each in text.split()]

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
    ids = list(text)
    for rank, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + rank)
    return ids

def decode(ids, merges):
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b''.join([pieces[each] for each in ids])

# %% answer="serve_bpe" wrong="merges once a text, not until nothing is left"
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at:at + 2]) == pair:
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
    ids, ranks, out, at = (list(text), {pair: 256 + rank for rank, pair in enumerate(merges)}, [], 0)
    while at < len(ids):
        pair = tuple(ids[at:at + 2])
        out.append(ranks.get(pair, ids[at]))
        at += 2 if pair in ranks else 1
    return out

def decode(ids, merges):
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b''.join([pieces[each] for each in ids])

# %% answer="serve_bpe" wrong="stops when no pair occurs twice"
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at:at + 2]) == pair:
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
        if not counts or max(counts.values()) < 2:
            break
        pair = min(counts, key=lambda each: (-counts[each], each))
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
    return b''.join([pieces[each] for each in ids])

# %% answer="serve_bpe" wrong="ties go to the largest pair"
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at:at + 2]) == pair:
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
        pair = max(counts, key=lambda each: (counts[each], each))
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
    return b''.join([pieces[each] for each in ids])

# %% answer="serve_bpe" wrong="counts pairs without overlap"
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at:at + 2]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out

def train(text, merges):
    ids, learned = (list(text), [])
    for new in range(256, 256 + merges):
        counts = Counter()
        skip = False
        for a, b in pairwise(ids):
            skip = a == b and (not skip)
            counts[a, b] += 0 if a == b and (not skip) else 1
        if not counts:
            break
        pair = min(counts, key=lambda each: (-counts[each], each))
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
    return b''.join([pieces[each] for each in ids])

# %% answer="serve_bpe" wrong="decodes only one level"
def replaced(ids, pair, new):
    out, at = ([], 0)
    while at < len(ids):
        if tuple(ids[at:at + 2]) == pair:
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
    ids = list(text)
    for rank, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + rank)
    return ids

def decode(ids, merges):
    out = []
    for each in ids:
        out += [each] if each < 256 else [min(part, 255) for part in merges[each - 256]]
    return bytes(out)


# %% answer="serve_bpe" wrong="replaces in the list that it was given"
def replaced(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """The ids with each occurrence of `pair` replaced by `new`, found from left to right; occurrences don't overlap.

    The list `ids` stays as it is.
    """
    at = 0
    while at < len(ids) - 1:
        if tuple(ids[at : at + 2]) == pair:
            ids[at : at + 2] = [new]
        at += 1
    return ids


def train(text: bytes, merges: int) -> list[tuple[int, int]]:
    """The pairs in the order in which they are learned: `merges` of them, or fewer if the text has become a single id.

    All pairs of neighbours are counted, so `aaa` holds the pair `aa` twice.
    """
    ids, learned = list(text), []
    for new in range(256, 256 + merges):
        counts = Counter(pairwise(ids))
        if not counts:
            break
        pair = min(counts, key=lambda each: (-counts[each], each))
        ids = replaced(ids, pair, new)
        learned.append(pair)
    return learned


def encode(text: bytes, merges: list[tuple[int, int]]) -> list[int]:
    """The ids of a text. An empty text has none."""
    ids = list(text)
    for rank, pair in enumerate(merges):
        ids = replaced(ids, pair, 256 + rank)
    return ids


def decode(ids: list[int], merges: list[tuple[int, int]]) -> bytes:
    """The bytes that the ids stand for."""
    pieces = [bytes([each]) for each in range(256)]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return b"".join([pieces[each] for each in ids])


# %% answer="serve_processors" right="one row after the other, in loops"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    out = np.array(logits, dtype=float)
    for b in range(len(out)):
        for t in set(prompts[b]) | set(outputs[b]):
            out[b, t] = out[b, t] / repetition if out[b, t] > 0 else out[b, t] * repetition
        for t in set(outputs[b]):
            out[b, t] = out[b, t] - frequency * outputs[b].count(t) - presence
        out[b] /= temperature
        p = np.exp(out[b] - out[b].max())
        out[b, p < min_p * p.max()] = float("-inf")
    return out


# %% answer="serve_processors" right="counts as a matrix"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    B, V = logits.shape
    count = np.stack([np.bincount(np.array(o, dtype=int), minlength=V) for o in outputs])
    seen = np.stack([np.bincount(np.array(p, dtype=int), minlength=V) for p in prompts]) + count > 0
    x = np.where(seen, np.where(logits < 0, logits * repetition, logits / repetition), logits)
    x = (x - frequency * count - presence * (count > 0)) / temperature
    shares = np.exp(x - x.max(1)[:, None])
    shares /= shares.sum(1)[:, None]
    return np.where(shares < min_p * shares.max(1)[:, None], -np.inf, x)


# %% answer="serve_processors" right="in logs, with np.subtract.at"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    x = logits.astype("float64", copy=True)
    for row, p, o in zip(x, prompts, outputs):
        ids = sorted(set(p + o))
        row[ids] *= [repetition if v <= 0 else 1 / repetition for v in row[ids]]
        np.subtract.at(row, np.array(o, int), frequency)
        row[list(set(o))] -= presence
    x = x / temperature
    with np.errstate(divide="ignore"):
        x[x - x.max(axis=-1, keepdims=True) < np.log(min_p)] = -np.inf
    return x


# %% answer="serve_processors" wrong="temperature comes first"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits / temperature
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    pass
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits

# %% answer="serve_processors" wrong="repetition after the other penalties"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits

# %% answer="serve_processors" wrong="multiplies by the temperature"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits *= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits

# %% answer="serve_processors" wrong="min-p as top-p"
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
        shares /= shares.sum(-1, keepdims=True)
        for row, p in zip(logits, shares):
            order = p.argsort()[::-1]
            row[order[np.r_[0, p[order].cumsum()[:-1]] >= 1 - min_p]] = -np.inf
    return logits

# %% answer="serve_processors" wrong="the largest of the batch"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max() + np.log(min_p)] = -np.inf
    return logits

# %% answer="serve_processors" wrong="subtracts the logarithm of the repetition penalty"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = row[seen] - np.log(repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        logits[logits < logits.max(-1, keepdims=True) + np.log(min_p)] = -np.inf
    return logits

# %% answer="serve_processors" wrong="softmax without the maximum overflows"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    logits = logits.copy()
    for row, prompt, output in zip(logits, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    logits /= temperature
    if min_p > 0:
        shares = np.exp(logits.astype('float32'))
        logits[~(shares >= min_p * shares.max(-1, keepdims=True))] = -np.inf
    return logits


# %% answer="serve_processors" wrong="the penalty once for the prompt and once for the output"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    x = logits.copy()
    for row, prompt, output in zip(x, prompts, outputs):
        for seen in (list({*prompt}), list({*output})):
            row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token, count in Counter(output).items():
            row[token] -= frequency * count + presence
    x /= temperature
    if min_p > 0:
        x[x < x.max(1, keepdims=True) + np.log(min_p)] = -np.inf
    return x


# %% answer="serve_beam" right="a heap for the candidates"
import heapq


def beam(logprobs, start, eos, width, length, alpha=0.0):
    beams = [(0.0, (start,))]
    done = []
    for t in range(length):
        rows = np.asarray(logprobs(np.array([b[1] for b in beams])))
        pool = []
        for (s, seq), row in zip(beams, rows):
            for v, lp in enumerate(row):
                pool.append((s + lp, seq + (v,)))
        top = heapq.nlargest(2 * width, pool) if width < 50 else sorted(pool, reverse=True)
        beams = []
        for rank, (s, seq) in enumerate(top):
            if seq[-1] == eos:
                if rank < width:
                    done.append((s / (t + 1) ** alpha, seq))
            elif len(beams) < width:
                beams.append((s, seq))
        if not beams:
            break
    else:
        done += [(s / length ** alpha, seq) for s, seq in beams]
    done.sort(key=lambda d: d[0], reverse=True)
    return [(list(seq[1:]), float(s)) for s, seq in done[:width]]


# %% answer="serve_beam" right="flat NumPy top-k"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    seqs, sums = np.array([[start]]), np.zeros(1)
    done = []
    for t in range(1, length + 1):
        lp = logprobs(seqs)
        total = sums[:, None] + lp
        V = lp.shape[1]
        order = np.argsort(-total, axis=None, kind="stable")
        for i in order[:width]:
            if i % V == eos:
                done.append((seqs[i // V, 1:].tolist() + [eos], total.flat[i] / t**alpha))
        order = order[order % V != eos][:width]
        seqs = np.c_[seqs[order // V], order % V]
        sums = total.ravel()[order]
        if len(seqs) == 0:
            break
    done += [(seq[1:].tolist(), s / length**alpha) for seq, s in zip(seqs, sums)]
    return sorted(done, key=lambda x: x[1], reverse=True)[:width]


# %% answer="serve_beam" right="stops early where no live prefix can win"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, done = [([start], 0.0)], []
    for t in range(1, length + 1):
        longer = [(p + [v], s + x) for (p, s), row in zip(live, logprobs(np.array([p for p, _ in live]))) for v, x in enumerate(row.tolist())]
        longer.sort(key=lambda c: c[1], reverse=True)
        done += [(p, s / t**alpha) for p, s in longer[:width] if p[-1] == eos]
        live = [c for c in longer if c[0][-1] != eos][:width]
        if not live:
            break
        done.sort(key=lambda c: -c[1])
        bound = live[0][1] / (length if alpha > 0 else t + 1) ** alpha
        if len(done) >= width and bound < done[width - 1][1] and alpha >= 0:
            live = []
            break
    done += [(p, s / length**alpha) for p, s in live]
    return [(p[1:], s) for p, s in sorted(done, key=lambda c: -c[1])[:width]]


# %% answer="serve_beam" wrong="multiplies probabilities"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = ([([start], 0.0)], [])
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [([*tokens, token], total + float(row[token])) for (tokens, total), row in zip(live, rows, strict=True) for token in range(len(row))]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], np.exp(total) / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]

# %% answer="serve_beam" wrong="counts the start token"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = ([([start], 0.0)], [])
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [([*tokens, token], total + float(row[token])) for (tokens, total), row in zip(live, rows, strict=True) for token in range(len(row))]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], total / len(tokens) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]

# %% answer="serve_beam" wrong="drops what hasn't ended"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = ([([start], 0.0)], [])
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [([*tokens, token], total + float(row[token])) for (tokens, total), row in zip(live, rows, strict=True) for token in range(len(row))]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished]
    return sorted(scored, key=lambda each: -each[1])[:width]

# %% answer="serve_beam" wrong="every end among all candidates is finished"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = ([([start], 0.0)], [])
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [([*tokens, token], total + float(row[token])) for (tokens, total), row in zip(live, rows, strict=True) for token in range(len(row))]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]

# %% answer="serve_beam" wrong="the best continuation of each beam alone"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = ([([start], 0.0)], [])
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [([*tokens, token], total + float(row[token])) for (tokens, total), row in zip(live, rows, strict=True) for token in range(len(row))]
        longer = [max(longer[at:at + len(rows[0])], key=lambda each: each[1]) for at in range(0, len(longer), len(rows[0]))]
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]

# %% answer="serve_beam" wrong="multiplies by the penalty"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = ([([start], 0.0)], [])
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [([*tokens, token], total + float(row[token])) for (tokens, total), row in zip(live, rows, strict=True) for token in range(len(row))]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], total * (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]

# %% answer="serve_beam" wrong="starts with copies of the start token"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, finished = ([([start], 0.0)] * width, [])
    for _ in range(length):
        rows = logprobs(np.array([tokens for tokens, _ in live]))
        longer = [([*tokens, token], total + float(row[token])) for (tokens, total), row in zip(live, rows, strict=True) for token in range(len(row))]
        longer.sort(key=lambda each: -each[1])
        finished += [each for each in longer[:width] if each[0][-1] == eos]
        live = [each for each in longer if each[0][-1] != eos][:width]
    scored = [(tokens[1:], total / (len(tokens) - 1) ** alpha) for tokens, total in finished + live]
    return sorted(scored, key=lambda each: -each[1])[:width]

# %% answer="serve_allowed" right="reversed edges and a stack"
def advance(moves, state, text):
    for ch in text:
        state = moves.get(state, {}).get(ch)
        if state is None:
            return None
    return state


def masks(moves, accepting, tokens, end):
    to = {s: [None if i == end else advance(moves, s, t) for i, t in enumerate(tokens)] for s in moves}
    back = {}
    for s, row in to.items():
        for t in row:
            if t is not None:
                back.setdefault(t, set()).add(s)
    good, stack = set(), list(accepting)
    while stack:
        s = stack.pop()
        if s not in good:
            good.add(s)
            stack.extend(back.get(s, ()))
    out = {}
    for s, row in to.items():
        m = np.zeros(len(tokens), dtype=bool)
        for i, t in enumerate(row):
            m[i] = t in good
        m[end] = s in accepting
        out[s] = m
    return out


# %% answer="serve_allowed" right="recursion and a boolean matrix"
def advance(moves, state, text):
    if text == "":
        return state
    after = moves[state].get(text[0]) if state in moves else None
    return None if after is None else advance(moves, after, text[1:])


def masks(moves, accepting, tokens, end):
    states = sorted(moves)
    n = len(states)
    place = {s: i for i, s in enumerate(states)}
    reach = np.eye(n, dtype=bool)
    to = np.full((n, len(tokens)), -1)
    for s in states:
        for i, t in enumerate(tokens):
            after = None if i == end else advance(moves, s, t)
            if after is not None:
                to[place[s], i] = place[after]
                reach[place[s], place[after]] = True
    for _ in range(n):
        reach = reach @ reach
    ok = reach[:, [place[s] for s in accepting]].any(1)
    result = {}
    for s in states:
        row = to[place[s]]
        result[s] = (row >= 0) & ok[row]
        result[s][end] = s in accepting
    return result


# %% answer="serve_allowed" right="removes states until nothing changes"
def advance(moves, state, text):
    try:
        for c in text:
            state = moves[state][c]
    except KeyError:
        return None
    return state


def masks(moves, accepting, tokens, end):
    alive = set(moves)
    def useful(s, alive):
        seen, todo = {s}, [s]
        while todo:
            x = todo.pop()
            if x in accepting:
                return True
            for i, t in enumerate(tokens):
                y = advance(moves, x, t) if i != end else None
                if y is not None and y not in seen:
                    seen.add(y)
                    todo.append(y)
        return False
    alive = {s for s in alive if useful(s, alive)}
    return {s: np.array([(s in accepting) if i == end else advance(moves, s, t) in alive for i, t in enumerate(tokens)]) for s in moves}


# %% answer="serve_allowed" wrong="the last character decides"
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state

def masks(moves, accepting, tokens, end):
    leads = {state: {number: moves[state].get(text[-1]) for number, text in enumerate(tokens) if number != end} for state in moves}
    alive = set(accepting)
    while (grown := ({state for state in moves if alive & set(leads[state].values())} - alive)):
        alive |= grown
    return {state: np.array([state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]) for state in moves}

# %% answer="serve_allowed" wrong="a prefix of a token is enough"
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return state if state else None
        state = moves[state][character]
    return state

def masks(moves, accepting, tokens, end):
    leads = {state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end} for state in moves}
    alive = set(accepting)
    while (grown := ({state for state in moves if alive & set(leads[state].values())} - alive)):
        alive |= grown
    return {state: np.array([state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]) for state in moves}

# %% answer="serve_allowed" wrong="the end token is never allowed"
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state

def masks(moves, accepting, tokens, end):
    leads = {state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end} for state in moves}
    alive = set(accepting)
    while (grown := ({state for state in moves if alive & set(leads[state].values())} - alive)):
        alive |= grown
    return {state: np.array([number != end and leads[state][number] in alive for number in range(len(tokens))]) for state in moves}

# %% answer="serve_allowed" wrong="only tokens that complete a match"
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state

def masks(moves, accepting, tokens, end):
    leads = {state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end} for state in moves}
    alive = set(accepting)
    alive = alive | set()
    return {state: np.array([state in accepting if number == end else leads[state][number] in alive for number in range(len(tokens))]) for state in moves}

# %% answer="serve_allowed" wrong="ends where it could end after one more token"
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state

def masks(moves, accepting, tokens, end):
    leads = {state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end} for state in moves}
    alive = set(accepting)
    while (grown := ({state for state in moves if alive & set(leads[state].values())} - alive)):
        alive |= grown
    return {state: np.array([state in alive if number == end else leads[state][number] in alive for number in range(len(tokens))]) for state in moves}

# %% answer="serve_allowed" wrong="the end token is the last one"
def advance(moves, state, text):
    for character in text:
        if character not in moves.get(state, {}):
            return None
        state = moves[state][character]
    return state

def masks(moves, accepting, tokens, end):
    leads = {state: {number: advance(moves, state, text) for number, text in enumerate(tokens) if number != end} for state in moves}
    alive = set(accepting)
    while (grown := ({state for state in moves if alive & set(leads[state].values())} - alive)):
        alive |= grown
    return {state: np.array([state in accepting if number == len(tokens) - 1 else leads[state].get(number) in alive for number in range(len(tokens))]) for state in moves}


# %% answer="serve_allowed" wrong="looks two tokens ahead"
def advance(moves, state, text):
    for c in text:
        state = moves.get(state, {}).get(c)
        if state is None:
            return None
    return state


def masks(moves, accepting, tokens, end):
    leads = {s: [None if t == end else advance(moves, s, text) for t, text in enumerate(tokens)] for s in moves}
    alive = set(accepting)
    for _ in range(2):
        more = {s for s in moves if s not in alive and any(to in alive for to in leads[s])}
        if not more:
            break
        alive |= more
    return {s: np.array([to in alive if t != end else s in accepting for t, to in enumerate(leads[s])]) for s in moves}


# %% answer="serve_blocks" right="counts references by what is in the tables"
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables = {}
        self.lengths = {}

    def allocate(self, name, length):
        n = (length + self.size - 1) // self.size
        if len(self.free_list) < n:
            raise MemoryError(f"{n} blocks needed")
        table = self.free_list[:n]
        del self.free_list[:n]
        for b in table:
            self.references[b] = 1
        self.tables[name], self.lengths[name] = table, length

    def append(self, name):
        table = self.tables[name]
        if self.lengths[name] == len(table) * self.size:
            if not self.free_list:
                raise MemoryError("full")
            b = self.free_list.pop(0)
            self.references[b] += 1
            table.append(b)
            copied = None
        else:
            last = table[-1]
            copied = None
            if self.references[last] > 1:
                if not self.free_list:
                    raise MemoryError("full")
                b = self.free_list.pop(0)
                self.references[b] += 1
                self.references[last] -= 1
                table[-1] = b
                copied = (last, b)
        self.lengths[name] += 1
        return copied

    def fork(self, parent, child):
        self.tables[child] = self.tables[parent].copy()
        self.lengths[child] = self.lengths[parent]
        for b in self.tables[child]:
            self.references[b] += 1

    def free(self, name):
        for b in reversed(self.tables[name]):
            self.references[b] -= 1
            if not self.references[b]:
                self.free_list.append(b)
        del self.tables[name], self.lengths[name]


# %% answer="serve_blocks" right="divmod and early returns"
class Blocks:
    def __init__(self, count, size):
        self.size = size
        self.free_list = list(range(count))
        self.references = [0] * count
        self.tables = {}
        self.lengths = {}

    def _new(self):
        if not self.free_list:
            raise MemoryError
        block = self.free_list.pop()
        self.references[block] = 1
        return block

    def allocate(self, name, length):
        whole, rest = divmod(length, self.size)
        if whole + bool(rest) > len(self.free_list):
            raise MemoryError
        self.tables[name] = [self._new() for _ in range(whole + bool(rest))]
        self.lengths[name] = length

    def append(self, name):
        index, slot = divmod(self.lengths[name], self.size)
        if slot == 0:
            self.tables[name].append(self._new())
            self.lengths[name] += 1
            return
        block = self.tables[name][index]
        if self.references[block] == 1:
            self.lengths[name] += 1
            return
        self.tables[name][index] = self._new()
        self.references[block] -= 1
        self.lengths[name] += 1
        return block, self.tables[name][index]

    def fork(self, parent, child):
        self.lengths[child] = self.lengths[parent]
        self.tables[child] = [*self.tables[parent]]
        for block in self.tables[parent]:
            self.references[block] = self.references[block] + 1

    def free(self, name):
        blocks = self.tables.pop(name)
        self.lengths.pop(name)
        for block in blocks:
            self.references[block] -= 1
        self.free_list.extend(block for block in blocks if self.references[block] == 0)


# %% answer="serve_blocks" right="a property counts the blocks"
class Blocks:
    def __init__(self, count, size):
        self.size, self.free_list, self.references, self.tables, self.lengths = size, list(range(count)), [0] * count, {}, {}

    def allocate(self, name, length):
        need = sum(1 for _ in range(0, length, self.size))
        taken, rest = self.free_list[:need], self.free_list[need:]
        if len(taken) != need:
            raise MemoryError("no room")
        self.free_list = rest
        for each in taken:
            self.references[each] = 1
        self.tables[name] = taken
        self.lengths[name] = length

    def append(self, name):
        full = self.lengths[name] % self.size == 0
        shared = not full and self.references[self.tables[name][-1]] > 1
        if not full and not shared:
            self.lengths[name] += 1
            return None
        if len(self.free_list) == 0:
            raise MemoryError("no room")
        new, old = self.free_list.pop(), self.tables[name][-1] if self.tables[name] else None
        self.references[new] = 1
        self.lengths[name] += 1
        if full:
            self.tables[name] += [new]
            return None
        self.references[old] -= 1
        self.tables[name][-1] = new
        return (old, new)

    def fork(self, parent, child):
        for name, what in (("tables", list), ("lengths", int)):
            store = getattr(self, name)
            store[child] = what(store[parent])
        for each in self.tables[child]:
            self.references[each] += 1

    def free(self, name):
        for each in self.tables[name]:
            self.references[each] -= 1
            if self.references[each] < 1:
                self.free_list.insert(0, each)
        self.tables.pop(name), self.lengths.pop(name)


# %% answer="serve_blocks" wrong="copies whenever the last block has been shared once"
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
        is_shared = not is_full and self.references[table[-1]] >= 1
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

# %% answer="serve_blocks" wrong="fork counts the last block alone"
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
        self.references[self.tables[child][-1]] += 1

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)

# %% answer="serve_blocks" wrong="fork copies nothing and counts nothing"
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
        pass

    def free(self, name):
        del self.lengths[name]
        for block in self.tables.pop(name):
            self.references[block] -= 1
            if self.references[block] == 0:
                self.free_list.append(block)

# %% answer="serve_blocks" wrong="the pair is the wrong way round"
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
            return (table[-1], old)
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

# %% answer="serve_blocks" wrong="free leaves the blocks that were shared"
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
            if self.references[block] == 1:
                self.references[block] -= 1
                self.free_list.append(block)

# %% answer="serve_blocks" wrong="refuses one block too early"
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
        if needed >= len(self.free_list):
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

# %% answer="serve_blocks" wrong="rounds down"
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
        needed = max(1, length // self.size)
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

# %% answer="serve_pages" right="one batched computation with a mask"
def paged_attention(q, keys, values, tables, lengths):
    B, H, D = q.shape
    _, size, G, _ = keys.shape
    idx = tables.clamp(min=0)
    k = keys[idx].reshape(B, -1, G, D)
    v = values[idx].reshape(B, -1, G, D)
    dead = torch.arange(k.shape[1]) >= lengths.unsqueeze(1)
    k = k.masked_fill(dead[:, :, None, None], 0.0)
    v = v.masked_fill(dead[:, :, None, None], 0.0)
    qg = q.reshape(B, G, H // G, D)
    scores = torch.einsum("bghd,btgd->bght", qg, k) * D**-0.5
    scores = scores.masked_fill(dead[:, None, None, :], float("-inf"))
    out = torch.einsum("bght,btgd->bghd", scores.softmax(-1), v)
    return out.reshape(B, H, D)


# %% answer="serve_pages" right="token by token, in loops"
def paged_attention(q, keys, values, tables, lengths):
    B, H, D = q.shape
    size, G = keys.shape[1], keys.shape[2]
    out = torch.zeros(B, H, D)
    for b in range(B):
        for h in range(H):
            g = h // (H // G)
            k = torch.stack([keys[int(tables[b, t // size]), t % size, g] for t in range(int(lengths[b]))])
            v = torch.stack([values[int(tables[b, t // size]), t % size, g] for t in range(int(lengths[b]))])
            w = (k @ q[b, h] / D**0.5).softmax(0)
            out[b, h] = w @ v
    return out


# %% answer="serve_pages" right="page by page, with an online softmax"
def paged_attention(q, keys, values, tables, lengths):
    B, H, D = q.shape
    size, G = keys.shape[1], keys.shape[2]
    rows = []
    for b in range(B):
        most, total, acc = torch.full((H,), float("-inf")), torch.zeros(H), torch.zeros(H, D)
        n = int(lengths[b])
        for page in range((n + size - 1) // size):
            block, filled = int(tables[b, page]), min(size, n - page * size)
            k = keys[block, :filled].repeat_interleave(H // G, dim=1)
            v = values[block, :filled].repeat_interleave(H // G, dim=1)
            s = (q[b] * k).sum(-1) / D**0.5
            new = torch.maximum(most, s.amax(0))
            scale = (most - new).exp()
            p = (s - new).exp()
            total = total * scale + p.sum(0)
            acc = acc * scale[:, None] + (p[:, :, None] * v).sum(0)
            most = new
        rows.append(acc / total[:, None])
    return torch.stack(rows)


# %% answer="serve_pages" wrong="scales by the width of the model"
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[:-(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / (q.shape[-1] * q.shape[1]) ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)

# %% answer="serve_pages" wrong="the pages in reverse"
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[:-(-length // size)].flip(0)
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)

# %% answer="serve_pages" wrong="uses the longest length for all"
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[:-(-length // size)]
        k, v = (pool[table].flatten(0, 1)[:int(lengths.max())].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)

# %% answer="serve_pages" wrong="one page too few when the last is full"
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[:max(1, (length - 1) // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)

# %% answer="serve_pages" wrong="the values are the keys"
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[:-(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, keys))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)

# %% answer="serve_pages" wrong="stale keys as zeros still get weight"
def paged_attention(q, keys, values, tables, lengths):
    size, group = (keys.shape[1], q.shape[1] // keys.shape[2])
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[:-(-length // size)]
        k, v = (pool[blocks].flatten(0, 1).nan_to_num(0.0).repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% answer="serve_pages" wrong="clamps the caller's page table"
def paged_attention(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, tables: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """What each sequence's query finds: (B, H, D).

    `q` is (B, H, D); `keys` and `values` are (blocks, size, G, D), where H is a multiple of G; `tables` is (B, P) and `lengths` (B,),
    both int64. Each length is at least 1.
    """
    size, group = keys.shape[1], q.shape[1] // keys.shape[2]
    tables.clamp_(min=0)
    rows = []
    for query, table, length in zip(q, tables, lengths.tolist(), strict=True):
        blocks = table[: -(-length // size)]
        k, v = (pool[blocks].flatten(0, 1)[:length].repeat_interleave(group, 1) for pool in (keys, values))
        weights = ((query * k).sum(-1) / q.shape[-1] ** 0.5).softmax(0)
        rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


# %% answer="serve_pages" right="one block more, cut off"
def paged_attention(q, keys, values, tables, lengths):
    B, H, D = q.shape
    size, G = keys.shape[1:3]
    out = []
    for b in range(B):
        n = int(lengths[b])
        blocks = tables[b, : n // size + 1]
        k = keys[blocks].flatten(0, 1)[:n].repeat_interleave(H // G, 1)
        v = values[blocks].flatten(0, 1)[:n].repeat_interleave(H // G, 1)
        p = ((q[b] * k).sum(-1) / D**0.5).softmax(0)
        out.append((p[..., None] * v).sum(0))
    return torch.stack(out)


# %% answer="serve_prefix" right="keys by accumulate"
from itertools import accumulate


class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries, self.used, self.users = {}, {}, {}

    def keys(self, tokens, salt=""):
        n = len(tokens) // self.size
        parts = [tuple(tokens[i * self.size:(i + 1) * self.size]) for i in range(n)]
        return list(accumulate(parts, lambda parent, part: (parent, part), initial=(salt,)))[1:]

    def match(self, prompt, salt=""):
        self.time += 1
        most = max(0, (len(prompt) - 1) // self.size)
        found = []
        for key in self.keys(prompt, salt)[:most]:
            block = self.entries.get(key)
            if block is None:
                return found
            found.append(block)
            self.used[key] = self.time
            self.users[key] = self.users[key] + 1
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for i, key in enumerate(self.keys(tokens, salt)):
            if i >= len(blocks):
                break
            if key not in self.entries:
                self.entries[key] = blocks[i]
                self.users[key] = 0
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for i, key in enumerate(self.keys(prompt, salt)):
            if i < count:
                self.users[key] -= 1

    def evict(self, count):
        out = []
        for _ in range(count):
            has_child = set(key[0] for key in self.entries)
            free = sorted((self.used[k], self.entries[k], i, k) for i, k in enumerate(self.entries) if k not in has_child and self.users[k] == 0)
            if not free:
                return out
            key = free[0][3]
            out.append(self.entries[key])
            for store in (self.entries, self.used, self.users):
                store.pop(key)
        return out


# %% answer="serve_prefix" right="a loop over positions, children counted"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries, self.used, self.users = {}, {}, {}

    def keys(self, tokens, salt=""):
        out = []
        i = 0
        last = (salt,)
        while i + self.size <= len(tokens):
            last = (last, tuple(tokens[i : i + self.size]))
            out.append(last)
            i += self.size
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for depth, key in enumerate(self.keys(prompt, salt), 1):
            if key not in self.entries or depth * self.size >= len(prompt):
                break
            self.used[key] = self.time
            self.users[key] += 1
            blocks.append(self.entries[key])
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key in self.entries:
                self.used[key] = self.time
                continue
            self.entries[key], self.used[key], self.users[key] = block, self.time, 0

    def release(self, prompt, count, salt=""):
        keys = self.keys(prompt, salt)
        for depth in range(count):
            self.users[keys[depth]] -= 1

    def evict(self, count):
        children = Counter(key[0] for key in self.entries)
        gone = []
        while len(gone) < count:
            can = [k for k in self.entries if children[k] == 0 and self.users[k] == 0]
            if not can:
                break
            k = min(can, key=lambda k: (self.used[k], self.entries[k]))
            children[k[0]] -= 1
            gone.append(self.entries.pop(k))
            self.used.pop(k)
            self.users.pop(k)
        return gone


# %% answer="serve_prefix" wrong="hashes all tokens up to the block, but not the salt after the first"
class Prefixes:

    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=''):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = ((salt,) if start == 0 else (tuple(tokens[:start]),), tuple(tokens[start:start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=''):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=''):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=''):
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

# %% answer="serve_prefix" wrong="a match needs the whole prompt"
class Prefixes:

    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=''):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start:start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=''):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                return []
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=''):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=''):
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

# %% answer="serve_prefix" right="looks on behind a missing block, where there can be none"
class Prefixes:

    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=''):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start:start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=''):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                continue
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=''):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=''):
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

# %% answer="serve_prefix" wrong="evicts the most recently used"
class Prefixes:

    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=''):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start:start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=''):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=''):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=''):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {parent for parent, _ in self.entries}
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = max(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone

# %% answer="serve_prefix" wrong="evicts leaves only, never their parents"
class Prefixes:

    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=''):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start:start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=''):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=''):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=''):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        parents = {parent for parent, _ in self.entries}
        while len(gone) < count:
            leaves = [key for key in self.entries if key not in parents and (not self.users[key])]
            if not leaves:
                break
            oldest = min(leaves, key=lambda key: (self.used[key], self.entries[key]))
            gone.append(self.entries.pop(oldest))
            del self.used[oldest], self.users[oldest]
        return gone

# %% answer="serve_prefix" wrong="inserting makes a user"
class Prefixes:

    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=''):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start:start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=''):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=''):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 1)
            self.used[key] = self.time

    def release(self, prompt, count, salt=''):
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

# %% answer="serve_prefix" wrong="releases all blocks of the prompt"
class Prefixes:

    def __init__(self, size):
        self.size, self.time = (size, 0)
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=''):
        found, parent = ([], (salt,))
        for start in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[start:start + self.size]))
            found.append(parent)
        return found

    def match(self, prompt, salt=''):
        self.time += 1
        blocks = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=''):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks, strict=False):
            self.entries.setdefault(key, block)
            self.users.setdefault(key, 0)
            self.used[key] = self.time

    def release(self, prompt, count, salt=''):
        for key in self.keys(prompt, salt):
            if key in self.users:
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


# %% answer="serve_prefix" wrong="the time of a known key stays"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries, self.used, self.users = {}, {}, {}

    def keys(self, tokens, salt=""):
        out, parent = [], (salt,)
        for at in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[at : at + self.size]))
            out.append(parent)
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        found = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            found.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
                self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        for _ in range(count):
            parents = {parent for parent, _ in self.entries}
            able = [k for k in self.entries if k not in parents and self.users[k] == 0]
            if not able:
                break
            key = min(able, key=lambda k: (self.used[k], self.entries[k]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_prefix" wrong="each block of a match has a time of its own"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries, self.used, self.users = {}, {}, {}

    def keys(self, tokens, salt=""):
        out, parent = [], (salt,)
        for at in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[at : at + self.size]))
            out.append(parent)
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        found = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            found.append(self.entries[key])
            self.used[key] = self.time
            self.time += 1
            self.users[key] += 1
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        for _ in range(count):
            parents = {parent for parent, _ in self.entries}
            able = [k for k in self.entries if k not in parents and self.users[k] == 0]
            if not able:
                break
            key = min(able, key=lambda k: (self.used[k], self.entries[k]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_prefix" wrong="each block of an insertion has a time of its own"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries, self.used, self.users = {}, {}, {}

    def keys(self, tokens, salt=""):
        out, parent = [], (salt,)
        for at in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[at : at + self.size]))
            out.append(parent)
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        found = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            found.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
            self.used[key] = self.time
            self.time += 1

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        for _ in range(count):
            parents = {parent for parent, _ in self.entries}
            able = [k for k in self.entries if k not in parents and self.users[k] == 0]
            if not able:
                break
            key = min(able, key=lambda k: (self.used[k], self.entries[k]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_prefix" wrong="a release is a use"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries, self.used, self.users = {}, {}, {}

    def keys(self, tokens, salt=""):
        out, parent = [], (salt,)
        for at in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[at : at + self.size]))
            out.append(parent)
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        found = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            found.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1
            self.used[key] = self.time + 1

    def evict(self, count):
        gone = []
        for _ in range(count):
            parents = {parent for parent, _ in self.entries}
            able = [k for k in self.entries if k not in parents and self.users[k] == 0]
            if not able:
                break
            key = min(able, key=lambda k: (self.used[k], self.entries[k]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_prefix" wrong="a prompt that is known entirely holds its last block"
class Prefixes:
    def __init__(self, size: int) -> None:
        self.size, self.time = size, 0
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        parent, result = salt, []
        for i in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[i : i + self.size]))
            result.append(parent)
        return result

    def match(self, prompt, salt=""):
        self.time += 1
        found = []
        for key in self.keys(prompt, salt):
            if key not in self.entries:
                break
            self.used[key] = self.time
            self.users[key] += 1
            found.append(self.entries[key])
        if found and len(found) * self.size == len(prompt):
            found.pop()
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {key[0] for key in self.entries}
            free = [key for key in self.entries if self.users[key] == 0 and key not in parents]
            if not free:
                break
            key = min(free, key=lambda each: (self.used[each], self.entries[each]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_prefix" wrong="inserting a known block lets all users go"
class Prefixes:
    def __init__(self, size: int) -> None:
        self.size, self.time = size, 0
        self.entries: dict[tuple, int] = {}
        self.used: dict[tuple, int] = {}
        self.users: dict[tuple, int] = {}

    def keys(self, tokens, salt=""):
        parent, result = salt, []
        for i in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[i : i + self.size]))
            result.append(parent)
        return result

    def match(self, prompt, salt=""):
        self.time += 1
        found = []
        for key in self.keys(prompt[: max(len(prompt) - 1, 0)], salt):
            if key not in self.entries:
                break
            self.used[key] = self.time
            self.users[key] += 1
            found.append(self.entries[key])
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            self.entries.setdefault(key, block)
            self.used[key] = self.time
            self.users[key] = 0

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {key[0] for key in self.entries}
            free = [key for key in self.entries if self.users[key] <= 0 and key not in parents]
            if not free:
                break
            key = min(free, key=lambda each: (self.used[each], self.entries[each]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_prefix" right="the salt itself as the first parent"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries, self.used, self.users = {}, {}, {}

    def keys(self, tokens, salt=""):
        out, parent = [], salt
        for at in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[at : at + self.size]))
            out.append(parent)
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        found = []
        for key in self.keys(prompt[:-1], salt):
            if key not in self.entries:
                break
            found.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return found

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        for _ in range(count):
            parents = {parent for parent, _ in self.entries}
            able = [k for k in self.entries if k not in parents and self.users[k] == 0]
            if not able:
                break
            key = min(able, key=lambda k: (self.used[k], self.entries[k]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_schedule" right="two lists and helper sums"
def plan(waiting, running, budget, free, size):
    def held(n):
        return (n + size - 1) // size

    step = {}
    kicked = False
    order = [r for r in running if r.pending == 1] + [r for r in running if r.pending != 1]
    for r in order:
        if not any(r is x for x in running):
            continue
        if budget == 0:
            break
        n = 0
        while True:
            n = min(r.pending, budget, (held(r.cached) + free) * size - r.cached)
            if n > 0:
                break
            v = running[-1]
            del running[-1]
            kicked = True
            got = step.pop(v.name) if v.name in step else 0
            budget += got
            free += held(v.cached + got)
            v.cached = 0
            waiting.insert(0, v)
            if v is r:
                break
        if n > 0:
            free -= held(r.cached + n) - held(r.cached)
            budget -= n
            step[r.name] = n
    if kicked:
        return step
    while waiting:
        r = waiting[0]
        n = min(r.pending, budget, (held(r.cached) + free) * size - r.cached)
        if n <= 0:
            return step
        del waiting[0]
        running.append(r)
        free -= held(r.cached + n) - held(r.cached)
        budget -= n
        step[r.name] = n
    return step


# %% answer="serve_schedule" right="free slots instead of rooms"
def plan(waiting, running, budget, free, size):
    step = {}
    need = lambda tokens: math.ceil(tokens / size)
    evicted = []

    def fits(r):
        n = min(r.pending, budget)
        while n > 0 and need(r.cached + n) - need(r.cached) > free:
            n -= 1
        return n

    for decode in (True, False):
        for r in list(running):
            if (r.pending == 1) is not decode or r in evicted or r.name in step:
                continue
            while budget and not fits(r) and r in running:
                v = running.pop()
                evicted.append(v)
                n = step.pop(v.name, 0)
                budget, free = budget + n, free + need(v.cached + n)
                v.cached = 0
                waiting[:0] = [v]
            if r in running and fits(r):
                step[r.name] = n = fits(r)
                free -= need(r.cached + n) - need(r.cached)
                budget -= n
    while waiting and not evicted and fits(waiting[0]):
        r = waiting.pop(0)
        running.append(r)
        step[r.name] = n = fits(r)
        free -= need(r.cached + n) - need(r.cached)
        budget -= n
    return step


# %% answer="serve_schedule" wrong="a block for every token"
def plan(waiting, running, budget, free, size):
    step, preempted = ({}, False)

    def blocks(tokens):
        return -(-tokens // size)

    def give(request, tokens):
        nonlocal budget, free
        budget -= tokens
        free -= blocks(tokens)
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

# %% answer="serve_schedule" wrong="ignores the blocks"
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
        return min(request.pending, budget)
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

# %% answer="serve_schedule" wrong="preempts the largest"
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
            victim, preempted = (max(running, key=lambda each: each.cached), True)
            running.remove(victim)
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

# %% answer="serve_schedule" wrong="admits one request a step"
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
    if waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step

# %% answer="serve_schedule" wrong="the shortest prompt first"
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
    waiting.sort(key=lambda each: each.pending)
    while waiting and (not preempted) and most(waiting[0]):
        running.append(waiting.pop(0))
        give(running[-1], most(running[-1]))
    return step

# %% answer="serve_schedule" wrong="leaves the victim among the running"
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
            victim, preempted = (running[-1], True)
            running[:] = [each for each in running if each is not victim or each is request]
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

# %% answer="serve_schedule" wrong="the newest decodes first"
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
    for request in sorted(reversed(running), key=lambda each: each.pending > 1):
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


# %% answer="serve_schedule" wrong="preempts when there is no budget, too"
def plan(waiting, running, budget, free, size):
    blocks = lambda tokens: -(-tokens // size)
    got, preempted = {}, False

    def give(r):
        nonlocal budget, free
        room = (blocks(r.cached) + free) * size - r.cached
        n = min(r.pending, budget, room)
        if n > 0:
            got[r.name] = n
            budget -= n
            free -= blocks(r.cached + n) - blocks(r.cached)
        return n

    gone = set()
    for r in sorted(running, key=lambda each: each.pending > 1):
        while r.name not in gone and (blocks(r.cached) + free) * size - r.cached <= 0:
            v = running.pop()
            n = got.pop(v.name, 0)
            budget += n
            free += blocks(v.cached + n)
            v.cached = 0
            gone.add(v.name)
            waiting.insert(0, v)
        if r.name not in gone and budget > 0:
            give(r)
    while not gone and waiting and give(waiting[0]) > 0:
        running.append(waiting.pop(0))
    return got


# %% answer="serve_schedule" right="asks every waiting request, which get nothing after the first that doesn't"
def plan(waiting, running, budget, free, size):
    blocks = lambda tokens: -(-tokens // size)
    got, preempted = {}, False

    def give(r):
        nonlocal budget, free
        room = (blocks(r.cached) + free) * size - r.cached
        n = min(r.pending, budget, room)
        if n > 0:
            got[r.name] = n
            budget -= n
            free -= blocks(r.cached + n) - blocks(r.cached)
        return n

    gone = set()
    for r in sorted(running, key=lambda each: each.pending > 1):
        while r.name not in gone and budget > 0 and (blocks(r.cached) + free) * size - r.cached <= 0:
            v = running.pop()
            n = got.pop(v.name, 0)
            budget += n
            free += blocks(v.cached + n)
            v.cached = 0
            gone.add(v.name)
            waiting.insert(0, v)
        if r.name not in gone and budget > 0:
            give(r)
    if not gone:
        for r in list(waiting):
            if give(r) > 0:
                waiting.remove(r)
                running.append(r)
    return got


# %% answer="serve_chunk" right="doubling, then bisection"
def largest_chunk(step_time, prompt, decodes, limit):
    if step_time(prompt + decodes, prompt) <= limit:
        return prompt
    good, bad = 0, prompt
    while bad - good > 1:
        mid = (good + bad) // 2
        if step_time(decodes + mid, prompt) > limit:
            bad = mid
        else:
            good = mid
    return good


def time_to_first_token(step_time, prompt, decodes, chunk):
    done, total = 0, 0
    while done < prompt:
        n = min(chunk, prompt - done)
        done += n
        total += step_time(n + decodes, done)
    return total


# %% answer="serve_chunk" right="the bisect module"
from bisect import bisect_right


def largest_chunk(step_time, prompt, decodes, limit):
    return bisect_right(range(1, prompt + 1), limit, key=lambda n: step_time(n + decodes, prompt))


def time_to_first_token(step_time, prompt, decodes, chunk):
    whole, rest = divmod(prompt, chunk)
    times = [step_time(chunk + decodes, (i + 1) * chunk) for i in range(whole)]
    return sum(times) + (step_time(rest + decodes, prompt) if rest else 0)


# %% answer="serve_chunk" right="recursion"
def largest_chunk(step_time, prompt, decodes, limit):
    def search(lo, hi):
        if lo == hi:
            return lo
        mid = lo + (hi - lo + 1) // 2
        return search(mid, hi) if step_time(mid + decodes, prompt) <= limit else search(lo, mid - 1)
    return search(0, prompt)


def time_to_first_token(step_time, prompt, decodes, chunk):
    ends = [*range(chunk, prompt, chunk), prompt]
    return sum(step_time(b - a + decodes, b) for a, b in zip([0] + ends, ends))


# %% answer="serve_chunk" wrong="strictly below the limit, off by one"
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle + decodes, prompt) <= limit:
            low = middle
        else:
            high = middle - 1
    return max(low - 1, 0)

def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, end)
    return total

# %% answer="serve_chunk" wrong="at least one token, even if it is too slow"
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (1, prompt)
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
        total += step_time(end - start + decodes, end)
    return total

# %% answer="serve_chunk" wrong="the smallest that is too slow"
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if step_time(middle + decodes, prompt) <= limit:
            low = middle
        else:
            high = middle - 1
    return min(low + 1, prompt)

def time_to_first_token(step_time, prompt, decodes, chunk):
    total = 0.0
    for start in range(0, prompt, chunk):
        end = min(start + chunk, prompt)
        total += step_time(end - start + decodes, end)
    return total

# %% answer="serve_chunk" wrong="never the whole prompt"
def largest_chunk(step_time, prompt, decodes, limit):
    low, high = (0, max(prompt - 1, 0))
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
        total += step_time(end - start + decodes, end)
    return total

# %% answer="serve_chunk" wrong="the time of one chunk for all"
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
    return -(-prompt // chunk) * step_time(chunk + decodes, prompt)

# %% answer="serve_chunk" wrong="decodes only in the last step"
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
        total += step_time(end - start + (decodes if end == prompt else 0), end)
    return total

# %% answer="serve_repair_speculative" right="collects the accepted ones first"
def speculate(target, draft, text, count, temperature, draw, coin):
    start = len(text)
    out, q = list(text), []
    for _ in range(count):
        share = softmax(draft.run([out[-1]])[0] / temperature)
        q.append(share)
        out.append(draw(share))
    draft.run(out[-1:])
    p = softmax(target.run(out[start - 1 :]) / temperature)
    kept = 0
    while kept < count and coin(min(1.0, float(p[kept][out[start + kept]] / q[kept][out[start + kept]]))):
        kept += 1
    out = out[: start + kept]
    if kept < count:
        rest = (p[kept] - q[kept]).clip(0)
        out.append(draw(rest / rest.sum()))
    else:
        out.append(draw(p[count]))
    target.cache = target.cache[: len(out) - 1]
    draft.cache = draft.cache[: len(out) - 1]
    return out


# %% answer="serve_repair_speculative" right="reads the drafts one by one"
def speculate(target, draft, text, count, temperature, draw, coin):
    text = list(text)
    n = len(text)
    drafted, q = [], []
    token = text[-1]
    for _ in range(count):
        q.append(softmax(draft.run([token])[-1] / temperature))
        token = draw(q[-1])
        drafted.append(token)
    draft.run([token])
    p = [softmax(target.run([each])[0] / temperature) for each in [text[-1]] + drafted]
    for i in range(count):
        t = drafted[i]
        if p[i][t] < q[i][t] and not coin(p[i][t] / q[i][t]):
            more = np.where(p[i] > q[i], p[i] - q[i], 0)
            text += [draw(more / more.sum())]
            break
        text += [t]
    if text[n:] == drafted:
        text += [draw(p[count])]
    target.cache, draft.cache = text[:-1], text[:-1]
    return text


# %% answer="serve_repair_speculative" wrong="the residual isn't normalized"
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
            text.append(draw(rest))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1:]
    return text

# %% answer="serve_repair_speculative" wrong="the residual is |p - q|"
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
            rest = np.abs(p[place] - q[place])
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1:]
    return text

# %% answer="serve_repair_speculative" wrong="goes on after a rejection"
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
            continue
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1:]
    return text

# %% answer="serve_repair_speculative" wrong="the free token is drawn from the draft"
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
        text.append(draw(q[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1:]
    return text

# %% answer="serve_repair_speculative" wrong="one place too early"
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
        if not coin(min(1.0, p[place - 1, token] / q[place][token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1:]
    return text

# %% answer="serve_repair_speculative" wrong="q over p"
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
        if not coin(min(1.0, q[place][token] / p[place, token])):
            rest = np.maximum(p[place] - q[place], 0)
            text.append(draw(rest / rest.sum()))
            break
        text.append(token)
    else:
        text.append(draw(p[-1]))
    for model in (target, draft):
        del model.cache[len(text) - 1:]
    return text

# %% answer="serve_repair_speculative" wrong="cuts one token too much"
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
    for model in (target, draft):
        del model.cache[len(text) - 2:]
    return text

# %% answer="serve_design" right="the smallest batch that Little's law allows"
def design(case):
    o = case["options"]
    best = None
    for tp in o["tp"]:
        prefill = 4 * case["parameters"] * case["prompt"] / (tp * case["flops"])
        if prefill > case["ttft"]:
            continue
        for n in o["replicas"]:
            share = 1 - case["rate"] / n * prefill
            if share <= 0 or (best and tp * n >= best[0]):
                continue
            for bits in o["kv_bits"]:
                per = case["layers"] * case["kv_heads"] * case["width"] * bits / 4 * (case["prompt"] + case["output"])
                for b in o["max_batch"]:
                    total = 2 * case["parameters"] + b * per
                    tpot = total / tp / case["bandwidth"] / share
                    stay = prefill + case["output"] * tpot
                    if total <= tp * case["memory"] * 0.9 and tpot <= case["tpot"] and case["rate"] / n * stay <= b:
                        if best is None or tp * n < best[0]:
                            best = (tp * n, tp, n, bits, b)
    return dict(zip(("tp", "replicas", "kv_bits", "max_batch"), best[1:]))


# %% answer="serve_design" right="NumPy over the whole grid"
def design(case):
    names = list(case["options"])
    grid = np.array([*product(*case["options"].values())], dtype=float)
    tp, replicas, bits, batch = (grid[:, names.index(n)] for n in ("tp", "replicas", "kv_bits", "max_batch"))
    bytes_ = 2 * case["parameters"] + batch * (case["prompt"] + case["output"]) * case["layers"] * case["kv_heads"] * case["width"] * bits / 4
    prefill = 2 * case["parameters"] * case["prompt"] / (tp * case["flops"] / 2)
    rate = case["rate"] / replicas
    share = 1 - rate * prefill
    tpot = bytes_ / (tp * case["bandwidth"]) / np.where(share > 0, share, 1e-12)
    ok = (bytes_ <= 0.9 * tp * case["memory"]) & (prefill <= case["ttft"]) & (tpot <= case["tpot"])
    ok &= rate * (prefill + case["output"] * tpot) <= batch
    cost = np.where(ok, tp * replicas, np.inf)
    return {n: int(v) for n, v in zip(names, grid[cost.argmin()])}


# %% answer="serve_design" wrong="always the largest replica"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = 2 * case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits / 8
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / (tp * case['bandwidth']) / share
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        if tp == 8 and tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_design" wrong="forgets that prefills stop the decoding"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = 2 * case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits / 8
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / (tp * case['bandwidth'])
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_design" wrong="each GPU reads all weights"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = 2 * case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits / 8
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / case['bandwidth'] / share
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_design" wrong="weights of one byte"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits / 8
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / (tp * case['bandwidth']) / share
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_design" wrong="the most expensive one that works"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = 2 * case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits / 8
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / (tp * case['bandwidth']) / share
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost or gpu_cost < tp * replicas:
            gpu_cost = tp * replicas
            best = {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_design" wrong="the first design that keeps all limits"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = 2 * case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits / 8
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / (tp * case['bandwidth']) / share
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        return {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_design" wrong="after each design, counts the GPUs of a replica alone"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = 2 * case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits / 8
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / (tp * case['bandwidth']) / share
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp
            best = {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_design" wrong="bits for bytes"
def design(case):
    gpu_cost, best = (math.inf, {})
    tokens = case['prompt'] + case['output']
    weights = 2 * case['parameters']
    names = ('tp', 'replicas', 'kv_bits', 'max_batch')
    for tp, replicas, bits, batch in product(*(case['options'][name] for name in names)):
        caches = batch * tokens * 2 * case['layers'] * case['kv_heads'] * case['width'] * bits
        prefill = 2 * case['parameters'] * case['prompt'] / (0.5 * tp * case['flops'])
        rate = case['rate'] / replicas
        share = 1 - rate * prefill
        if share <= 0 or weights + caches > 0.9 * tp * case['memory'] or prefill > case['ttft']:
            continue
        per_token = (weights + caches) / (tp * case['bandwidth']) / share
        if per_token > case['tpot'] or rate * (prefill + case['output'] * per_token) > batch:
            continue
        if tp * replicas < gpu_cost:
            gpu_cost = tp * replicas
            best = {'tp': tp, 'replicas': replicas, 'kv_bits': bits, 'max_batch': batch}
    return best

# %% answer="serve_ridge" right="from the two times"
def ridge(flops, bandwidth, weight_bytes):
    compute_per_token = 2 / flops
    read_once = weight_bytes / bandwidth
    return read_once / compute_per_token


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    slope = 2 * parameters / flops - cache / bandwidth
    if slope <= 1e-15 * parameters / flops:
        return float("inf")
    return parameters * weight_bytes / bandwidth / slope


def speedup(rate, drafts, cost, batch, ridge):
    tokens, alive = 0.0, 1.0
    for _ in range(drafts + 1):
        tokens += alive
        alive *= rate
    before = max(batch, ridge) / ridge
    after = max(batch * (drafts + 1), ridge) / ridge + drafts * cost
    return tokens / (after / before)


def best_drafts(rate, cost, batch, ridge):
    gains = [speedup(rate, k, cost, batch, ridge) for k in range(17)]
    return gains.index(max(gains))


# %% answer="serve_ridge" right="the closed form of the sum"
def ridge(flops, bandwidth, weight_bytes):
    return (flops / bandwidth) * weight_bytes / 2


def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    intensity = flops / bandwidth
    if cache * intensity >= 2 * parameters:
        return np.inf
    return intensity * parameters * weight_bytes / (2 * parameters - cache * intensity)


def speedup(rate, drafts, cost, batch, ridge):
    tokens = drafts + 1 if rate == 1 else (1 - rate ** (drafts + 1)) / (1 - rate)
    return tokens * max(1, batch / ridge) / (max(1, batch * (drafts + 1) / ridge) + cost * drafts)


def best_drafts(rate, cost, batch, ridge):
    best = 0
    for k in range(1, 17):
        if speedup(rate, k, cost, batch, ridge) > speedup(rate, best, cost, batch, ridge) * (1 + 1e-12):
            best = k
    return best


# %% answer="serve_ridge" wrong="the largest number among equals"
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)

def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf

def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum((rate ** count for count in range(drafts + 1)))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)

def best_drafts(rate, cost, batch, ridge):
    return max(range(16, -1, -1), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))

# %% answer="serve_ridge" wrong="the draft's time is divided as well"
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)

def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf

def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum((rate ** count for count in range(drafts + 1)))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify * (1 + drafts * cost))

def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))

# %% answer="serve_ridge" wrong="one token of each sequence less in the verification"
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)

def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf

def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum((rate ** count for count in range(drafts + 1)))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts))
    return tokens * plain / (verify + drafts * cost)

def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))

# %% answer="serve_ridge" wrong="compares with a step of one sequence"
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)

def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf

def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum((rate ** count for count in range(drafts + 1)))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens / (verify + drafts * cost)

def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))

# %% answer="serve_ridge" wrong="bits for bytes"
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (16 * bandwidth)

def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf

def speedup(rate, drafts, cost, batch, ridge):
    tokens = sum((rate ** count for count in range(drafts + 1)))
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)

def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))

# %% answer="serve_ridge" wrong="fails for rate 1"
def ridge(flops, bandwidth, weight_bytes):
    return flops * weight_bytes / (2 * bandwidth)

def balanced_batch(flops, bandwidth, parameters, weight_bytes, cache):
    more = 2 * parameters * bandwidth / flops - cache
    return parameters * weight_bytes / more if more > 0 else math.inf

def speedup(rate, drafts, cost, batch, ridge):
    tokens = (1 - rate ** (drafts + 1)) / (1 - rate + 0.001)
    plain, verify = (max(1.0, batch * each / ridge) for each in (1, drafts + 1))
    return tokens * plain / (verify + drafts * cost)

def best_drafts(rate, cost, batch, ridge):
    return max(range(17), key=lambda drafts: speedup(rate, drafts, cost, batch, ridge))

# %% answer="serve_timed_decode" right="the prompt token by token, in buffers of the final size, and the last token projected as well"
def generate(embed, project, head, prompt, count):
    keys = values = None
    tokens = list(prompt)
    for position in range(len(prompt) + count):
        q, k, v = project(embed([tokens[position]], position))
        if keys is None:
            keys, values = (np.zeros((len(prompt) + count, each.shape[1])) for each in (k, v))
        keys[position], values[position] = k[0], v[0]
        if position >= len(prompt) - 1 and len(tokens) < len(prompt) + count:
            scores = keys[: position + 1] @ q[0] / q.shape[1] ** 0.5
            weights = np.exp(scores - scores.max())
            tokens.append(int(head((weights / weights.sum()) @ values[: position + 1]).argmax()))
    return tokens[len(prompt):]

# %% answer="serve_timed_decode" right="an online softmax over a list of keys and values"
def generate(embed, project, head, prompt, count):
    cache, written, new = [], [], list(prompt)
    for _ in range(count):
        q, k, v = project(embed(new, len(cache)))
        cache += zip(k, v)
        top, total, mixed = -np.inf, 0.0, 0.0
        for key, value in cache:
            score = key @ q[-1] / len(key) ** 0.5
            higher = max(top, score)
            total = total * np.exp(top - higher) + np.exp(score - higher)
            mixed = mixed * np.exp(top - higher) + np.exp(score - higher) * value
            top = higher
        new = [int(np.argmax(head(mixed / total)))]
        written += new
    return written

# %% answer="serve_timed_decode" wrong="prefills twice: once for the first token, once for the cache"
def generate(embed, project, head, prompt, count):
    def step(q, keys, values):
        weights = np.exp((scores := keys @ q[-1] / q.shape[-1] ** 0.5) - scores.max())
        return int(np.argmax(head(weights @ values / weights.sum())))

    written = [step(*project(embed(prompt, 0)))]
    _, keys, values = project(embed(prompt, 0))
    while len(written) < count:
        q, k, v = project(embed(written[-1:], len(keys)))
        keys, values = np.concatenate([keys, k]), np.concatenate([values, v])
        written.append(step(q, keys, values))
    return written

# %% answer="serve_timed_decode" wrong="projects the whole text each time, as a batch of one"
def generate(embed, project, head, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        q, keys, values = (each[0] for each in project(embed(tokens, 0)[None]))
        weights = np.exp((scores := keys @ q[-1] / math.sqrt(q.shape[-1])) - scores.max())
        tokens.append(int(np.argmax(head(weights @ values / weights.sum()))))
    return tokens[len(prompt):]

# %% answer="serve_timed_decode" right="a class that holds the cache, and rows as lists"
class Cache:
    def __init__(self, project):
        self.project, self.keys, self.values = project, [], []

    def __call__(self, x):
        for row in np.atleast_2d(x):
            q, k, v = self.project(row[None, :])
            self.keys.append(k[0].tolist())
            self.values.append(v[0].tolist())
        scores = np.array([np.dot(key, q[0]) for key in self.keys]) / math.sqrt(len(q[0]))
        weights = np.exp(scores - np.max(scores))
        return np.average(self.values, axis=0, weights=weights)


def generate(embed, project, head, prompt, count):
    cache, written, new = Cache(project), [], prompt
    while len(written) < count:
        out = cache(embed(new, len(cache.keys)))
        new = [int(np.argmax(head(out)))]
        written = [*written, *new]
    return written

# %% answer="serve_timed_decode" wrong="appends to the caller's prompt"
def generate(embed, project, head, prompt, count):
    q, keys, values = project(embed(prompt, 0))
    first = len(prompt)
    while True:
        weights = np.exp((scores := keys @ q[-1] / q.shape[-1] ** 0.5) - scores.max())
        prompt.append(int(np.argmax(head(weights @ values / weights.sum()))))
        if len(prompt) == first + count:
            return prompt[first:]
        q, k, v = project(embed(prompt[-1:], len(keys)))
        keys, values = np.concatenate([keys, k]), np.concatenate([values, v])

# %% answer="serve_timed_decode" wrong="without the scale"
def generate(embed, project, head, prompt, count):
    written = []
    q, keys, values = project(embed(prompt, 0))
    while True:
        weights = np.exp((scores := keys @ q[-1]) - scores.max())
        written.append(int(np.argmax(head(weights @ values / weights.sum()))))
        if len(written) == count:
            return written
        q, k, v = project(embed(written[-1:], len(keys)))
        keys, values = np.concatenate([keys, k]), np.concatenate([values, v])


# %% answer="serve_beam" wrong="adds the sums to the array that the model returned, which may be its own table"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    prefixes, sums, finished = np.array([[start]]), np.zeros(1), []
    for n in range(1, length + 1):
        scores = logprobs(prefixes)
        scores += sums[:, None]
        order = np.argsort(-scores, axis=None, kind="stable")
        rows, tokens = np.unravel_index(order, scores.shape)
        for row, token in zip(rows[:width], tokens[:width]):
            if token == eos:
                finished.append(([*prefixes[row, 1:].tolist(), eos], scores[row, token] / n**alpha))
        rows, tokens = rows[tokens != eos][:width], tokens[tokens != eos][:width]
        sums = scores[rows, tokens]
        prefixes = np.concatenate([prefixes[rows], tokens[:, None]], axis=1)
        if not len(rows):
            break
    finished += [(each[1:].tolist(), total / length**alpha) for each, total in zip(prefixes, sums)]
    return sorted(finished, key=lambda each: -each[1])[:width]


# %% answer="serve_beam" right="heapq, and a bound that stops early only where it may"
import heapq


def beam(logprobs, start, eos, width, length, alpha=0.0):
    live, done = {(): 0.0}, {}
    for n in range(1, length + 1):
        if not live:
            break
        rows = logprobs(np.array([(start, *each) for each in live]))
        options = {(*each, t): total + rows[i][t] for i, (each, total) in enumerate(live.items()) for t in range(len(rows[i]))}
        for each in heapq.nlargest(width, options, key=options.get):
            if each[-1] == eos:
                done[each] = options[each] / n**alpha
        going = [each for each in options if each[-1] != eos]
        live = {each: options[each] for each in heapq.nlargest(width, going, key=options.get)}
        if live and n < length and len(done) >= width:
            bound = max(live.values()) / (length**alpha if alpha > 0 else (n + 1) ** alpha)
            if heapq.nlargest(width, done.values())[-1] > bound:
                live = {}
    done.update({each: total / length**alpha for each, total in live.items()})
    return [(list(each), done[each]) for each in heapq.nlargest(width, done, key=done.get)]


# %% answer="serve_beam" right="arrays throughout, without an early end"
def beam(logprobs, start, eos, width, length, alpha=0.0):
    prefixes, sums = np.full((1, 1), start), np.zeros((1, 1))
    finished = []
    for n in range(length):
        total = sums + logprobs(prefixes)
        vocabulary = total.shape[1]
        best = np.argsort(-total.ravel(), kind="stable")
        ends = best % vocabulary == eos
        for index in best[:width][ends[:width]]:
            finished.append((total.ravel()[index] / (n + 1) ** alpha, prefixes[index // vocabulary, 1:].tolist() + [eos]))
        best = best[~ends][:width]
        prefixes = np.hstack([prefixes[best // vocabulary], (best % vocabulary)[:, None]])
        sums = total.ravel()[best][:, None]
    finished += [(float(score) / length**alpha, row[1:].tolist()) for score, row in zip(sums[:, 0], prefixes)]
    finished.sort(key=lambda pair: pair[0], reverse=True)
    return [(tokens, score) for score, tokens in finished[:width]]


# %% answer="serve_schedule" wrong="a lone request is never preempted"
def plan(waiting, running, budget, free, size):
    got = {}

    def blocks(n):
        return -(-n // size)

    def room(r):
        return min(r.pending, budget, (blocks(r.cached) + free) * size - r.cached)

    def give(r, n):
        nonlocal budget, free
        got[r.name] = n
        budget -= n
        free -= blocks(r.cached + n) - blocks(r.cached)

    preempted = False
    order = [r for r in running if r.pending == 1] + [r for r in running if r.pending > 1]
    for r in order:
        while budget > 0 and r in running and (len(running) > 1 or room(r) > 0):
            n = room(r)
            if n > 0:
                give(r, n)
                break
            victim = running.pop()
            n = got.pop(victim.name, 0)
            budget += n
            free += blocks(victim.cached + n)
            victim.cached = 0
            waiting.insert(0, victim)
            preempted = True
    while not preempted and waiting and budget > 0:
        n = room(waiting[0])
        if n <= 0:
            break
        give(waiting[0], n)
        running.append(waiting.pop(0))
    return got


# %% answer="serve_prefix" wrong="takes users from blocks that the match did not find"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries = {}
        self.used = {}
        self.users = {}

    def keys(self, tokens, salt=""):
        out, parent = [], salt
        for i in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[i : i + self.size]))
            out.append(parent)
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt, salt)[: max(len(prompt) - 1, 0) // self.size]:
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.used[key] = self.time
            self.users[key] += 1
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt):
            if key in self.users and self.users[key] > 0:
                self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {key[0] for key in self.entries}
            leaves = [key for key in self.entries if not self.users[key] and key not in parents]
            if not leaves:
                break
            key = min(leaves, key=lambda each: (self.used[each], self.entries[each]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_prefix" wrong="only the last block is used"
class Prefixes:
    def __init__(self, size):
        self.size, self.time = size, 0
        self.entries = {}
        self.used = {}
        self.users = {}

    def keys(self, tokens, salt=""):
        out, parent = [], salt
        for i in range(0, len(tokens) - self.size + 1, self.size):
            parent = (parent, tuple(tokens[i : i + self.size]))
            out.append(parent)
        return out

    def match(self, prompt, salt=""):
        self.time += 1
        blocks = []
        for key in self.keys(prompt, salt)[: max(len(prompt) - 1, 0) // self.size]:
            if key not in self.entries:
                break
            blocks.append(self.entries[key])
            self.users[key] += 1
            last = key
        if blocks:
            self.used[last] = self.time
        return blocks

    def insert(self, tokens, blocks, salt=""):
        self.time += 1
        for key, block in zip(self.keys(tokens, salt), blocks):
            if key not in self.entries:
                self.entries[key] = block
                self.users[key] = 0
            self.used[key] = self.time

    def release(self, prompt, count, salt=""):
        for key in self.keys(prompt, salt)[:count]:
            self.users[key] -= 1

    def evict(self, count):
        gone = []
        while len(gone) < count:
            parents = {key[0] for key in self.entries}
            leaves = [key for key in self.entries if not self.users[key] and key not in parents]
            if not leaves:
                break
            key = min(leaves, key=lambda each: (self.used[each], self.entries[each]))
            gone.append(self.entries.pop(key))
            del self.used[key], self.users[key]
        return gone


# %% answer="serve_processors" wrong="min-p of the likeliest token before the penalties"
def process(logits, prompts, outputs, repetition=1.0, frequency=0.0, presence=0.0, temperature=1.0, min_p=0.0):
    out, top = logits.copy(), logits.max(-1, keepdims=True) / temperature
    for row, prompt, output in zip(out, prompts, outputs, strict=True):
        seen = list({*prompt, *output})
        row[seen] = np.where(row[seen] > 0, row[seen] / repetition, row[seen] * repetition)
        for token in output:
            row[token] -= frequency
        row[list(set(output))] -= presence
    out /= temperature
    if min_p > 0:
        out[out < top + np.log(min_p)] = -np.inf
    return out
