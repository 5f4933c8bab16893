"""Packages that are built on PyTorch, on minitorch, in an environment without PyTorch.

python -m tests.packages                     all of them, in a new environment
python -m tests.packages einops gpytorch     the programs of these names
python -m tests.packages --turn 7            a third of them, the seventh in turn
python -m tests.packages --write             all of them, and the table of docs/packages.md
python -m tests.packages --record PYTHON     records what they print with PyTorch, by the interpreter of an environment

A program begins with the packages it needs and what it does. `expected/` has what it prints with PyTorch 2.13. The
programs of transformers run in two environments, one of the older release and one of the newer.
Programs of packages that pip finds nowhere are named as not tried; with MINITORCH_REQUIRE_ALL=1 that is a failure.
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
NEWER = HERE / "requirements-newer.txt"
TABLE = ROOT / "docs" / "packages.md"
START = "<!-- written by python -m tests.packages --write -->\n"
SECONDS = 300
SETTINGS = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}


@dataclass(frozen=True)
class Program:
    """A program that uses packages, and the file that pins them."""

    path: Path
    pinned: Path = PINNED

    @property
    def name(self) -> str:
        return self.path.stem + "_newer" * (self.pinned == NEWER)

    @property
    def header(self) -> tuple[list[str], str]:
        """The packages it needs, and what it does: its docstring."""
        packages, _, purpose = self.path.read_text(encoding="utf-8").split('"""')[1].partition(": ")
        return packages.split(", "), purpose

    @property
    def expected(self) -> Path:
        """What it prints with PyTorch; in a newer environment the same, unless there is a file that says otherwise."""
        own = EXPECTED / f"{self.name}.txt"
        return own if own.exists() else EXPECTED / f"{self.path.stem}.txt"

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
PROGRAMS += [Program(each.path, NEWER) for each in PROGRAMS if "transformers" in each.header[0]]


def environment(folder: Path, packages: list[str], pinned: Path) -> tuple[Path, set[str]]:
    """Makes an environment with packages, and with minitorch in the place of PyTorch.

    Returns:
        Its interpreter, and the packages that pip finds nowhere.

    Raises:
        subprocess.CalledProcessError: pip finds the packages, and can't install them.
    """
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    paths = {"base": str(folder), "platbase": str(folder)}
    library = Path(sysconfig.get_path("purelib", scheme="venv", vars=paths))
    (library / "minitorch.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    if lacking := install(python, ["numpy", "ml_dtypes"], pinned):
        return python, {*lacking, *packages}
    subprocess.run([str(python), "-m", "minitorch", "--install"], check=True, stdout=subprocess.DEVNULL)
    return python, install(python, packages, pinned)


def install(python: Path, packages: list[str], pinned: Path) -> set[str]:
    """Installs the packages that pip finds; returns the others.

    Raises:
        subprocess.CalledProcessError: pip finds them, and can't install them.
    """
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(pinned)]
    if subprocess.run([*pip, *packages], check=False).returncode == 0:
        return set()
    lacking = {each for each in packages if not is_found(python, each, versions(pinned)[each])}
    if found := [each for each in packages if each not in lacking]:
        subprocess.run([*pip, *found], check=True)
    return lacking


def is_found(python: Path, package: str, version: str) -> bool:
    """Whether pip finds a package and what it requires; asked without constraints, whose message tells nothing."""
    command = [str(python), "-m", "pip", "install", "--dry-run", "--quiet", f"{package}=={version}"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return "No matching distribution found" not in asked.stderr


def versions(pinned: Path) -> dict[str, str]:
    """The version of each package that a file pins."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", pinned.read_text(encoding="utf-8"), re.MULTILINE))


def table(differences: dict[str, str]) -> str:
    """The rows for docs/packages.md."""
    rows = []
    for program in PROGRAMS:
        packages, purpose = program.header
        pinned = versions(program.pinned)
        named = ", ".join(f"{each} {pinned[each]}" for each in packages)
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
        (EXPECTED / f"{program.name}.txt").write_text(result.stdout, encoding="utf-8")


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
    differences, lacking = {}, set[str]()
    for pinned in sorted({each.pinned for each in programs}):
        some = [each for each in programs if each.pinned == pinned]
        packages = sorted({package for each in some for package in each.header[0]})
        with tempfile.TemporaryDirectory() as folder:
            made = (arguments.python, set[str]()) if arguments.python else environment(Path(folder), packages, pinned)
            python, absent = made
            differences |= compare(
                python, [each for each in some if not absent.intersection(("numpy", *each.header[0]))]
            )
        lacking |= absent
    left_out = [each.name for each in programs if each.name not in differences]
    if left_out:
        why = f"pip finds none of these here: {', '.join(sorted(lacking))}"
        print(f"NOT TRIED: {len(left_out)} of {len(programs)} programs ({', '.join(left_out)}). {why}", flush=True)
    if arguments.write:
        if left_out:
            sys.exit("The table needs all of them.")
        text, start, _ = TABLE.read_text(encoding="utf-8").partition(START)
        TABLE.write_text(text + start + table(differences), encoding="utf-8")
    print(f"{sum(not each for each in differences.values())} of {len(differences)} that ran print the same.")
    known = set(re.findall(r"^(\w+): ", (HERE / "differs.txt").read_text(encoding="utf-8"), re.MULTILINE))
    if new := sorted({name for name, found in differences.items() if found} - known):
        sys.exit(f"These printed the same before: {', '.join(new)}")
    if left_out and os.environ.get("MINITORCH_REQUIRE_ALL") == "1":
        sys.exit("MINITORCH_REQUIRE_ALL=1 forbids to leave programs out.")


if __name__ == "__main__":
    main()
