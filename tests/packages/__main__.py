"""Packages that are built on PyTorch, on minitorch, in an environment without PyTorch.

python -m tests.packages                     all of them, in a new environment
python -m tests.packages einops gpytorch     the programs of these names
python -m tests.packages --turn 7            a third of them, the seventh in turn
python -m tests.packages --write             all of them, and the table of docs/packages.md
python -m tests.packages --record PYTHON     records what they print with PyTorch, by the interpreter of an environment

A program begins with the packages it needs and what it does. `expected/` has what it prints with PyTorch 2.13.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
EXPECTED = HERE / "expected"
PINNED = HERE / "requirements.txt"
TABLE = ROOT / "docs" / "packages.md"
START = "<!-- written by python -m tests.packages --write -->\n"
SECONDS = 300
SETTINGS = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}


@dataclass(frozen=True)
class Program:
    """A program that uses packages."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def header(self) -> tuple[list[str], str]:
        """The packages it needs, and what it does: its docstring."""
        packages, _, purpose = self.path.read_text(encoding="utf-8").split('"""')[1].partition(": ")
        return packages.split(", "), purpose

    @property
    def expected(self) -> Path:
        return EXPECTED / f"{self.name}.txt"

    def printed(self, python: Path) -> subprocess.CompletedProcess[str]:
        """Runs it with an interpreter. The folder of the program is not on the path: it has names of packages."""
        command = [str(python), "-P", "-W", "ignore", str(self.path)]
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
                cwd=folder,
                env=os.environ | SETTINGS,
            )

    def difference(self, python: Path) -> str:
        """In what its output differs from PyTorch's: a sentence, or nothing."""
        result = self.printed(python)
        lines, wanted = result.stdout.splitlines(), self.expected.read_text(encoding="utf-8").splitlines()
        for number, (line, want) in enumerate(zip(lines, wanted, strict=False), 1):
            if not alike(line, want):
                return f"line {number} is {line!r}, PyTorch's {want!r}"
        if result.returncode:
            return f"after line {len(lines)}: {result.stderr.strip().splitlines()[-1]}"
        return "" if len(lines) == len(wanted) else f"{len(lines)} lines, PyTorch's {len(wanted)}"


def alike(line: str, want: str) -> bool:
    """Whether two lines say the same: their words are equal, and their numbers to one unit of the last digit printed.

    Another processor adds in another order, in PyTorch as in minitorch, so the digit that is rounded may differ.
    """
    if _NUMBER.split(line) != _NUMBER.split(want):
        return False
    pairs = zip(_NUMBER.findall(line), _NUMBER.findall(want), strict=True)
    return all(one == other or abs(float(one) - float(other)) <= 1.001 * _unit(other) for one, other in pairs)


_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def _unit(number: str) -> float:
    """One unit of the last digit of a number as it is printed: 0.01 of 3.14."""
    digits, _, exponent = number.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))


PROGRAMS = [Program(path) for path in sorted((HERE / "programs").glob("*.py"))]


def environment(folder: Path, packages: list[str]) -> Path:
    """Makes an environment with packages, and with minitorch in the place of PyTorch; returns its interpreter.

    Raises:
        subprocess.CalledProcessError: the packages can't be had.
    """
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    paths = {"base": str(folder), "platbase": str(folder)}
    library = Path(sysconfig.get_path("purelib", scheme="venv", vars=paths))
    (library / "minitorch.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(PINNED)]
    subprocess.run([*install, "numpy", "ml_dtypes"], check=True)
    subprocess.run([str(python), "-m", "minitorch", "--install"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*install, *packages], check=True)
    return python


def table(differences: dict[str, str]) -> str:
    """The rows for docs/packages.md."""
    versions = dict(re.findall(r"^([\w.-]+)==(\S+)$", PINNED.read_text(encoding="utf-8"), re.MULTILINE))
    rows = []
    for program in PROGRAMS:
        packages, purpose = program.header
        named = ", ".join(f"{each} {versions[each]}" for each in packages)
        lines = len(program.expected.read_text(encoding="utf-8").splitlines())
        result = f"differs: {differences[program.name]}" if differences[program.name] else f"same, {lines} lines"
        rows.append(f"| {named} | {purpose.rstrip('.')} | {result.replace('|', chr(92) + '|')} |\n")
    same = sum(not each for each in differences.values())
    head = f"{same} of {len(rows)} programs print the same.\n\n| packages | program | output |\n|---|---|---|\n"
    return head + "".join(rows)


def record(python: Path, programs: list[Program]) -> None:
    """Writes down what the programs print with another environment's PyTorch."""
    for program in programs:
        result = program.printed(python)
        if result.returncode:
            sys.exit(f"{program.name}: {result.stderr}")
        program.expected.write_text(result.stdout, encoding="utf-8")


def compare(python: Path, programs: list[Program]) -> dict[str, str]:
    """The difference of each program, printed as it is found."""
    differences = {}
    for program in programs:
        differences[program.name] = found = program.difference(python)
        print(f"{program.name}: {f'differs: {found}' if found else 'same'}", flush=True)
    return differences


def main() -> None:
    """Runs the programs that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *(each.name for each in PROGRAMS)], metavar="NAME")
    parser.add_argument("--turn", type=int)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--record", type=Path, metavar="PYTHON")
    parser.add_argument(
        "--python", type=Path, help="an environment that has the packages already, and minitorch as torch"
    )
    arguments = parser.parse_args()
    programs = [each for each in PROGRAMS if not arguments.names or each.name in arguments.names]
    if arguments.turn is not None:
        programs = programs[arguments.turn % 3 :: 3]
    if arguments.record:
        record(arguments.record, programs)
        return
    with tempfile.TemporaryDirectory() as folder:
        packages = sorted({package for each in programs for package in each.header[0]})
        try:
            python = arguments.python or environment(Path(folder), packages)
        except subprocess.CalledProcessError as error:
            print(f"Skipped: the packages can't be installed here ({error}).")
            return
        differences = compare(python, programs)
    if arguments.write:
        text, start, _ = TABLE.read_text(encoding="utf-8").partition(START)
        TABLE.write_text(text + start + table(differences), encoding="utf-8")
    print(f"{sum(not each for each in differences.values())} of {len(programs)} print the same.")
    known = set(re.findall(r"^(\w+): ", (HERE / "differs.txt").read_text(encoding="utf-8"), re.MULTILINE))
    if new := sorted({name for name, found in differences.items() if found} - known):
        sys.exit(f"These printed the same before: {', '.join(new)}")


if __name__ == "__main__":
    main()
