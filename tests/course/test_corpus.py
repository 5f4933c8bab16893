"""The recorded answers and the mutants of the reference: what is refused in their files, and what grading them says."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from course.__main__ import main
from course.authoring.corpus import read_answers
from course.authoring.equivalents import read_equivalents
from course.authoring.mutate import mutants
from course.authoring.trials import unmade
from course.files import CODE, Course
from course.source.exercises import SourceError, read_exercises
from tests.turn import in_turn, this_turn

RECORDS = in_turn(sorted(CODE.glob("chapters/*/equivalent.yml")), 8, this_turn())
LAST = """# %% answer="core_strides" {says}
def strides(size):
    return {value}
"""
ANSWERS = """# %% [markdown]
# Answers.

# %% answer="core_tensor" wrong="counts from one" spoils="rows"
def rows(self):
    return len(self.values) + 1

# %% answer="core_tensor" wrong="as a string" spoils="rows"
def rows(self):
    return len(self.values)

# %% answer="core_tensor" right="asks for the length"
def rows(self):
    return len(self.values)

def describe(self, name="tensor"):
    return f"{name}\\n  rows: {len(self.values)}"

# %% answer="core_tensor" right="negated"
def rows(self):
    return -len(self.values)
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('# %% answer="nothing" wrong="why"\nx = 1', ":1: the chapter has no exercise 'nothing'"),
        ("# %%\nx = 1", ':1: a cell is text, or code that opens with answer="NAME"'),
        (LAST.format(says="", value=0), ":1: an answer is either wrong="),
        (LAST.format(says='wrong="a" right="b"', value=0), ":1: an answer is either wrong="),
        (LAST.format(says='wrong=" "', value=0), ":1: an answer says why"),
        (LAST.format(says='wrong="a" rihgt="b"', value=0), ":1: unknown cell metadata: rihgt"),
        (
            LAST.format(says='wrong="a"', value=0) + LAST.format(says='wrong="b"', value=0),
            ":4: the same text as the answer in line 1",
        ),
        ('# %% answer="core_strides" wrong="a"\ndef other(): ...', "defines one of its parts: strides"),
        ('# %% answer="measure_offset" wrong="a"\ndef first(): ...', "an answer to 'measure_offset' defines last"),
        ('# %% answer="measure_offset" wrong="a"\ndef last(:', "line 1 of the cell: "),
        ('# %% answer="core_tensor" wrong="a" spoils="row"\ndef rows(self): ...', "spoils= names parts with points"),
        (LAST.format(says='wrong="a" open="b"', value=0), "known to be misjudged has open=true"),
        ('# %% answer="core_tensor" right="a" spoils="rows"\ndef rows(self): ...', "only a wrong answer spoils parts"),
    ],
)
def test_what_is_refused_in_a_file_of_answers(core_course: Course, tmp_path: Path, cell: str, message: str) -> None:
    source = read_exercises(core_course.chapters / "06_core" / "exercises.py")
    path = tmp_path / "answers.py"
    path.write_text(cell)
    with pytest.raises(SourceError) as raised:
        read_answers(path, source, core_course.chapters / "mytorch")
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing: [{was: a, becomes: b, because: c}]", "the chapter has no exercise 'nothing'"),
        ("core_strides: [{was: a, becomes: b}]", "a mutant has was, becomes and because"),
        ("core_strides: [{was: a, becomes: b, because: ''}]", "a mutant has was, becomes and because"),
    ],
)
def test_what_is_refused_in_a_file_of_equivalents(core_course: Course, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "equivalent.yml"
    path.write_text(text)
    with pytest.raises(SourceError, match=message):
        read_equivalents(path, read_exercises(core_course.chapters / "06_core" / "exercises.py"))


def run(course: Course, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--root", str(course.root), *arguments])


@pytest.mark.turns(8)
def test_answers_that_are_misjudged_are_listed_with_their_line(own_core_course: Course) -> None:
    (own_core_course.chapters / "06_core" / "answers.py").write_text(ANSWERS)
    said = run(own_core_course, "answers", "06", "--seed", "3")
    assert said.exit_code == 1, said.output
    assert "06_core/answers.py:8: core_tensor: wrong, but scores (2 of 2): as a string\n" in said.stdout
    assert "06_core/answers.py:19: core_tensor: right, but refused (1 of 2): negated\n    Tensor.rows: " in said.stdout
    assert said.stdout.endswith("2 of 4 answers misjudged (seed 3)\n")
    assert "counts from one" not in said.stdout and "asks for the length" not in said.stdout


@pytest.mark.turns(8)
def test_a_wrong_answer_that_loses_the_points_of_another_part_alone_scores(own_core_course: Course) -> None:
    text = ANSWERS.split("\n\n")[1].replace('spoils="rows"', 'spoils="describe"')
    (own_core_course.chapters / "06_core" / "answers.py").write_text(text)
    assert "core_tensor: wrong, but scores (1 of 2): counts from one" in run(own_core_course, "answers").stdout


@pytest.mark.turns(8)
def test_an_open_answer_is_listed_once_it_is_judged_as_it_should_be(own_core_course: Course) -> None:
    text = ANSWERS.replace('"as a string"', '"as a string" open=true').replace(
        '="counts from one"', '="off by 1" open=true'
    )
    (own_core_course.chapters / "06_core" / "answers.py").write_text(
        text.partition('# %% answer="core_tensor" right')[0]
    )
    said = run(own_core_course, "answers", "06", "--seed", "3")
    assert "06_core/answers.py:4: core_tensor: judged as it should be: it is not open any more" in said.stdout
    assert said.stdout.endswith("1 of 2 answers misjudged (seed 3)\n"), said.output


def test_answers_to_one_exercise_alone(own_core_course: Course) -> None:
    text = ANSWERS + LAST.format(says='right="a formula"', value=())
    (own_core_course.chapters / "06_core" / "answers.py").write_text(text)
    assert "1 of 1 answers misjudged" in run(own_core_course, "answers", "core_strides").stdout
    said = run(own_core_course, "answers", "core_stride")
    assert (said.exit_code, said.output) == (
        1,
        "Error: there is no chapter or exercise 'core_stride'; did you mean core_strides?\n",
    )


def changed(text: str) -> set[tuple[str, str]]:
    solution = f"def f(x, dim):\n    ### BEGIN SOLUTION\n    {text}\n    ### END SOLUTION\n"
    return {(mutant.was, mutant.becomes) for mutant in mutants(solution)}


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("y = x.clone()", "y = x"),
        ("y = copy.deepcopy(x)", "y = x"),
        ("y = list(x)", "y = x"),
        ("y = g(x, device=d)", "y = g(x)"),
        ("y = g(a, b)", "y = g(b, a)"),
        ("y = x < dim", "y = (x <= dim)"),
        ("y = x < dim", "y = x < (dim + 1)"),
        ("y = x + dim", "y = (x - dim)"),
        ("y = 0", "y = 1"),
        ("y = x + z", "y = x"),
        ("x = x + z", "x += z"),
        ("y = x.mul(z)", "y = x.mul_(z)"),
        ("y = [each for each in x if each]", "y = [each for each in x]"),
        ("y = a or b", "y = (a and b)"),
        ("x.y = 2", "pass"),
        ("return x", "pass"),
        ("with no_grad(): g()", "if True:\n    g()"),
        ("if x: g()", "if False:\n    g()"),
        ("y = 'é', x.clone()", "y = 'é', x"),
    ],
)
def test_what_a_mutant_changes(was: str, becomes: str) -> None:
    assert (was, becomes) in changed(was)


