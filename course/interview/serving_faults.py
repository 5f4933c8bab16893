"""The faults of `serving.py`, each with an assertion of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from course.interview.fault import Fault, Program, expect


def a_new_token_stands_after_the_cached_ones(program: Program) -> None:
    """The position of a token that follows three cached ones is one more than the last of them."""
    seen: list[Any] = []
    rotate = program.rotate

    def noted(x: Any, positions: Any) -> Any:
        seen.append(positions.flatten().tolist())
        return rotate(x, positions)

    program.rotate = noted  # type: ignore[attr-defined]
    try:
        _logits(program, _model(program), [3, 4, 5], [6])
    finally:
        program.rotate = rotate  # type: ignore[attr-defined]
    before, new = seen[0][-1], seen[-1][0]
    expect(new == before + 1, f"the last cached token stands at {before}, the one after it at {new}")


def a_new_token_sees_every_cached_one(program: Program) -> None:
    """Another token in the middle of the prompt changes what follows."""
    model = _model(program)
    one, other = (_logits(program, model, [3, token, 5], [6]) for token in (4, 9))
    expect((one - other).abs().max() > 1e-5, "another token in the middle of the prompt changed nothing after it")


def padding_changes_nothing(program: Program) -> None:
    """A prompt has the same logits alone and beside a longer one."""
    model = _model(program)
    alone, beside = (_first(program, model, prompts) for prompts in ([[3, 4]], [[3, 4], [5, 6, 7, 8, 9]]))
    apart = (alone - beside).abs().max().item()
    expect(apart < 1e-4, f"beside a longer prompt, a prompt's logits moved by {apart:.2f}")


def a_temperature_widens_the_nucleus(program: Program) -> None:
    """At a temperature of 3, tokens of 5 % are drawn although the likeliest one has 90 %."""
    drawn = _drawn(program, [0.9, 0.05, 0.03, 0.02], 3.0, 0.85)
    expect(len(drawn) > 1, f"at a temperature of 3, only {len(drawn)} of 4 tokens was ever drawn")


def the_token_that_reaches_top_p_is_drawn(program: Program) -> None:
    """Of 0.6, 0.3 and 0.1, a sum of 0.7 takes two."""
    drawn = _drawn(program, [0.6, 0.3, 0.1], 1.0, 0.7)
    expect(drawn == {0, 1}, f"of 0.6, 0.3 and 0.1 at top_p = 0.7, tokens {sorted(drawn)} were drawn, not 0 and 1")


def nothing_follows_the_end(program: Program) -> None:
    """END is the last token of an answer."""
    answer = _counted_down(program)[0]
    expect(answer == [2, program.END], f"an answer that should be [2, {program.END}] is {answer}")


def an_answer_ends_by_itself(program: Program) -> None:
    """The end of one answer doesn't end another."""
    answer = _counted_down(program)[1]
    expect(answer == [8, 7, 6, 5, 4], f"beside an answer that ended, five tokens were wanted, and {len(answer)} came")


def a_score_is_about_the_next_token(program: Program) -> None:
    """An answer that the model is sure of scores 0."""
    score = program.score(_Stub(program, lambda ids: _sure(program, ids + 1)), [3, 4], [5, 6])
    expect(score > -0.01, f"an answer that the model is sure of scores {score:.1f}")


def answers_come_in_eval_mode(program: Program) -> None:
    """Each forward pass of `generate` finds the model in eval mode."""
    stub = _Stub(program, partial(_sure, program))
    program.generate(stub, [[3]], 2)
    expect(not any(stub.modes), "the model was in train mode while it generated")


def answers_record_nothing(program: Program) -> None:
    """Autograd is off while answers are generated."""
    stub = _Stub(program, partial(_sure, program))
    program.generate(stub, [[3]], 2)
    expect(not any(stub.recording), "autograd recorded the generation")


def each_token_is_drawn_anew(program: Program) -> None:
    """Twelve draws from the same distribution aren't all the same token."""
    stub = _Stub(program, lambda ids: _sure(program, ids * 0 + program.END) * -1)
    answer = program.generate(stub, [[3]], 12, 1.0)[0]
    expect(len(set(answer)) > 1, f"twelve draws from 23 equally likely tokens gave {answer[0]} each time")


class _Stub:
    """A model whose logits a function of the last tokens gives. It notes how it is called."""

    def __init__(self, program: Program, logits: Callable[[Any], Any]) -> None:
        self.blocks, self.logits, self.training = [None, None], logits, True
        self.modes: list[bool] = []
        self.recording: list[bool] = []

    def eval(self) -> _Stub:
        return self.train(False)

    def train(self, mode: bool = True) -> _Stub:
        self.training = mode
        return self

    def __call__(self, ids: Any, real: Any, caches: Any) -> Any:
        import minitorch as torch

        self.modes.append(self.training)
        self.recording.append(torch.is_grad_enabled())
        return self.logits(ids)


def _sure(program: Program, ids: Any) -> Any:
    """Logits that are sure of these tokens."""
    import minitorch as torch

    return torch.eye(program.TOKENS)[ids % program.TOKENS] * 30


def _counted_down(program: Program) -> Any:
    """The answers to [3] and [9] of a model that counts down: the first reaches END, which is 1, after two tokens."""
    return program.generate(_Stub(program, lambda ids: _sure(program, ids - 1)), [[3], [9]], 5)


