"""The two distributions of a release: `minitorch`, the library alone, and `minitorch-course`, which requires it.

python -m course.authoring.distributions dist

Each wheel is built from its sdist, so what users can build themselves is what they get. A wheel built in a checkout, as
`pip install git+…` and the Dockerfile do, holds both packages instead.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from course.files import CODE

LIBRARY = Path("course", "templates", "library")


def build(root: Path, folder: Path) -> list[Path]:
    """Build both sdists and both wheels.

    Args:
        root: a checkout of the course.
        folder: where they go.

    Returns:
        The library's sdist and wheel, then the course's.
    """
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    os.environ["MINITORCH_VERSION"] = version  # read by the library's pyproject.toml
    made = []
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch, "library")
        shutil.copytree(root / LIBRARY, library)
        shutil.copy(root / "LICENSE", library)
        shutil.copytree(root / "minitorch", library / "minitorch", ignore=shutil.ignore_patterns("__pycache__"))
        for project in (library, root):
            sdist = Path(next(SdistBuilder(str(project)).build(directory=str(folder))))
            with tarfile.open(sdist) as archive:
                archive.extractall(scratch, filter="data")
            source = Path(scratch, sdist.name.removesuffix(".tar.gz"))
            wheel = next(WheelBuilder(str(source)).build(directory=str(folder), versions=["standard"]))
            made += [sdist, Path(wheel)]
    return made


if __name__ == "__main__":
    print(*build(CODE, Path(sys.argv[1])), sep="\n")
