"""What an answer can reach: of what could do an exercise in its place, only what the reference needs as well.

While the reference runs, it is recorded which `UNITS` of minitorch and mytorch and which other installed packages it
uses. Before a learner's answer runs, all others are locked: their functions raise, and they cannot be imported.
"""

import gc
import os
import re
import sys
from collections.abc import Collection
from types import CodeType, FrameType, FunctionType
from typing import Any

from course.learner.lock import raising

UNITS = {
    "minitorch.amp": 2,
    "minitorch.autograd.engine": 3,
    "minitorch.autograd.functional": 3,
    "minitorch.autograd.gradcheck": 3,
    "minitorch.autograd.gradcheck_fast": 3,
    "minitorch.autograd.jacobians": 3,
    "minitorch.autograd.passes": 3,
    "minitorch.distributed": 2,
    "minitorch.distributions": 2,
    "minitorch.jit": 2,
    "minitorch.models": 3,
    "minitorch.nn.parallel": 3,
    "minitorch.nn.utils": 4,
    "minitorch.onnx": 2,
    "minitorch.optim": 3,
    "course.interview": 2,
    "course.tensorflow1": 2,
    "minitorch.utils": 3,
    "minitorch.viz": 2,
    "mytorch": 1,
}
"""The packages and modules that could do an exercise, and how many words of a module's name are its unit.

Tensors, operations, layers, `nn.functional` and `nn.init` belong to no unit. They call one only for gradients.
"""
_ENGINE = "minitorch.autograd.engine"
_OPERATIONS = ("minitorch.ops.", "minitorch.kernels.")
_OF_A_GRADIENT = re.compile(r"(?:\b|_)(?:backward|gradients?)(?:_|$)")
"""What is called so among the operations computes a gradient, and so belongs to the unit of who asks for gradients."""
LAYERS = "minitorch.nn"
"""Load it before an answer runs: with it come all units that are free to import, and only their functions count."""
_FREE_FUNCTIONS = {  # operations call these
    ("minitorch.autograd.engine", "sum_to_size"),
    ("minitorch.ops.pointwise.finite_differences", "gradient"),
    ("minitorch.ops.views.slicing", "unfold_backward"),
}
_FREE_PACKAGES = {
    *("numpy", "ml_dtypes", "minitorch", "course"),
    *("IPython", "asttokens", "comm", "decorator", "executing", "ipykernel", "ipywidgets", "jedi", "matplotlib_inline"),
    *("parso", "pexpect", "prompt_toolkit", "ptyprocess", "pure_eval", "pygments", "stack_data", "wcwidth"),
    *("matplotlib", "mpl_toolkits", "PIL", "contourpy", "cycler", "dateutil", "fontTools", "kiwisolver", "packaging"),
    *("pyparsing", "six", "rich", "tqdm", "typing_extensions"),
}  # what notebooks need, and what learners draw and print with, does no exercise


class Reach:
    """The units there are. Make it before a setup imports other packages: those that this process has are free."""

    def __init__(self) -> None:
        places = [place for place in sys.path if place.endswith("-packages") and os.path.isdir(place)]
        installed = {name.partition(".")[0] for place in places for name in os.listdir(place)}
        self._packages = installed - {name.partition(".")[0] for name in sys.modules} - _FREE_PACKAGES
        self._units: dict[str, str] = {}

    def unit(self, module: str) -> str:
        """The unit that a module belongs to; empty if it belongs to none."""
        if module not in self._units:
            words = module.split(".")
            above = (".".join(words[:length]) for length in range(1, len(words) + 1))
            length = next((UNITS[name] for name in above if name in UNITS), 0)
            self._units[module] = module if words[0] in self._packages else ".".join(words[:length])
        return self._units[module]

    def unit_of(self, module: str, function: str) -> str:
        """The unit that a function belongs to, by its module and its qualified name."""
        if (module, function) in _FREE_FUNCTIONS:
            return ""
        is_gradient = module.startswith(_OPERATIONS) and _OF_A_GRADIENT.search(function)
        return _ENGINE if is_gradient else self.unit(module)

    def restrict(self, needed: Collection[str]) -> None:
        """Lock all units but these, for good: functions of what is loaded raise, and nothing more can be imported."""
        for each in gc.get_objects():
            if type(each) is FunctionType:
                module = str(each.__globals__.get("__name__"))
                if (unit := self.unit_of(module, each.__qualname__)) and unit not in needed:
                    each.__code__ = raising(each.__code__, _told(f"{module}.{each.__qualname__}"))

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "import":
                name = arguments[0]
            elif event == "exec" and isinstance(arguments[0], CodeType) and arguments[0].co_name == "<module>":
                name = _module_of(arguments[0].co_filename)  # importlib.import_module is no event of the first kind
            else:
                return
            if (unit := self.unit(name)) and unit not in needed:
                raise ModuleNotFoundError(
                    f"{_told(name)}; import it below your answer if you only compare with it", name=name
                )

        sys.addaudithook(audit)  # unlike a finder of modules it cannot be removed


class Record:
    """The units that a run uses: a profile function that remembers what is called."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._called: set[tuple[str, str]] = set()
        self._before = {*sys.modules}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._called.add((str(frame.f_globals.get("__name__")), frame.f_code.co_qualname))

    def units(self) -> list[str]:
        """The units of the functions that were called and of the modules that were imported."""
        called = {self._reach.unit_of(*each) for each in self._called}
        return sorted((called | {self._reach.unit(module) for module in sys.modules.keys() - self._before}) - {""})


def _told(name: str) -> str:
    return f"{name} is out of reach in this exercise: write it yourself"


def _module_of(file: str) -> str:
    """The name of the module that stands in a file of the import path; empty if it stands in none."""
    places = [place for place in sys.path if place and file.startswith(place + os.sep)]
    inner = file.removeprefix(max(places, key=len, default=file)).lstrip(os.sep)
    return inner.removesuffix(".py").removesuffix(f"{os.sep}__init__").replace(os.sep, ".")
