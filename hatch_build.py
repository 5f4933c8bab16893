"""What a wheel of the course carries beside its package, and what it requires.

The folders that `course start` lays out are below `course/data`. They are not there in an editable installation, whose
`course` stands beside them.
"""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "minitorch"  # as course/templates/library/pyproject.toml calls it


class Folders(BuildHookInterface[Any]):
    """Adds them to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files that the wheel gets, and the library, where it isn't one of them.

        Args:
            version: "standard" or "editable".
            build_data: what hatchling builds.
        """
        if version == "standard":
            root = Path(self.root)
            files = runpy.run_path(str(root / "course" / "files.py"))
            names = files["shipped"](root)
            build_data["force_include"] |= {str(root / name): f"course/data/{name}" for name in names}
            if not (root / "minitorch").exists():  # in an sdist, so in a release
                build_data["dependencies"].append(f"{LIBRARY}=={self.metadata.version}")
