"""What a check cell calls."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course import check


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package `shapes` whose module `shapes.user` has imported a function of `shapes.core`."""

    def area(side: float) -> float:
        return side * side

    class Square:
        def area(self) -> str:
            return "class"

        @staticmethod
        def corners() -> int:
            return 4

    class Op:
        __slots__ = ("formulas", "kernel")

    op = Op()
    op.kernel, op.formulas = area, (Square(),)
    package, core, user, other = (ModuleType(name) for name in ("shapes", "shapes.core", "shapes.user", "other"))
    core.area, core.Square, core.OPS = area, Square, {"area": op}  # type: ignore[attr-defined]
    user.imported = other.imported = package.area = area  # type: ignore[attr-defined]
    for module in (package, core, user, other):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return core


def test_install_replaces_every_global_of_the_package_and_restores_it(shapes: Any) -> None:
    original, mine = shapes.area, lambda side: -1.0
    places = [
        (sys.modules[name], key)
        for name, key in (("shapes", "area"), ("shapes.core", "area"), ("shapes.user", "imported"))
    ]
    with check.install(mine, "shapes.core:area"):
        assert all(getattr(module, key) is mine for module, key in places)
        assert sys.modules["other"].imported is original
    assert all(getattr(module, key) is original for module, key in places)


def test_install_restores_after_an_exception(shapes: Any) -> None:
    original = shapes.area
    with pytest.raises(ZeroDivisionError), check.install(None, "shapes.core:area"):
        1 / 0  # noqa: B018
    assert shapes.area is original


def test_install_into_a_class_an_object_and_a_dict(shapes: Any) -> None:
    mine = lambda *_: "mine"  # noqa: E731
    before = dict(vars(shapes.Square))
    with check.install(mine, "shapes.core:Square.area"):
        assert shapes.Square().area() == "mine"
    with check.install(mine, "shapes.core:Square.corners"):
        assert shapes.Square.corners() == "mine"
    assert dict(vars(shapes.Square)) == before
    with check.install(mine, "shapes.core:OPS.area.kernel"):
        assert shapes.OPS["area"].kernel is mine
    assert shapes.OPS["area"].kernel is shapes.area
    with check.install(mine, "shapes.core:OPS.area.formulas.0.area"):
        assert shapes.OPS["area"].formulas[0].area() == "mine"
    assert shapes.OPS["area"].formulas[0].area() == "class"
    with check.install(mine, "shapes.core:OPS.area"):
        assert shapes.OPS["area"] is mine


def test_install_nowhere(shapes: Any) -> None:
    with pytest.raises(ImportError, match="nowhere"), check.install(1, "nowhere:f"):
        pass
    with pytest.raises(AttributeError, match="volume"), check.install(1, "shapes.core:volume"):
        pass


def test_the_seed_is_the_graders_or_the_practice_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINITORCH_COURSE_SEED", raising=False)
    assert check.seed() == check.PRACTICE_SEED
    practice = check.rng().integers(1 << 60)
    monkeypatch.setenv("MINITORCH_COURSE_SEED", "7")
    assert check.seed() == 7
    assert check.rng().integers(1 << 60) == check.rng().integers(1 << 60) != practice


def test_error_gives_the_exception_or_none() -> None:
    raised = check.error(int, "x", base=10)
    assert isinstance(raised, ValueError) and "invalid literal" in str(raised)
    assert check.error(int, "1") is None


def test_importing_the_package_is_light() -> None:
    import subprocess

    code = (
        "import sys, course.check; print([m for m in ('IPython', 'nbformat', 'jupytext', 'rich') if m in sys.modules])"
    )
    root = Path(check.__file__).parents[1]
    assert subprocess.check_output([sys.executable, "-c", code], cwd=root, text=True).strip() == "[]"
