"""A check judges the answer in its cell as it last ran: in a kernel that is asked as JupyterLab asks it."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

import minitorch
from course import variables
from course.files import CODE, Course
from course.learner import practice, progress, ran

RIGHT = "def contiguous_strides(size):\n    return tuple(int(np.prod(size[d + 1:])) for d in range(len(size)))"
NAME = "contiguous_strides"
Say = Callable[..., str]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Callable[[Course], Say]]:
    """Starts a kernel with what the wheel has for IPython; gives what runs a cell and returns what it shows."""
    profile = tmp_path / "ipython" / "profile_default"
    shutil.copytree(CODE / "course/jupyter/etc/ipython", profile)
    running: list[Any] = []

    def start(course: Course) -> Say:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (CODE, course.root))),
            "IPYTHONDIR": str(profile.parent),
        }
        for name in ("MINITORCH_COURSE_SEED", variables.MYTORCH):
            environment.pop(name, None)
        manager, client = start_new_kernel(cwd=str(course.exercises), env=environment)
        running.extend([client.stop_channels, manager.shutdown_kernel])

        def say(text: str, cell: str = "", silent: bool = False) -> str:
            content = {"code": "" if silent else text, "silent": silent, "store_history": not silent}
            content |= {"user_expressions": {"answer": text} if silent else {}, "stop_on_error": False}
            message = client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
            client.shell_channel.send(message)
            shown: list[str] = []
            while True:
                reply = client.get_iopub_msg(timeout=120)
                if reply["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                    continue
                about = reply["content"]
                match reply["msg_type"]:
                    case "status" if about["execution_state"] == "idle":
                        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(shown))
                    case "stream":
                        shown.append(about["text"])
                    case "error":
                        shown.append("\n".join(about["traceback"]))
                    case "display_data" | "execute_result":
                        shown.append(about["data"]["text/plain"])

        return say

    yield start
    for stop in reversed(running):
        stop()


def test_what_ran_last_counts_and_the_setup_runs_by_itself(own_course: Course, kernel: Callable[[Course], Say]) -> None:
    say = kernel(own_course)
    exercises = {each.name: each for each in practice.exercises(own_course)}
    check = exercises[NAME].check

    first = say(check)
    assert first.startswith("The setup cells at the top had not run"), first
    assert "Not answered yet: write your answer into the cell above" in first and "NameError" not in first

    assert say(RIGHT, NAME) == ""
    assert say(check).startswith("✓ Right")
    say(RIGHT[:-1], NAME)  # a parenthesis is missing
    line = RIGHT.partition("    ")[2][:-1]
    assert say(check) == (
        f"✗ The cell with your answer is not valid Python: SyntaxError: '(' was never closed (line 2: `{line}`). "
        "Fix it and run it, then this one."
    )
    say(RIGHT[:-1].replace("size):", "sizes):"))  # in an editor that gives no ids
    assert "is not valid Python" in say(check)
    say(f"{RIGHT}\n1 / 0", NAME)
    assert "stopped with ZeroDivisionError: division by zero" in say(check)
    say(RIGHT, NAME)
    assert say(check).startswith("✓ Right")

    say(RIGHT.replace("contiguous_strides", "contigous_strides"), NAME)  # the right one is still in the kernel
    assert say(check) == (
        "✗ The cell with your answer does not define `contiguous_strides`. Fix it and run it, then this one."
    )
    assert "def contiguous_strides" in practice.solution_path(own_course, NAME).read_text(encoding="utf-8")
    say(RIGHT, NAME)

    def asked(text: str) -> str:
        ask = f"on_screen({json.dumps(NAME)}, {json.dumps(text)})"
        say(f'__import__("course.learner.lab", fromlist=["lab"]).{ask}', silent=True)
        return say(check)

    assert asked(f"{RIGHT}  # changed").startswith("✗ The cell with your answer has changed since it ran")
    assert asked(RIGHT).startswith("✓ Right")

    say("def contiguous_strides(size):\n    print('an earlier answer')", NAME)
    assert "an earlier answer" in say(check)
    progress.reset(own_course, NAME)  # in another process
    assert not practice.solution_path(own_course, NAME).exists()
    after = say(check)
    assert "Not answered yet" in after
    assert "an earlier answer" not in after  # it may be the one that never ends
    assert not practice.solution_path(own_course, NAME).exists()


def test_an_answer_of_the_wrong_kind_is_told_in_words(own_course: Course, kernel: Callable[[Course], Say]) -> None:
    say = kernel(own_course)
    exercises = {each.name: each for each in practice.exercises(own_course)}
    say("prediction = 7", "predict_strides")
    assert say(exercises["predict_strides"].check) == (
        "✗ Not yet.\nYour `prediction` is an int; the check then failed with TypeError: 'int' object is not iterable"
    )
    say("def contiguous_strides(size):\n    return 1.5", NAME)
    told = say(exercises[NAME].check)
    assert told.startswith("✗ Not yet.\nYour `contiguous_strides` gave a float; the check then failed with TypeError: ")
    assert "Traceback" not in told
    say("def contiguous_strides(size):\n    return size.nothing  # mine", NAME)
    assert "# mine" in say(exercises[NAME].check)  # what the learner's own code raised is shown where it stands
    raised = say("F.relu")
    assert "NameError" in raised and "`F` comes with `from minitorch.nn import functional as F`." in raised
    assert "`layout` comes with `from toy import layout`." in say("del layout\nlayout")


def test_a_forgotten_return_is_told_in_words() -> None:
    error = "AttributeError: 'NoneType' object has no attribute 'backward'"
    assert ran.failed("your `f` gave None", error).endswith("A function that doesn't `return` anything gives None.")
    assert "return" not in ran.failed("your `f` gave a Tensor", error)


def test_a_result_outside_the_graph_is_told_in_words() -> None:
    with pytest.raises(RuntimeError) as raised:
        minitorch.ones(1).sum().backward()
    told = ran.failed("your `f` gave a Tensor", f"RuntimeError: {raised.value}")
    assert told.startswith(
        "Your `f` gave a Tensor; the check then failed with RuntimeError: element 0 of tensors does not"
    )
    assert "\nThe result isn't connected to the inputs: " in told
    assert "connected" not in ran.failed("", "RuntimeError: something else")


def test_a_core_answer_that_is_no_python_is_told_with_its_line(
    own_core_course: Course, kernel: Callable[[Course], Say]
) -> None:
    say = kernel(own_core_course)
    (exercise, *_) = (each for each in practice.exercises(own_core_course) if each.kind.parts)
    say("def strides(size):\n    return tuple(", exercise.name)
    assert say(exercise.check) == (
        "✗ The cell with your answer is not valid Python: SyntaxError: '(' was never closed (line 2: `return tuple(`). "
        "Fix it and run it, then this one."
    )


def test_a_core_answer_without_one_of_its_parts_is_told_which(
    own_core_course: Course, kernel: Callable[[Course], Say]
) -> None:
    say = kernel(own_core_course)
    exercise = practice.find(own_core_course, "core_tensor")
    say("def rows(self):\n    return len(self.values)", exercise.name)
    told = say(exercise.check)
    assert told.startswith("✗ Not yet: the cell does not define describe.\n✗ Not yet.\nTensor.describe: "), told
    assert "Traceback" not in told and "rows: " not in told


def test_a_kernel_elsewhere_is_left_alone(own_course: Course, kernel: Callable[[Course], Say]) -> None:
    (own_course.root / "elsewhere" / "exercises").mkdir(parents=True)
    say = kernel(Course(own_course.root / "elsewhere"))
    assert say("import sys; 'course.check' in sys.modules") == "False"
