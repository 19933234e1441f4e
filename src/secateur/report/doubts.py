"""Features that are doubtful: chosen on all rows, but in few of the folds."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.path import SelectionPath
from secateur.report.brevity import few, short
from secateur.report.evidence import StandIn, StepEvidence

LEAST_SHARE = 0.5
"""A feature chosen in a smaller share of the folds than this is doubtful."""

MOST_NAMES = 6


def is_doubtful(share: float) -> bool:
    """Whether a feature that this share of the folds chose too is doubtful.

    >>> is_doubtful(1 / 3), is_doubtful(0.5)
    (True, False)
    """
    return share < LEAST_SHARE


def doubts(names: Sequence[str], shares: Sequence[float]) -> str:
    """Say which of the chosen features are doubtful; nothing where none is, or nobody asked.

    Parameters
    ----------
    names : sequence of str
        Of the chosen features.
    shares : sequence of float
        In what share of the folds each was chosen, in the same order; empty without folds.

    Examples
    --------
    >>> print(doubts(["age", "size", "sex"], [1.0, 0.2, 0.4]))
    Doubtful are 2 of 3, which fewer than half of the folds chose: size, sex.
    >>> doubts(["age"], [])
    ''
    """
    if not shares:
        return ""
    found = [name for name, share in zip(names, shares, strict=True) if is_doubtful(share)]
    if not found:
        return ""
    verb = "is" if len(found) == 1 else "are"
    return (
        f"Doubtful {verb} {len(found)} of {len(names)}, which fewer than half of the folds chose: "
        f"{few(found, MOST_NAMES)}."
    )


def doubt_of_step(path: SelectionPath, index: int, told: StepEvidence | None) -> str:
    """Say which features of a step are doubtful, and which of them others stood for."""
    if told is None:
        return ""
    names = path.feature_names
    doubt = doubts([names[each] for each in path[index].order.tolist()], told.frequency)
    return f"{doubt} {_instead(path, told.stand_ins)}".rstrip()


def _instead(path: SelectionPath, stand_ins: Sequence[StandIn]) -> str:
    if not stand_ins:
        return ""
    told = [
        f"{stand_in_words(path, each)} for {short(path.feature_names[each.feature])}"
        for each in stand_ins[:MOST_NAMES]
    ]
    more = len(stand_ins) - len(told)
    words = ", ".join(told) + (f" and {more} more" if more else "")
    return f"In other folds a substitute was chosen: {words}."


def stand_in_words(path: SelectionPath, each: StandIn) -> str:
    """Who stood for a feature, and in how many of the folds: 'born in 3 folds'."""
    folds = "1 fold" if each.n_folds == 1 else f"{each.n_folds} folds"
    return f"{short(path.feature_names[each.other])} in {folds}"
