"""Reading and writing by position."""

from __future__ import annotations