def test_try_and_loops_and_elif_keep_their_bodies() -> None:
    assert ("try:\nfinally:", "if True:") in changed("try:\n        g()\n    finally:\n        h()")
    assert ("", "break") in changed("for each in x:\n        g(each)")
    assert ("elif y:", "elif False:") in changed("if x:\n        g()\n    elif y:\n        h()")


def test_only_the_learners_lines_are_changed_and_no_mutant_is_the_answer() -> None:
    begin, end = "    ### BEGIN SOLUTION\n", "    ### END SOLUTION\n"
    solution = f'A = 0\n\n\ndef f(x: "0" = 0):\n    """0"""\n{begin}    y: int = 0  # 0\n{end}'
    assert [str(mutant) for mutant in mutants(solution)] == ["- y: int = 0  # 0\n+ y: int = 1  # 0"]


def test_a_loop_is_stopped_after_its_first_round_unless_it_ends_there_anyway() -> None:
    assert ("for each in x: g(each)", "for each in x:\n    g(each)\n    break") in changed("for each in x: g(each)")
    assert not any("break" in becomes for _, becomes in changed("for each in x: return each"))


@pytest.mark.turns(8)
def test_survivors_are_listed_unless_they_are_recorded_as_equivalent(own_core_course: Course) -> None:
    chapter = own_core_course.chapters / "06_core"
    source = (chapter / "exercises.py").read_text()
    (chapter / "exercises.py").write_text(source.replace("return torch.empty(7, 5).numel() - 1", "return 0 + 34"))
    said = run(own_core_course, "mutants", "measure_offset", "--seed", "3")
    was, becomes = "return 0 + 34", "return 34"
    assert said.stdout == f"measure_offset\n- {was}\n+ {becomes}\n\n1 of 6 mutants pass (seed 3)\n", said.output
    assert said.exit_code == 1
    entry = {"was": was, "becomes": becomes, "because": "It adds nothing."}
    (chapter / "equivalent.yml").write_text(json.dumps({"measure_offset": [entry]}))
    again = run(own_core_course, "mutants", "measure_offset", "--seed", "3")
    assert (again.stdout, again.exit_code) == ("0 of 5 mutants pass (seed 3)\n", 0)


@pytest.mark.turns(8)
def test_records_of_mutants_that_are_gone_or_refused_are_listed(own_core_course: Course) -> None:
    chapter, was = own_core_course.chapters / "06_core", "return torch.empty(7, 5).numel() - 1"
    refused, gone = "return torch.empty(7, 5).numel() - 0", "return torch.empty(5, 7).numel() - 2"
    entries = [{"was": was, "becomes": becomes, "because": "It is."} for becomes in (refused, gone)]
    (chapter / "equivalent.yml").write_text(json.dumps({"measure_offset": entries}))
    said = run(own_core_course, "mutants", "measure_offset", "--seed", "3")
    about = "measure_offset: recorded as equivalent, but"
    assert f"{about} its check refuses this\n- {was}\n+ {refused}\n" in said.stdout, said.output
    assert f"{about} no mutant is made of this\n- {was}\n+ {gone}\n" in said.stdout
    assert "; 2 of those recorded as equivalent have to be removed (seed 3)\n" in said.stdout
    assert said.exit_code == 1
    assert "recorded" not in run(own_core_course, "mutants", "core_strides", "--seed", "3").stdout


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_each_record_names_a_mutant_or_a_spoiler_of_the_reference(path: Path) -> None:
    source = read_exercises(path.with_name("exercises.py"))
    assert [str(each) for each in unmade(source, read_equivalents(path, source))] == []
