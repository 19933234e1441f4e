"""Scorers of scikit-learn, from what a user may write."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from secateur.exceptions import ParameterError

Scorer = Callable[..., float]


def read_scoring(scoring: Any, task: str) -> tuple[Scorer, str]:
    """A scorer and its name, from what a user may write.

    >>> read_scoring(None, "classification")[1]
    'accuracy'
    """
    from sklearn.metrics import get_scorer

    default = "accuracy" if task == "classification" else "r2"
    wanted = default if scoring is None else scoring
    if callable(wanted):
        return wanted, getattr(wanted, "__name__", "score")
    try:
        return get_scorer(wanted), str(wanted)
    except (ValueError, TypeError) as error:
        msg = (
            f"'scoring' must be None, the name of a scorer of scikit-learn, or a callable "
            f"(estimator, X, y). Got {scoring!r}. Use {default!r} for a start."
        )
        raise ParameterError(msg) from error


def takes_weight(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn has a metric that knows weights."""
    metric = getattr(scorer, "_score_func", None)
    return metric is not None and "sample_weight" in inspect.signature(metric).parameters
