"""The values are forged: what looks right without being it, and predictions that are copied or guessed."""

from tests.course.attacks.target import Target, a_function, a_prediction, anything, attack, variants

JUDGED = "values are compared outside the process that shows them, by the reference's tolerance"
SALT = "secret values are salted with the seed"
SLOW = "the digest of secret values is slow, and one for all of them"
NONCE = "a result counts once, under the number of its own exercise"


@variants(
    JUDGED,
    a_function,
    equal_to_everything="""
class Same(float):
    __eq__ = __le__ = __ge__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = float.__hash__
value = Same(1.0)""",
    nan="value = float('nan')",
    infinite="value = float('inf')",
    an_array_equal_to_everything="""
import numpy
class Same(numpy.ndarray):
    __eq__ = lambda self, other: True
value = numpy.ones(3).view(Same)""",
    a_false_tensor="""
class Tensor:
    shape, dtype, device = (), "float32", "cpu"
    tolist = lambda self: float("nan")
value = Tensor()""",
    a_dict_that_has_everything="""
class All(dict):
    __missing__ = __getattr__ = lambda self, name: self
    items = lambda self: iter(())
value = All()""",
    nothing="value = None",
    another_list="value = []",
    a_float_from_which_nothing_differs="""
class Zero(float):
    __sub__ = __rsub__ = __abs__ = __add__ = __mul__ = lambda self, *other: Zero(0)
    __lt__ = __le__ = lambda self, other: True
value = Zero(1.0)""",
    a_list_of_any_length="""
class Any(list):
    __len__ = lambda self: 6
    __getitem__ = lambda self, place: 1.0
    __iter__ = lambda self: iter([1.0] * 6)
    __reduce__ = lambda self: (print, ("here",))
value = Any()""",
    a_list_without_end="""
class Endless(list):
    def __iter__(self):
        while True:
            yield 1.0
value = Endless([1.0])""",
    a_list_in_itself="value = []; value.append(value)",
    a_deep_list="""
value = []
for _ in range(100_000):
    value = [value]""",
    more_digits_than_can_be_written="value = 10**4_000_000",
    strings_that_equal_everything="""
class Same(str):
    __eq__ = __lt__ = lambda self, other: True
    __hash__ = lambda self: 1
value = {Same("x"): 1}""",
    a_mock="import unittest.mock; value = unittest.mock.MagicMock()",
    an_error_that_hides="""
class Hidden(BaseException):
    __class__ = property(lambda self: 1 / 0)
    __str__ = __repr__ = lambda self: str(self)
class Raises:
    def __getattribute__(self, name):
        raise Hidden()
value = Raises()""",
)
def returns(target: Target, text: str) -> str:
    return f"{text}\ndef {target.names[0]}(*arguments, **keywords):\n    return value\n"


@variants(
    JUDGED,
    a_function,
    generous_tolerance="check.show.__kwdefaults__ = {**check.show.__kwdefaults__, 'rtol': 1e300, 'atol': 1e300}",
    equal_whatever_differs="check._bundle.difference = lambda expected, actual: ''",
    coded_equal="check._bundle.difference.__code__ = (lambda expected, actual: '').__code__",
    closeness_patched="check._bundle._close = lambda *arguments: True",
    testing_patched="""
import numpy, math
numpy.testing.assert_allclose = lambda *arguments, **keywords: None
numpy.allclose = numpy.array_equal = lambda *arguments, **keywords: True
math.isclose = lambda *arguments, **keywords: True""",
    shows_nothing="check.show = lambda *arguments, **keywords: None",
    shows_what_is_expected="check.show = lambda values, **keywords: check.deliver({'version': 1, 'values': {}})",
    one_seed_for_all="check.seed = lambda: check.PRACTICE_SEED",
    no_random_numbers="""
import numpy
class Ones:
    def __getattr__(self, name):
        return lambda *arguments, size=None, **keywords: numpy.ones(size) if size else 1
check.rng = Ones""",
    trace_that_empties_what_is_shown="""
import sys
def trace(frame, event, argument):
    if frame.f_code.co_name == "show":
        frame.f_locals["values"].clear()
    return trace
sys.settrace(trace)
sys._getframe().f_trace = trace""",
    an_import_hook="""
import builtins
taken = builtins.__import__
def hooked(name, *arguments, **keywords):
    module = taken(name, *arguments, **keywords)
    if name.endswith("bundle"):
        module.bundle = lambda *arguments: {"version": 1, "rtol": 1e300, "atol": 1e300, "values": {}}
    return module
builtins.__import__ = hooked""",
    the_notebooks_own_names="""
import __main__
shell = get_ipython()
shell.user_ns["In"], shell.run_cell, shell.history_manager = ["check.show({})"], None, None
class Quiet(type(__main__)):
    __setattr__ = lambda self, name, value: None
__main__.__class__ = Quiet""",
    no_modules="import sys; sys.modules.clear()",
    no_builtins="""
import builtins
for name in ("len", "isinstance", "dict", "compile", "exec"):
    delattr(builtins, name)""",
    minitorch_itself="""
import minitorch
minitorch.Tensor.tolist = lambda self: 0.0
minitorch.Tensor.detach = lambda self: self""",
)
def patches(target: Target, text: str) -> str:
    return f"from course import check\n{text}\ndef {target.names[0]}(*arguments, **keywords):\n    return 1.0\n"


