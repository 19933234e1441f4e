"""Honest scores: which rows judge, and what their verdict is worth."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.evaluation.held import HeldOut
    from secateur.evaluation.repeating import held_out
    from secateur.evaluation.resampling import Stability, stability

__all__ = ["HeldOut", "Stability", "held_out", "stability"]

_HOME_OF = {
    "HeldOut": "held",
    "held_out": "repeating",
    "Stability": "resampling",
    "stability": "resampling",
}


def __getattr__(name: str) -> Any:
    """Import what is public when it is asked for: engines use this package without scikit-learn."""
    if name not in _HOME_OF:
        message = f"module 'secateur.evaluation' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"secateur.evaluation.{_HOME_OF[name]}"), name)
