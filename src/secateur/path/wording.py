"""Numbers and phrases that sentences about a path are built from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from secateur.path.step import Score

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath


ORIGIN_WORDS = {"inner": "inner", "held_out": "held-out"}


def number(value: float) -> str:
    """Write a score: four decimals, so that scores line up.

    Examples
    --------
    >>> number(0.231), number(0.0), number(0.0000042)
    ('0.2310', '0.0000', '4.2e-06')
    """
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.4g}"


def amount(value: float) -> str:
    """Write a cost or a penalty, without trailing zeros; nothing for NaN.

    Examples
    --------
    >>> amount(31.0), amount(2.5), amount(1 / 3), amount(math.nan)
    ('31', '2.5', '0.333333', '')
    """
    return "" if math.isnan(value) else f"{value:.6g}"


def share(path: SelectionPath, index: int) -> str:
    """The number of features of the total: '12 of 300 features'."""
    return f"{path[index].n_features} of {features(path.n_features_in)}"


def features(count: int) -> str:
    """'1 feature' or '12 features'."""
    return f"{count} feature" if count == 1 else f"{count} features"


def money(path: SelectionPath, cost: float) -> str:
    """Write a cost with its unit."""
    return f"{amount(cost)} {path.cost_unit}".rstrip()


def kind(score: Score) -> str:
    """The metric and where it was measured: 'held-out log_loss'."""
    return f"{ORIGIN_WORDS[score.origin]} {score.metric}"


def measured(score: Score) -> str:
    """The metric and its value: 'held-out log_loss (0.2310)'."""
    return f"{kind(score)} ({number(score.mean)})"


def score_with_error(score: Score | None) -> str:
    """Write a score for a table: '0.2310 ± 0.0041'."""
    if score is None:
        return ""
    error = "" if math.isnan(score.standard_error) else f" ± {number(score.standard_error)}"
    return f"{number(score.mean)}{error}"
