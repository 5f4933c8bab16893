"""What the arguments of an answer's functions are where no annotation says it, from the calls of one run of its check.

A spoiler (`course.authoring.spoil`) applies to a function by its annotations. A function that has none, as a learner's
notebook shows it, would get hardly any.
"""

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from course.authoring.spoil import Seen, functions
from course.grading.trial import Trial
from course.parsed import parsed
from course.source.cells import plain, solved
from course.source.exercises import ExerciseSource

KINDS = ("torch.Tensor", "np.ndarray", "bool", "int", "float", "str", "list", "dict", "tuple", "nn.Module")
_SECONDS = 60
_WATCHED = """
_calls = []


def _kind(value):
    if type(value).__name__ in ("bool", "int", "float", "str", "list", "dict", "tuple", "NoneType"):
        return type(value).__name__
    if hasattr(value, "parameters") and hasattr(value, "modules"):
        return "nn.Module"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        known = {"ndarray": "np.ndarray", "Tensor": "torch.Tensor", "Parameter": "torch.Tensor"}
        return known.get(type(value).__name__)


def _given(value):
    if type(value) in (tuple, list) and value and _kind(value[0]) in ("np.ndarray", "torch.Tensor"):
        return f"{type(value).__name__}[{_kind(value[0])}]"
    return _kind(value)


def _watched(name, function):
    import functools
    import inspect

    @functools.wraps(function)
    def watched(*arguments, **named):
        given = inspect.signature(function).bind(*arguments, **named).arguments
        _calls.extend([name, each, _given(value)] for each, value in given.items())
        result = function(*arguments, **named)
        _calls.append([name, "return", _given(result)])
        return result

    watched.calls = _calls
    return watched

"""


def seen(trial: Trial, exercise: ExerciseSource) -> Seen:
    """What the check passes to the functions of the reference that lack annotations."""
    assert exercise.solution is not None
    unknown = unannotated(exercise)
    if not unknown or exercise.kind.parts:
        return {}
    calls = "\n".join(f"{name} = _watched({name!r}, {name})" for name in unknown)
    text = "\n".join([plain(solved(exercise.solution.text)), _WATCHED, calls])
    task = trial.reference.own(exercise.name, text, trial.reference.seed)
    task = replace(task, check=f"{task.check}\ncheck.deliver({next(iter(unknown))}.calls)")
    outcome = trial.pool.run_own([task], _SECONDS, time.monotonic() + _SECONDS)[exercise.name]
    return _merged(outcome.heard.shown[-1] if outcome.heard else ())


def every(exercise: ExerciseSource) -> Iterable[Seen]:
    """What might be seen, so that a record can be read without a run: all arguments are of one kind, or may be None."""
    unknown = unannotated(exercise)
    for kind in KINDS if unknown else ():
        for annotation in (kind, f"{kind} | None"):
            yield {name: dict.fromkeys(arguments, annotation) for name, arguments in unknown.items()}


def unannotated(exercise: ExerciseSource) -> dict[str, list[str]]:
    """The arguments without an annotation, and "return", of the functions that an answer writes."""
    if exercise.solution is None:
        return {}
    found = {}
    for name, node in functions(parsed(plain(solved(exercise.solution.text)))):
        given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        names = [each.arg for each in given if each.annotation is None and each.arg not in ("self", "cls")]
        if names:
            found[name] = [*names, *([] if node.returns else ["return"])]
    return found


def _merged(calls: Iterable[tuple[str, str, str | None]]) -> Seen:
    """One annotation for each argument; none for one that was of several kinds, or of an unknown one."""
    kinds: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for function, argument, kind in calls:
        kinds[function, argument].add(kind)
    merged: dict[str, dict[str, str]] = defaultdict(dict)
    for (function, argument), found in kinds.items():
        only = found - {"NoneType"}
        if len(only) == 1 and (kind := only.pop()):
            merged[function][argument] = f"{kind} | None" if "NoneType" in found else kind
    return merged