FORGE = """import gc, json, os, sys
def numbers():
    for each in gc.get_objects():
        if isinstance(each, dict) and isinstance(each.get("nonce"), str):
            yield each["nonce"]
    frame = sys._getframe()
    while frame:
        job = frame.f_locals.get("job")
        if isinstance(job, dict):
            yield job["nonce"]
        frame = frame.f_back
def forge(**message):
    for nonce in {{*numbers(), ""}}:
        line = json.dumps({{"nonce": nonce, **message}}).encode() + b"\\n"
        for name in os.listdir("/proc/self/fd"):
            try:
                os.write(int(name), line + b">" + line)  # the mark is the relay's, or its own
            except OSError:
                pass
{text}
"""
PASS = '"status": "passed", "outcome": "passed", "compared": True, "points": 100, "score": 100, "when": "call"'


@variants(
    JUDGED,
    anything,
    a_pass=f"forge(phase='solution', error='', **{{{PASS}}}); forge(phase='check', error='', shown=[], **{{{PASS}}})",
    an_empty_bundle="""
forge(phase="solution", error="")
forge(phase="check", error="", shown=[{"version": 1, "rtol": 1e300, "atol": 1e300, "values": {}}])
os._exit(0)""",
    an_end="""
forge(phase="ended")
forge(phase="check", error="", shown=[])""",
    nested_without_end="""
for name in os.listdir("/proc/self/fd"):
    try:
        os.write(int(name), b"[" * 2_000_000 + b"\\n")
    except OSError:
        pass""",
    a_number_without_end="""
forge(phase="solution", error="")
for nonce in set(numbers()):
    text = json.dumps({"nonce": nonce, "phase": "check", "error": "", "shown": ["N"]}).replace('"N"', "9" * 100_000)
    for name in os.listdir("/proc/self/fd"):
        try:
            os.write(int(name), text.encode() + b"\\n")
        except OSError:
            pass""",
    a_report_in_every_file="""
for place in ("/tmp", ".", os.path.expanduser("~"), *sys.path):
    for name in ("report.jsonl", "report.json", "results.json", "results.xml"):
        try:
            open(os.path.join(place, name), "a").write(json.dumps({STATUS}) + chr(10))
        except OSError:
            pass""",
)
def forges(target: Target, text: str) -> str:
    return FORGE.format(text=text.replace("STATUS", PASS))


@attack(NONCE, anything)
def speaks_for_later_exercises(target: Target) -> str:
    """A process that lives on and says for every exercise after this one that it passed."""
    text = """
if os.fork() == 0:
    os.setsid()
    import time
    while True:
        forge(phase="solution", error="")
        forge(phase="check", error="", shown=[], status="passed")
        time.sleep(0.01)"""
    return FORGE.format(text=text)


@attack(SALT, a_prediction)
def copies_the_digest_of_the_notebook(target: Target) -> str:
    return f"""
from course import check
def show(*arguments, **keywords):
    check.deliver({target.digests!r})
check.show.__code__ = (lambda values, **keywords: deliver({target.digests!r})).__code__
{"".join(f"{name} = lambda *arguments: 0" + chr(10) for name in target.names)}"""


@attack(SALT, a_prediction)
def forges_the_digest_of_the_notebook(target: Target) -> str:
    shown = target.digests
    text = f"forge(phase='solution', error='')\nforge(phase='check', error='', shown=[{shown!r}])\nos._exit(0)"
    return FORGE.format(text=text)


def a_number(target: Target) -> bool:
    """A prediction that is a whole number, so that all answers can be tried."""
    return a_prediction(target) and "int(prediction)" in target.check and len(target.digests["values"]) == 1


@attack(SLOW, a_number)
def tries_every_answer(target: Target) -> str:
    """Compare 60,000 guesses with the digest in the learner's notebook."""
    ((name, digest),) = target.digests["values"].items()
    return f"""
from course.checks import bundle
from course import check
for prediction in [*range(1000, 60_000), *range(1000)]:
    made = bundle.bundle({{{name!r}: prediction}}, 0, 0, True, str(check.PRACTICE_SEED))
    if made["values"][{name!r}] == {digest!r}:
        break
"""
