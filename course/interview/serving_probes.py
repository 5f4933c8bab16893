"""What the functions of `serving.py` give for random inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch as torch
from course.interview.fault import Program
from course.interview.probe import Probe, normal, probe, replaced, tokens, weighted

_DRAWS = 20_000
_OFTEN = 0.12
"""How far frequencies of these draws may be apart, as a share of the largest: at least five standard deviations."""


def _prompts(program: Program, rng: np.random.Generator, count: int = 3) -> list[list[int]]:
    """Prompts of different lengths, without PAD and END."""
    return [rng.integers(2, program.TOKENS, size=int(size)).tolist() for size in rng.permutation(count) + 2]


@probe("padded", "random prompts")
def _filled(program: Program, rng: np.random.Generator) -> Any:
    ids, real = program.padded(_prompts(program, rng))
    return ids, real.tolist()


@probe("rotate", "random positions")
def _rotated(program: Program, rng: np.random.Generator) -> Any:
    return program.rotate(normal(rng, 2, program.HEADS, 5, 8), tokens(rng, 0, 30, 2, 5))


@probe("Cache", "keys and values that come in three pieces")
def _appended(program: Program, rng: np.random.Generator) -> Any:
    cache = program.Cache()
    return [list(cache.append(normal(rng, 1, 2, length, 4), normal(rng, 1, 2, length, 4))) for length in (3, 1, 2)]


@probe("Block", "random inputs")
def _block(program: Program, rng: np.random.Generator) -> Any:
    block, cache = weighted(program.Block(), rng).eval(), program.Cache()
    found, before = [], 0
    for length in (4, 1):
        before += length
        visible = torch.ones(length, before, dtype=torch.bool).tril(before - length).expand(2, -1, -1)
        positions = torch.arange(before - length, before).expand(2, -1)
        found.append(block(normal(rng, 2, length, program.WIDTH), positions, visible, cache))
    return found


def _logits(program: Program, rng: np.random.Generator, prompts: list[list[int]], more: tuple[int, ...]) -> Any:
    """The logits of prompts, and of random tokens that follow them in pieces of these lengths."""
    model = weighted(program.Model(), rng).eval()
    caches = [program.Cache() for _ in model.blocks]
    ids, real = program.padded(prompts)
    logits = model(ids, real, caches)
    found = [logits[at, -len(prompt) :] for at, prompt in enumerate(prompts)]
    for count in more:
        real = torch.cat([real, torch.ones(len(prompts), count, dtype=torch.bool)], 1)
        found.append(model(tokens(rng, 2, program.TOKENS, len(prompts), count), real, caches))
    return found


def _unrotated(x: Any, positions: Any) -> Any:
    return x


@probe("Model", "prompts of different lengths, without rotary positions")
def _beside(program: Program, rng: np.random.Generator) -> Any:
    with replaced(program, rotate=_unrotated):
        return _logits(program, rng, _prompts(program, rng), ())


@probe("Model", "tokens that follow cached ones, without rotary positions")
def _after(program: Program, rng: np.random.Generator) -> Any:
    with replaced(program, rotate=_unrotated):
        return _logits(program, rng, tokens(rng, 2, program.TOKENS, 2, 4).tolist(), (1, 2, 1))


@probe("Model", "padded prompts and tokens that follow them, without rotary positions")
def _beside_and_after(program: Program, rng: np.random.Generator) -> Any:
    with replaced(program, rotate=_unrotated):
        return _logits(program, rng, _prompts(program, rng), (1, 2, 1))


@probe("Model", "padded prompts and tokens that follow them")
def _everything(program: Program, rng: np.random.Generator) -> Any:
    return _logits(program, rng, _prompts(program, rng), (1, 2, 1))


def _frequencies(program: Program, rng: np.random.Generator, temperature: float, top_p: float) -> Any:
    """How often each of six tokens is drawn; their probabilities have sums that are not close to `top_p`."""
    while True:
        logits = normal(rng, 6)
        sums = (logits / temperature).softmax(-1).sort(-1, descending=True)[0].cumsum(-1)
        if (sums[:-1] - top_p).abs().min() > 0.03:
            break
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    drawn = program.choose(logits.expand(_DRAWS, -1), temperature, top_p, generator)
    often = np.bincount(np.asarray(drawn.tolist()), minlength=6) / _DRAWS
    return {"the tokens are": often.nonzero()[0].tolist(), "a token comes with probability": torch.tensor(often)}


@probe("choose", "random logits at a temperature of 1", _OFTEN)
def _nucleus(program: Program, rng: np.random.Generator) -> Any:
    return [_frequencies(program, rng, 1.0, top_p) for top_p in (0.4, 0.75)]


@probe("choose", "random logits at other temperatures", _OFTEN)
def _tempered(program: Program, rng: np.random.Generator) -> Any:
    return [_frequencies(program, rng, *each) for each in ((0.6, 0.8), (2.5, 0.8), (2.5, 1.0))]


@probe("choose", "a temperature of 0")
def _likeliest(program: Program, rng: np.random.Generator) -> Any:
    return program.choose(normal(rng, 5, program.TOKENS), 0.0, 0.5, torch.Generator()).tolist()


class _Stub:
    """A model whose logits a function of the last tokens gives. It notes in which modes it is called."""

    def __init__(self, logits: Any) -> None:
        self.blocks, self.logits, self.training = [None, None], logits, True
        self.modes: list[bool] = []
        self.recording: list[bool] = []

    def eval(self) -> _Stub:
        return self.train(False)

    def train(self, mode: bool = True) -> _Stub:
        self.training = mode
        return self

    def __call__(self, ids: Any, real: Any, caches: Any) -> Any:
        self.modes.append(self.training)
        self.recording.append(torch.is_grad_enabled())
        return self.logits(ids)


def _counting(program: Program) -> _Stub:
    """Counts down from the last token, to END and beyond."""
    return _Stub(lambda ids: torch.eye(program.TOKENS)[(ids - 1) % program.TOKENS] * 30)


def _counted(program: Program, rng: np.random.Generator) -> list[list[int]]:
    """The answers of a model that counts down: they end after 2, 5, 9 and more than 12 tokens, and come both ways."""
    prompts = [[int(rng.integers(3, 9)), int(last)] for last in rng.permutation([3, 6, 10, 20])]
    ways = (program.generate(_counting(program), each, 12) for each in (prompts, prompts[::-1]))
    return [answer for answers in ways for answer in answers]


@probe("generate", "prompts whose answers end at different times")
def _until_the_end(program: Program, rng: np.random.Generator) -> Any:
    answers, end = _counted(program, rng), program.END
    return [each[: each.index(end) + 1] if end in each else each for each in answers]


@probe("generate", "prompts whose answers end before others do")
def _answers(program: Program, rng: np.random.Generator) -> Any:
    return _counted(program, rng)


@probe("generate", "a model in train mode")
def _modes(program: Program, rng: np.random.Generator) -> Any:
    stubs = _counting(program), _counting(program)
    for stub, temperature in zip(stubs, (0.0, 1.0), strict=True):
        program.generate(stub, [[3, 9]], 4, temperature)
    return {
        f"at temperature {heat:g}, `model.training` is": stub.modes for heat, stub in zip((0, 1), stubs, strict=True)
    }


@probe("generate", "a model that notes whether autograd is on, and afterwards")
def _recording(program: Program, rng: np.random.Generator) -> Any:
    stub = _counting(program)
    program.generate(stub, [[3, 9]], 4)
    return [*stub.recording, torch.is_grad_enabled()]


@probe("generate", "four equally likely tokens, at a temperature of 1", 0.15)
def _draws(program: Program, rng: np.random.Generator) -> Any:
    """How often a token is the one before it, or the one two or three before it; and whether a seed decides it."""
    seed = int(rng.integers(2**20))
    likely = torch.where(torch.arange(program.TOKENS) < program.TOKENS - 4, -1e9, 0.0)
    stub = _Stub(lambda ids: likely.expand(*ids.shape, -1))
    one, again, other = (program.generate(stub, [[3]] * 1500, 8, 1.0, 1.0, each) for each in (seed, seed, seed + 9))
    drawn = np.asarray(one)
    same = torch.tensor([float((drawn[:, by:] == drawn[:, :-by]).mean()) for by in (1, 2, 3)])
    return {"the share of repeated tokens is": same, "seeds decide:": [one == again, one == other]}


@probe("generate", "random weights")
def _of_a_model(program: Program, rng: np.random.Generator) -> Any:
    model = weighted(program.Model(), rng)
    with torch.no_grad():
        model.head.weight.mul_(4.0)  # so that the likeliest token is far ahead
    return program.generate(model, _prompts(program, rng), 6)


@probe("score", "random prompts and answers")
def _scores(program: Program, rng: np.random.Generator) -> Any:
    model = weighted(program.Model(), rng)
    pairs = [(tokens(rng, 2, program.TOKENS, n).tolist(), tokens(rng, 1, program.TOKENS, 3).tolist()) for n in (1, 4)]
    return [float(program.score(model, prompt, answer)) for prompt, answer in pairs]


SERVING: tuple[Probe, ...] = (
    _filled,
    _rotated,
    _appended,
    _block,
    _beside,
    _after,
    _beside_and_after,
    _everything,
    _nucleus,
    _tempered,
    _likeliest,
    _modes,
    _recording,
    _until_the_end,
    _answers,
    _draws,
    _of_a_model,
    _scores,
)
