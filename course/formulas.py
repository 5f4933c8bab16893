"""Formulas of the lessons in plain text: neither a terminal nor a widget sets LaTeX."""

from __future__ import annotations

import re

_CODE_OR_FORMULA = re.compile(
    r"```.*?```|`[^`\n]*`|\$\$(?P<display>.+?)\$\$|\$(?P<formula>[^$\n]+(?:\n[^$\n]+)?)\$", re.DOTALL
)
_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_FUNCTION = r"(?:(?<=\\ln )|(?<=\\(?:log|cos|sin|exp) ))"
"""Behind the name of a function, whose argument a fraction is."""
_SIGNS = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "eta": "η",
    "lambda": "λ",
    "mu": "μ",
    "pi": "π",
    "sigma": "σ",
    "cdot": "·",
    "tau": "τ",
    "times": "×",
    "to": "→",
    "pm": "±",
    "le": "≤",
    "ge": "≥",
    "partial": "∂",
    "sum": "Σ",
    "top": "ᵀ",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "infty": "∞",
    "sqrt": "√",
}
"""LaTeX's names of signs. Other names stand for themselves, as `log` does."""


def plain(text: str, is_markdown: bool = True) -> str:
    """A text in which each formula between dollar signs is plain text, and code is as it was.

    Args:
        is_markdown: whether it will be set as Markdown, so that Markdown's own signs in a formula need a backslash.
    """

    def read(found: re.Match[str]) -> str:
        formula = _read(found["display"] or found["formula"] or "")
        return (re.sub(r"([_*|\\])", r"\\\1", formula) if is_markdown else formula) or found[0]

    return _CODE_OR_FORMULA.sub(read, text)


def _read(formula: str) -> str:
    """A formula as somebody would type it: a fraction with a slash, a root with its sign."""
    formula = formula.replace("\n", " ")
    formula = re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", formula)
    before = ""
    while before != formula:  # from the inside out
        before = formula
        formula = re.sub(rf"\\text{_GROUP}", r"\1", formula)
        formula = re.sub(rf"{_FUNCTION}\\frac{_GROUP}{_GROUP}", lambda part: f"({_over(part)})", formula)
        formula = re.sub(rf"\\frac{_GROUP}{_GROUP}", _over, formula)
        formula = re.sub(rf"\\sqrt{_GROUP}", lambda part: f"√{_one(part[1])}", formula)
        formula = re.sub(rf"\^{_GROUP}", lambda part: f"^{_one(part[1], also='_')}", formula)
        formula = re.sub(rf"_{_GROUP}", lambda part: f"_{_one(part[1])}", formula)
    formula = formula.replace(r"\_", "_").replace("^\\top", "ᵀ")
    formula = re.sub(r"\\hat\s*\{?(\w)\}?", "\\1\u0302", formula)
    formula = re.sub(r"\\sqrt\s+", "√", formula)
    formula = re.sub(r"\\([a-z]+)", lambda name: _SIGNS.get(name[1], name[1]), formula)
    formula = re.sub(r"\\([{}])", r"\1", formula)
    return re.sub(r"\\[,;:! ]\s*", " ", formula)  # spaces


def _over(part: re.Match[str]) -> str:
    return f"{_one(part[1])}/{_one(part[2])}"


def _one(part: str, also: str = "") -> str:
    """A part of a formula, in brackets unless it is one word; in brackets, too, if it has a sign of `also`."""
    is_one = re.fullmatch(r"\\?\w+(?:\\_\w+)*", part) and not (also and also in part)
    return part if is_one else f"({part})"
