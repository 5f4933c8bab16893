"""What a wheel carries beside the packages, below `course/data`: the folders that `course start` lays out.

They are not there in an editable installation, whose `course` stands beside them.
"""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Folders(BuildHookInterface[Any]):
    """Adds them to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files that the wheel gets; `version` is "standard" or "editable"."""
        if version == "standard":
            root = Path(self.root)
            files = runpy.run_path(str(root / "course" / "files.py"))
            names = files["shipped"](root)
            build_data["force_include"] |= {str(root / name): f"course/data/{name}" for name in names}
