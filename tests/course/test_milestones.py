"""What a learner can do with part of the course done: mytorch made of their answers, and what is not theirs yet."""

import os
import re
import subprocess
import sys

import nbformat
import pytest

from course import lesson, variables
from course.files import CODE, Course
from course.learner import package, practice
from course.notebooks.notebook import exercise_of, role

TWO_MOONS = """
import sys

from sklearn.datasets import make_moons

import mytorch as torch

points, labels = make_moons(200, noise=0.1, random_state=0)
x = torch.tensor(points.tolist())
y = torch.tensor((2.0 * labels - 1).tolist()).reshape(200, 1)
torch.manual_seed(0)
weights = [torch.randn(2, 16), torch.zeros(16), torch.randn(16, 1) * 0.25, torch.zeros(1)]
for weight in weights:
    weight.requires_grad_()
for _ in range(1500):
    w1, b1, w2, b2 = weights
    score = (x @ w1 + b1).tanh() @ w2 + b2
    ((score - y) * (score - y)).mean().backward()
    for weight in weights:
        weight.data -= 0.1 * weight.grad
        weight.grad = None
print("right:", ((score > 0) == (y > 0)).sum().item(), "minitorch:", "minitorch" in sys.modules)
"""


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A learner who has solved the core exercises of chapters 02, 02b, 03 and 06, and no other."""
    course = Course(tmp_path_factory.mktemp("learner"))
    for name in ("exercises", "solutions", "tests"):
        (course.root / name).symlink_to(CODE / name)
    for path in sorted(course.solutions.glob("0[236]*.ipynb")):
        solutions = {
            exercise_of(cell): cell.source for cell in nbformat.read(path, 4).cells if role(cell) == "solution"
        }
        for exercise in practice.exercises(course):
            if exercise.kind.parts and exercise.name in solutions:
                place = practice.solution_path(course, exercise.name)
                place.parent.mkdir(exist_ok=True)
                place.write_text(solutions[exercise.name] + "\n", encoding="utf-8")
    return course


def course_command(course: Course, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != variables.MYTORCH}
    command = [sys.executable, "-m", "course", "--root", str(course.root), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=course.root, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return ended.stdout


@pytest.mark.turns(8)
def test_two_moons_with_the_core_of_02_03_and_06(learner: Course) -> None:
    script = learner.root / "two_moons.py"
    script.write_text(TWO_MOONS, encoding="utf-8")
    printed = course_command(learner, "mine", str(script))
    found = re.search(r"right: (\d+) minitorch: (\w+)", printed)
    assert found is not None, printed
    assert int(found[1]) >= 195 and found[2] == "False", printed
    engine = (package.folder(learner) / "autograd" / "engine.py").read_text(encoding="utf-8")
    assert re.search(r"# yours \(exercise \w+\)\n(@\w+\n)*def count_arrivals", engine)
    settings = (package.folder(learner) / "settings.py").read_text(encoding="utf-8")
    assert "# the reference's\ndef set_default_dtype" in settings


@pytest.mark.turns(8)
def test_course_mine_tests_what_is_theirs_and_says_how_much(learner: Course) -> None:
    printed = course_command(learner, "mine")
    share = re.search(r"(\d+) of \d+ definitions of mytorch are yours, (\d+) %", printed)
    assert share is not None, printed
    theirs = [
        part
        for exercise in practice.exercises(learner)
        for part in exercise.kind.parts
        if practice.is_kept(learner, exercise)
    ]
    assert int(share[1]) == len(set(theirs)) > 10
    assert int(share[2]) < 50
    assert re.search(r"\d+ passed", printed) and "failed" not in printed, printed


def test_a_wrong_part_takes_the_place_of_a_right_one() -> None:
    right = lesson.mytorch(24)
    wrong = lesson.mytorch_with(
        {"mytorch.nn.activation:derivative.relu": 'derivative("relu", x=lambda g, result: 5 * g)'}, 24
    )
    gradients = []
    for mytorch in (right, wrong):
        x = mytorch.tensor([-1.0, 2.0], requires_grad=True)
        mytorch.relu(x).sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients == [[0.0, 1.0], [5.0, 5.0]]
