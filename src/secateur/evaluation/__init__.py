"""Honest scores: which rows judge, and what their verdict is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.evaluation.repeating import HeldOut, held_out

__all__ = ["HeldOut", "held_out"]


def __getattr__(name: str) -> Any:
    """Import what is public when it is asked for: engines use this package without scikit-learn."""
    if name not in __all__:
        message = f"module 'secateur.evaluation' has no attribute {name!r}"
        raise AttributeError(message)
    from secateur.evaluation import repeating

    return getattr(repeating, name)
