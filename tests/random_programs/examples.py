"""How many random programs are run: RANDOM_PROGRAMS of them, new ones each time; otherwise 300, always the same."""

from __future__ import annotations

import os

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "300"))
DERANDOMIZE = "RANDOM_PROGRAMS" not in os.environ
