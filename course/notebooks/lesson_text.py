"""What the build makes of a lesson's text: answers that fold, and proofs that a reader can follow."""

import re

from nbformat import NotebookNode

QUESTION = re.compile(
    r"^(?P<question>\*\*Interview · .+\*\*)\n\n(?P<answer>(?:(?:- | {2,}).*(?:\n|\Z)|\n(?= {2,}\S))+)", re.MULTILINE
)
"""An interview question on a line of its own, and its answer: the list below it."""

_PROOF = re.compile(r"`(proof-[\w-]+)`|\[([^\[\]]+)\]\((proof-[\w-]+)\)")
"""A proof that the text mentions, by its tag or under words of the text."""


def fold_answers(markdown: str) -> str:
    """The text with each answer folded under its question, so that a reader can try first."""
    return QUESTION.sub(_folded, markdown).rstrip("\n")


OPENING = '<details style="margin-bottom: 1em"><summary>Answer</summary>'
"""How a folded answer begins. JupyterLab leaves no room below it by itself."""


def _folded(found: re.Match[str]) -> str:
    return f"{found['question']}\n\n{OPENING}\n\n{found['answer'].rstrip()}\n\n</details>\n"


def spoken(name: str) -> str:
    """The name of a proof, `scale-first`, as readers see it: "scale first"."""
    return name.replace("-", " ")


def link_proofs(chapter: str, cells: list[NotebookNode]) -> list[str]:
    """Let each mention of a proof in the text lead to its cell.

    `` `proof-scale-first` `` becomes a link that reads "scale first", and `[words](proof-scale-first)` keeps its words.
    JupyterLab follows a link `NOTEBOOK.ipynb#cell-id=ID` to a cell.

    Returns:
        The names that the text mentions and no cell has.
    """
    places = {tag: cell for cell in cells for tag in cell.metadata.get("tags", []) if tag.startswith("proof-")}
    unknown: list[str] = []

    def link(found: re.Match[str]) -> str:
        name = found[1] or found[3]
        if name not in places:
            unknown.append(name)
            return found[0]
        words = found[2] or spoken(name.removeprefix("proof-"))
        return f"[{words}]({chapter}.ipynb#cell-id={places[name].id})"

    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = _PROOF.sub(link, cell.source)
    return unknown
