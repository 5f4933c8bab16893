"""Plant faults into a program whose author writes each of them as edits of the program without faults.

An edit is a comment that names a line, without its indentation, and the comments below it what stands in its place:

    # - seen = torch.ones(length, length, dtype=torch.bool).tril()
    # + seen = torch.ones(length, length, dtype=torch.bool).triu()
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from course.source import cells

if TYPE_CHECKING:
    from course.source.exercises import ExerciseSource

IMPORTS = "import minitorch as torch\nfrom minitorch.nn import functional as F\n"
"""What programs may use beside `np`."""
_NO_TESTS = "    ### BEGIN STUB\n    # # YOUR CODE HERE\n    # raise NotImplementedError()\n    ### END STUB"
_TESTS = re.compile(r"^def tests\(", re.MULTILINE)


def planted(program: str, edits: str) -> str:
    """The program with some edits.

    Raises:
        ValueError: a line to be edited isn't there exactly once, or there is no edit.
    """
    lines, place = program.splitlines(), None
    for edit in edits.splitlines():
        sign, text = edit[:4], edit[4:].rstrip()
        if sign == "# - ":
            found = [number for number, line in enumerate(lines) if line.strip() == text.strip()]
            if len(found) != 1:
                raise ValueError(f"the line {text.strip()!r} is in the program {len(found)} times")
            place = found[0]
            indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
            del lines[place]
        elif sign == "# + " and place is not None:
            lines.insert(place, f"{indent}{text}")
            place += 1
    if place is None:
        raise ValueError("a variant has edits: a line that begins with '# - ', and others with '# + '")
    return "\n".join(lines)


def complete(exercise: ExerciseSource) -> str:
    """Make of edits the variants of an exercise, the stub, and a mutant for each fault in it.

    Mutants that define `tests` alone get the program without faults.

    Returns:
        The program that the learner gets.

    Raises:
        ValueError: the solution cell doesn't end with `tests`, or an edit has no line of its own.
    """
    from course.source.exercises import Mutant

    assert exercise.solution is not None
    answer = cells.solved(exercise.solution.text)
    begin = _TESTS.search(answer)
    if begin is None:
        raise ValueError("the solution cell ends with a function `tests`")
    program, tests = answer[: begin.start()].rstrip(), answer[begin.start() :]
    given = program
    for variant in exercise.variants:
        if variant.shown:
            given = planted(given, variant.text)
            says = " ".join(line[2:] for line in variant.text.splitlines() if line[:4] not in ("# - ", "# + "))
            fault = f"{planted(program, variant.text)}\n\n\n{tests}"
            exercise.mutants.append(Mutant(f"Left in: {variant.says}", says, fault, []))
    for mutant in exercise.mutants:
        if mutant.text.startswith("def tests("):
            mutant.text = f"{program}\n\n\n{mutant.text}"
    every = [replace(each, text=IMPORTS + planted(program, each.text), shown=False) for each in exercise.variants]
    clean = replace(every[0], is_right=True, says="the program without faults", text=IMPORTS + program)
    exercise.variants[:] = [clean, *every]
    stub = "\n".join(f"# {line}".rstrip() for line in given.splitlines())
    block = f"### BEGIN SOLUTION\n{program}\n### END SOLUTION\n### BEGIN STUB\n{stub}\n### END STUB\n\n\n"
    text = exercise.solution.text
    asked = text[text.index("def tests(") :].replace("    ### END SOLUTION", f"    ### END SOLUTION\n{_NO_TESTS}")
    exercise.solution = replace(exercise.solution, text=block + asked)
    return IMPORTS + given
