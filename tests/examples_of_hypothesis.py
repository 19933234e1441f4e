"""How many examples hypothesis tries: few in ./dev test, many in ./dev slow."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import settings

FACTOR = int(os.environ.get("SECATEUR_EXAMPLES_FACTOR", "1"))


def examples(number: int) -> Callable[[Any], Any]:
    """A property is tried on this many examples, and on many times as many by ./dev slow."""
    return settings(max_examples=number * FACTOR)
