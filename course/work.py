"""Count work where no answer can reach: a *machine* does the expensive operation, and says at the end what it took.

A machine draws what it works with from `secret`, so nobody else can do its operation, and it puts its verdict under a
`seal`, which nobody else can make. In a grade it runs in a process of its own (`course.variants`), with a key that was
drawn for that grade.

Counting is more robust than a clock. CPU times vary by a factor of two on a loaded machine, so a limit that fails no
correct answer would let slow ones pass. A counting array stops counting after `np.asarray`, and does not see loops over
lists.
"""

from __future__ import annotations

import hashlib
import hmac
import re

import numpy as np


def secret(key: str, seed: int) -> np.random.Generator:
    """Draws what only those know who have the key; it is empty where nothing is graded."""
    return np.random.default_rng([*hashlib.sha256(f"{key} {seed}".encode()).digest()])


def seal(key: str, seed: int, told: str) -> str:
    """A sentence, and what nobody can append to it who has no key."""
    tag = hmac.digest(key.encode(), f"{seed} {told}".encode(), "sha256").hex()
    return f"{told} (sealed {tag[:16]})" if key else told


def unsealed(text: str) -> str:
    """A text for a report, without the seals in it, of which one may be cut off."""
    return re.sub(r" \(sealed [0-9a-f]*\)?", "", text)
