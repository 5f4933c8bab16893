"""Variants: right and faulty answers to one task, which a learner's tests have to tell apart.

Tests see a variant as a `Candidate`, which takes and returns plain data. It is called as the variant's last function,
and has all of its functions as attributes. In a grade the variants live in a process of their own, which was started
before the learner's code ran: tests that look at a candidate's name, code or source, instead of at what it computes,
find the same for all of them. The machine of a `timed` exercise (`course.work`) lives there as well.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import pickle
import struct
import threading
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from course import work
from course.sandbox import confine

Functions = dict[str, Callable[..., Any]]
ACCEPTED, REFUSED = "accepted", "refused"
_HEADER = struct.Struct("<QQQ")  # of a request: the seed, the place of the variant, the length of the arguments
_COUNT = struct.Struct("<Q")
_PLAIN = {
    *(("builtins", name) for name in ("set", "frozenset", "slice", "complex", "range", "bytearray")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
}
"""What a pickle of plain data may name: anything else could run code where the variants are."""


class Candidate:
    """A variant, as tests see it: call it with numbers, strings, arrays and containers of these.

    What it does to an array, list or dict among its arguments happens to the caller's, too.
    """

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._call("", *arguments, **named)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self._call, name)

    def _call(self, function: str, /, *arguments: Any, **named: Any) -> Any:
        raised, result, after = pickle.loads(self._answer(pickle.dumps((function, arguments, named))))
        for mine, theirs in zip([*arguments, *named.values()], after, strict=False):
            _copy_back(mine, theirs)
        if raised is not None:
            raise getattr(builtins, raised[0], RuntimeError)(raised[1])
        return result


def _copy_back(mine: Any, theirs: Any) -> None:
    match mine:
        case np.ndarray() if mine.tobytes() != theirs.tobytes():
            mine[...] = theirs
        case list():
            mine[:] = theirs
        case dict():
            for name in [name for name in mine if name not in theirs]:
                del mine[name]
            for name, value in theirs.items():
                if isinstance(mine.get(name), np.ndarray) and np.shape(value) == mine[name].shape:
                    _copy_back(mine[name], value)
                else:
                    mine[name] = value


class ServedVariants:
    """Variants in a process of their own, which ends with this one; in this one where processes cannot be forked."""

    def __init__(self, read: Callable[[], Sequence[str]]) -> None:
        """
        Args:
            read: gives the texts. It is called in the new process: this one's memory never holds them.
        """
        self._texts: Sequence[str] = () if hasattr(os, "fork") else read()
        self.count = len(self._texts)
        self._one_at_a_time = threading.Lock()
        if self._texts:
            return
        asked, self._asks = os.pipe()
        self._replies, replies = os.pipe()
        if os.fork() == 0:
            try:
                confine.hide()
                texts = read()
                _keep_open_only(asked, replies)
                _write(replies, _COUNT.pack(len(texts)))
                _serve(texts, asked, replies)
            finally:
                os._exit(0)
        os.close(asked)
        os.close(replies)
        (self.count,) = _COUNT.unpack(_read(self._replies, _COUNT.size))

    def candidate(self, seed: int, place: int) -> Candidate:
        """The variant at a place, with what it draws from this seed."""
        if self._texts:
            return here(self._texts[place], seed)

        def answer(arguments: bytes) -> bytes:
            with self._one_at_a_time:
                _write(self._asks, _HEADER.pack(seed, place, len(arguments)) + arguments)
                (length,) = _COUNT.unpack(_read(self._replies, _COUNT.size))
                return _read(self._replies, length)

        return Candidate(answer)


def verify(
    tests: Callable[[Any], Any],
    shown: Sequence[str],
    rng: np.random.Generator,
    own: Functions | None = None,
    served: ServedVariants | None = None,
) -> dict[str, str]:
    """Which variants some tests accept: those for which they raise nothing, and return nothing or something true.

    Args:
        tests: called with one candidate at a time.
        shown: the variants of the learner's notebook, as text. They are tried where no others are served.
        rng: draws the order of the others, and the sizes of faults.
        own: the functions of the learner's program by their names, if the tests have to accept that, too.
        served: all variants, in a grade.

    Raises:
        NotImplementedError: the tests are not written.
    """
    seed = int(rng.integers(2**31))
    if served is None:
        names = [f"answer {chr(ord('A') + place)}" for place in range(len(shown))]
        candidates = [here(text, seed) for text in shown]
    else:
        names = [f"candidate {place + 1}" for place in range(served.count)]
        candidates = [served.candidate(seed, int(place)) for place in rng.permutation(served.count)]
    if own:
        names = ["your own program", *names]
        candidates = [_candidate(own), *candidates]
    return {name: _verdict(tests, each) for name, each in zip(names, candidates, strict=True)}


def here(text: str, seed: int) -> Candidate:
    """A variant in this process, with what it draws from a seed."""
    return _candidate(_loaded(text, seed))


def _candidate(functions: Functions) -> Candidate:
    return Candidate(lambda arguments: _answer(functions, arguments))


def _verdict(tests: Callable[[Any], Any], candidate: Candidate) -> str:
    try:
        said = tests(candidate)
        return REFUSED if said is not None and not said else ACCEPTED
    except Exception as raised:
        if isinstance(raised, NotImplementedError) and not raised.args:
            raise
        return REFUSED


def keyed(text: str, key: str) -> str:
    """A text that finds the key of a grade in its names."""
    return f"KEY = {key!r}\n{text}"


def _loaded(text: str, seed: int) -> Functions:
    """The functions that a variant's text defines."""
    names: dict[str, Any] = {"np": np, "rng": np.random.default_rng(seed), "KEY": ""}
    names["secret"] = lambda: work.secret(names["KEY"], seed)
    names["seal"] = lambda told: work.seal(names["KEY"], seed, told)
    exec(compile(text, "<variant>", "exec"), names)
    own = {name: each for name, each in names.items() if isinstance(each, FunctionType)}
    return {name: each for name, each in own.items() if each.__globals__ is names}


