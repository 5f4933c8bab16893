"""Correct answers in strange forms to exercises of tests, designs and counted work get full marks."""

from collections.abc import Callable

import pytest

from tests.course.attacks.target import targets
from tests.course.test_attacks import points_of

At = tuple[str, str]
SCAN, DECODE = ("26_whiteboard_decoder", "decoder_timed_scan"), ("27_whiteboard_serving", "serve_timed_decode")
DESIGN, TESTS = ("27_whiteboard_serving", "serve_design"), ("26_whiteboard_decoder", "decoder_verify_window")

AFTER: dict[At, dict[str, str]] = {
    SCAN: {
        "lambda": "scan = lambda combine, steps: inner(combine, steps)",
        "instance": "class Scan:\n    def __call__(self, *all):\n        return inner(*all)\nscan = Scan()",
        "tried": "scan = inner\nprint(scan(lambda a, b: a + b, np.arange(5.0)[:, None]))",
        "counts": "def scan(combine, steps):\n    return inner(lambda *pair: combine(*pair), steps)",
        "rows": "def scan(combine, steps):\n    return np.array(list(inner(combine, steps)))",
    },
    DECODE: {
        "array": "def generate(*all):\n    return np.array(inner(*all))",
        "tuple": "def generate(*all):\n    return tuple(inner(*all))",
        "generator": "def generate(*all):\n    yield from inner(*all)",
        "keywords": "def generate(embed, project, head, prompt, count):\n"
        "    return inner(embed=embed, project=project, head=head, prompt=prompt, count=count)",
        "method": "class Model:\n    def run(self, *all):\n        return inner(*all)\ngenerate = Model().run",
    },
    DESIGN: {
        "numpy_numbers": "def design(case):\n    return {name: np.int64(each) for name, each in inner(case).items()}",
        "floats": "def design(case):\n    return {name: float(each) for name, each in inner(case).items()}",
        "another_order": "def design(case):\n    return dict(reversed(inner(case).items()))",
        "a_proxy": "from types import MappingProxyType\ndef design(case):\n    return MappingProxyType(inner(case))",
        "changes_the_case": "def design(case):\n    found = inner(case)\n    case.clear()\n    return found",
        "partial": "import functools\ndesign = functools.partial(inner)",
    },
    TESTS: {
        "say_true_or_false": "def tests(candidate):\n    try:\n        inner(candidate)\n    except Exception:\n"
        "        return False\n    return True",
        "say_so_in_numpy": "def tests(candidate):\n    try:\n        inner(candidate)\n    except Exception:\n"
        "        return np.False_\n    return np.True_",
        "instance": "class Tests:\n    def __call__(self, candidate):\n        inner(candidate)\ntests = Tests()",
        "unittest": "import unittest\ndef tests(candidate):\n"
        "    class Case(unittest.TestCase):\n        def test(self):\n            inner(candidate)\n"
        "    result = unittest.TestResult()\n    Case('test').run(result)\n"
        "    return result.wasSuccessful()",
        "thread": "from concurrent.futures import ThreadPoolExecutor\ndef tests(candidate):\n"
        "    with ThreadPoolExecutor(1) as pool:\n        pool.submit(inner, candidate).result()",
        "raise_another": "def tests(candidate):\n    try:\n        inner(candidate)\n"
        "    except BaseException as error:\n        raise ValueError('wrong') from error",
        "print": "def tests(candidate):\n    print(candidate, type(candidate))\n    inner(candidate)",
        "keywords": "def tests(candidate):\n    inner(lambda q, k, v, window: candidate(q=q, k=k, v=v, window=window))",
    },
}
"""By exercise, forms of an answer: what stands below the reference's, which is called `inner`."""
FORMS = [(*at, way) for at, ways in AFTER.items() for way in ways]


@pytest.fixture(scope="module")
def earned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, str, str]], tuple[int, int]]:
    """By form, the points and how many there are."""
    known = {(each.chapter, each.name): each for each in targets()}
    texts = {(*at, "plain"): known[at].reference for at in AFTER}
    for chapter, name, way in FORMS:
        at = known[chapter, name]
        inner = at.reference.replace(f"{at.names[0]}(", "inner(")  # a recursive one calls itself so
        texts[chapter, name, way] = f"{inner}\n\n{AFTER[chapter, name][way]}\n"
    points = points_of(tmp_path_factory.mktemp("honest"), texts)
    return lambda form: (points[form], points[form[0], form[1], "plain"])


@pytest.mark.turns(8)
@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_a_correct_answer_gets_every_point(
    earned: Callable[[tuple[str, str, str]], tuple[int, int]], form: tuple[str, str, str]
) -> None:
    points, most = earned(form)
    assert points == most > 0
