"""From a submission take the text of the solution cells, and nothing else; everything else is the reference's."""

from collections.abc import Sequence

from nbformat import NotebookNode

from course import renamed
from course.authoring.cells import defined, has_code
from course.authoring.notebook import OURS, exercise_of, role, tasks
from course.grading import credit
from course.grading.find import RejectedError
from course.grading.submission import Submission
from course.kinds import kind_of


def chapter_of(notebook: NotebookNode, stem: str, chapters: Sequence[str]) -> str:
    """The chapter that a submission belongs to, by its metadata.

    Args:
        notebook: the submission.
        stem: the file's name, without its ending.
        chapters: those that there are.

    Raises:
        RejectedError: none of `chapters`, or another one than the file's name says.
    """
    ours = notebook.metadata.get(OURS)
    chapter = ours.get("chapter") if isinstance(ours, dict) else None
    if not isinstance(chapter, str):
        raise RejectedError("not a notebook of this course: its metadata name no chapter")
    if chapter not in chapters:
        raise RejectedError(f"chapter {chapter!r} has no reference here")
    if stem in chapters and stem != chapter:
        raise RejectedError(f"the file is called {stem}, but holds chapter {chapter}")
    return chapter


def solutions_of(notebook: NotebookNode, reference: NotebookNode) -> Submission:
    """The solution cells of a submission whose exercises the reference knows."""
    notebook, stubs = renamed.notebook_now(notebook), stubs_of(reference)
    found: dict[str, list[str]] = {name: [] for name in stubs}
    unknown = 0
    ours = {cell.id for cell in reference.cells}
    checking = {cell.id for cell in reference.cells if role(cell) == "check"}
    made = Submission(reference.metadata[OURS]["chapter"], {}, [])
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        about = cell.metadata.get("nbgrader")
        name = about.get("grade_id") if isinstance(about, dict) else None
        exercise = name if isinstance(name, str) and name in found else ""
        if exercise:
            found[exercise].append(cell.source)
        elif cell.get("id") not in ours:
            unknown += 1
        if cell.get("id") in checking:
            continue  # what a check defines is not there for solutions
        first = next(iter(cell.source.strip().splitlines()), "")
        made.names.append((f"cell {number}, `{first[:60]}`", exercise, sorted(_names(cell.source))))
    kinds = {name: kind_of(about) for name, about in tasks(reference).items()}
    for name, sources in found.items():
        if len(sources) > 1:
            made.notes.append(f"{name}: {len(sources)} cells, joined in order")
        if not sources:
            continue
        with_code = [text for text in sources if has_code(text, stubs[name])]
        text = made.solutions[name] = "\n\n".join(with_code or sources[:1])
        if with_code:
            made.answered.append(name)
            for share in kinds[name].shares:
                made.idle[credit.key(name, share.parts)] = credit.untried(text, stubs[name], share.parts)
    if unknown:
        made.notes.append(f"{unknown} code cell{'s' * (unknown > 1)} that the learner added not run")
    return made


def _names(text: str) -> set[str]:
    """The names that a cell defines; none if it is no Python."""
    try:
        return defined(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def stubs_of(reference: NotebookNode) -> dict[str, str]:
    """What the learner starts from, by exercise; in a learner's notebook as built that is the cell itself."""
    solutions = [cell for cell in reference.cells if role(cell) == "solution"]
    return {exercise_of(cell): cell.metadata[OURS].get("stub", cell.source) for cell in solutions}