def _answer(functions: Functions, pickled: bytes) -> bytes:
    """What a variant does with pickled arguments: what it raised, its result, and its arguments afterwards."""
    name, arguments, named = _Plain(io.BytesIO(pickled)).load()
    raised, result = None, None
    try:
        with np.errstate(all="ignore"):
            result = functions[name or [*functions][-1]](*arguments, **named)
    except Exception as error:
        raised = type(error).__name__, str(error)
    return pickle.dumps((raised, result, [*arguments, *named.values()]))


class _Plain(pickle.Unpickler):
    """Reads plain data alone, since a pickle may be written to run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PLAIN:
            raise pickle.UnpicklingError("a candidate takes numbers, strings, arrays and containers of these")
        return super().find_class(module, name)


def _serve(texts: Sequence[str], asked: int, replies: int) -> None:
    """Answer requests until there are no more."""
    functions: dict[tuple[int, int], Functions] = {}
    while True:
        try:
            seed, place, length = _HEADER.unpack(_read(asked, _HEADER.size))
            pickled = _read(asked, length)
        except EOFError:
            return
        if (seed, place) not in functions:
            functions[seed, place] = _loaded(texts[place], seed)
        try:
            reply = _answer(functions[seed, place], pickled)
        except Exception as error:  # what was asked is no plain data
            reply = pickle.dumps(((type(error).__name__, str(error)), None, ()))
        _write(replies, _COUNT.pack(len(reply)) + reply)


def _keep_open_only(*files: int) -> None:
    """Close all other files: whoever waits for their end would wait for this process."""
    before = 0
    for file in sorted(files):
        os.closerange(before, file)
        before = file + 1
    os.closerange(before, os.sysconf("SC_OPEN_MAX") if before < 4096 else before + 4096)


def _read(file: int, length: int) -> bytes:
    pieces = []
    while length:
        if not (piece := os.read(file, min(length, 1 << 20))):
            raise EOFError("the process of the variants has ended")
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def _write(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