def _drawn(program: Program, probabilities: list[float], temperature: float, top_p: float) -> set[int]:
    """Which tokens come in two hundred draws."""
    import minitorch as torch

    logits = torch.tensor(probabilities).log().expand(200, -1)
    return {*program.choose(logits, temperature, top_p, torch.Generator().manual_seed(0)).tolist()}


def _model(program: Program) -> Any:
    import minitorch as torch

    torch.manual_seed(0)
    return program.Model().eval()


def _first(program: Program, model: Any, prompts: list[list[int]]) -> Any:
    """The logits after the first of these prompts."""
    ids, real = program.padded(prompts)
    return model(ids, real, _caches(program, model))[0, -1]


def _logits(program: Program, model: Any, *pieces: list[int]) -> Any:
    """The logits after a text that comes in pieces, with a cache."""
    import minitorch as torch

    caches, real, logits = _caches(program, model), torch.ones(1, 0, dtype=torch.bool), None
    for piece in pieces:
        real = torch.ones(1, real.shape[1] + len(piece), dtype=torch.bool)
        logits = model(torch.tensor([piece]), real, caches)[0, -1]
    return logits


def _caches(program: Program, model: Any) -> list[Any]:
    return [program.Cache() for _ in model.blocks]


_fault = partial(Fault, program="serving")
_KEEPS = "                if END not in answer:\n                    answer.append(token)\n"
_GENERATOR = "    generator = torch.Generator().manual_seed(seed)\n"

SERVING = (
    _fault(
        "RoPE offset",
        "24b",
        "With the cache, an answer's second token and all after it have other logits than in one pass over the text.",
        "A token that follows cached ones is rotated as if it stood at the beginning.",
        (("(real.cumsum(1) - 1)[:, -count:]", "(real.cumsum(1) - 1)[:, :count]"),),
        a_new_token_stands_after_the_cached_ones,
    ),
    _fault(
        "mask without the cache",
        "27",
        "Answers begin well. From their second token on, only the first token of the prompt makes a difference.",
        "The causal mask begins at the first cached token, so a new one sees that alone: `tril()` for `tril(S - T)`.",
        ((".tril(length - count)", ".tril()"),),
        a_new_token_sees_every_cached_one,
    ),
    _fault(
        "padding mask inverted",
        "14",
        "A short prompt gets other logits beside a long one than alone. Prompts of equal length don't matter.",
        "The padding is visible: the mask is joined the wrong way round, with `| ~real` for `& real`.",
        (("visible = causal & real[:, None]", "visible = causal | ~real[:, None]"),),
        padding_changes_nothing,
    ),
    _fault(
        "temperature after top-p",
        "27",
        "With top_p = 0.8, answers at a temperature of 3 have hardly more different tokens than at 1.",
        "The nucleus is chosen at temperature 1, and only its tokens get the temperature.",
        (
            ("(logits / temperature).softmax(-1)", "logits.softmax(-1)"),
            (", 0.0), 1, generator", ", 0.0) ** (1 / temperature), 1, generator"),
        ),
        a_temperature_widens_the_nucleus,
    ),
    _fault(
        "nucleus too small",
        "24b",
        "At top_p = 0.7, all tokens that ever come have a probability of less than 0.7 together.",
        "The token with which the sum reaches `top_p` belongs to the nucleus. Here it is dropped.",
        (("before >= top_p", "before + probabilities > top_p"),),
        the_token_that_reaches_top_p_is_drawn,
    ),
    _fault(
        "no stop at END",
        "27",
        "Some answers go on behind END, though never one that is alone.",
        "A row that has ended goes through the model until the others end, and its tokens are kept.",
        ((_KEEPS, "                answer.append(token)\n"),),
        nothing_follows_the_end,
        hidden_by="any for all",
    ),
    _fault(
        "any for all",
        "27",
        "In a batch no answer is longer than the shortest one. Alone, each is as long as it should be.",
        "The loop ends as soon as any answer has ended: `any` for `all`.",
        (("if all(END in answer", "if any(END in answer"),),
        an_answer_ends_by_itself,
    ),
    _fault(
        "score shift",
        "28",
        "`score` gives the best mark to a model that repeats each token.",
        "The logits at a position are about the next token, so they begin one position before the answer.",
        (("logits[0, len(prompt) - 1 : -1]", "logits[0, len(prompt) :]"),),
        a_score_is_about_the_next_token,
    ),
    _fault(
        "dropout while answering",
        "27",
        "At temperature 0, the same prompt sometimes gets a different answer from the same model.",
        "`generate` doesn't call `model.eval()`, so dropout is active.",
        (("    model.eval()\n", ""),),
        answers_come_in_eval_mode,
    ),
    _fault(
        "answers recorded",
        "07",
        "Memory grows with each token by much more than its keys and values take.",
        "`generate` has no `no_grad`, so the cached keys and values carry the graph of the whole answer.",
        (("    with torch.no_grad():\n        for", "    with torch.enable_grad():\n        for"),),
        answers_record_nothing,
    ),
    _fault(
        "a generator for each token",
        "27",
        "With logits that are nearly flat, an answer at temperature 1 is one token again and again.",
        "The generator is made anew for each token, from the same seed, so each draw has the same random number.",
        ((_GENERATOR, ""), ("            ids = choose(", f"        {_GENERATOR}            ids = choose(")),
        each_token_is_drawn_anew,
    ),
)
"""All of them can be planted together."""
