"""Methods that cannot be raced on a table: they fail on every fold, and say why."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from secateur.exceptions import ParameterError


class Unsuited(BaseEstimator):  # type: ignore[misc]  # untyped base
    """Stands for a method that is not for this task, so that a race reports it and goes on.

    Parameters
    ----------
    why : str
        What is wrong, in a sentence.
    """

    def __init__(self, why: str = "") -> None:
        self.why = why

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002 - looks at nothing
        """Say why not."""
        raise ParameterError(self.why)

    def get_support(self) -> Any:
        """Never comes to it."""
        raise ParameterError(self.why)
