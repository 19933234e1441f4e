"""The sentences of a report: the answer, and which features are unstable over the folds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from secateur.path import Score, SelectionPath
from secateur.path.cutting import Best, format_cost, format_share
from secateur.path.step import count_of, format_amount, format_score, listed
from secateur.report.evidence import Evidence, StepEvidence, Substitute

MIN_FREQUENCY = 0.5  # a feature selected in a smaller share of the folds is unstable
MAX_NAMES = 6
OPTIMISTIC = " These rows took part in the selection, so the score is optimistic."


def short(name: str, limit: int = 32) -> str:
    """Return a name of at most `limit` characters."""
    return name if len(name) <= limit else f"{name[: limit - 1]}…"


def few(names: Sequence[str], limit: int = 4) -> str:
    """Return the first names and the number of the others.

    >>> few(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    return listed([short(name) for name in names], limit)


def natural_key(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key that sorts names by the numbers in them.

    >>> sorted(["field 10", "field 9", "east"], key=natural_key)
    ['east', 'field 9', 'field 10']
    """
    parts = re.split(r"0*([0-9]+)", name)  # words and numbers in turn
    return tuple((at % 2 == 0, len(part) * (at % 2), part) for at, part in enumerate(parts) if part)


def answer(path: SelectionPath, index: int, evidence: Evidence | None = None) -> str:
    """Say what step `index` gives, compared with all features or else the best of the path."""
    step, score = path[index], path[index].score
    share = format_share(path, index)
    if has_costs(path) and not math.isnan(step.cost):
        words = format_cost(path, step.cost)
        share += f" for {words}" if path.cost_unit else f" at a cost of {words}"
        if evidence is not None and not math.isnan(evidence.cost_of_all):
            share += f" instead of {format_amount(evidence.cost_of_all)}"
    if score is None or not score.is_usable:
        return f"{share}: no score."
    reference = None if evidence is None else evidence.all_features
    words = f"all {count_of(path.n_features_in)} ("
    if reference is None or reference.key != score.key or not reference.is_usable:
        best = path[Best().choose(path)]
        reference = None if best is step else best.score
        words = f"the best on the path ({count_of(best.n_features)}, "
    compared = "the best on the path." if reference is None else _compared(score, reference, words)
    optimistic = OPTIMISTIC if score.origin == "inner" else ""
    return f"{share}: {kind_words(score)} {format_score(score.mean)}, {compared}{optimistic}"


def kind_words(score: Score) -> str:
    """Return what was measured and where, in words: 'held-out log loss'."""
    return score.kind.replace("_", " ")


def has_costs(path: SelectionPath) -> bool:
    """Whether the costs say more than the number of features."""
    return any(not math.isnan(step.cost) and step.cost != step.n_features for step in path)


def _compared(score: Score, reference: Score, reference_words: str) -> str:
    worse = reference.utility - score.utility
    to_what = f"{reference_words}{format_score(reference.mean)})"
    if math.isclose(reference.utility, score.utility, rel_tol=1e-9):  # but for rounding
        return f"as good as {to_what}."
    words = f"{format_score(abs(worse))} {'worse' if worse > 0 else 'better'} than {to_what}"
    errors = [score.standard_error, reference.standard_error]
    error = next((each for each in errors if math.isfinite(each)), None)
    if error is None:
        return f"{words}."
    side = "within" if abs(worse) <= error else "more than"
    return f"{words}, which is {side} one standard error ({format_score(error)})."


def unstable_sentence(path: SelectionPath, index: int, evidence: StepEvidence) -> str:
    """Name the unstable features of a step and their substitutes; empty if there are none."""
    names, order = path.feature_names, path[index].order.tolist()
    pairs = zip(order, evidence.frequency, strict=False)
    unstable = [names[feature] for feature, share in pairs if share < MIN_FREQUENCY]
    if not unstable:
        return ""
    verb = "is" if len(unstable) == 1 else "are"
    sentence = (
        f"{len(unstable)} of {len(order)} features {verb} unstable (selected in fewer than half of "
        f"the folds): {few(unstable, MAX_NAMES)}."
    )
    others = [
        f"{substitute_words(path, each)} instead of {short(names[each.feature])}"
        for each in evidence.substitutes
    ]
    return sentence + (f" Correlated substitutes: {listed(others, MAX_NAMES)}." if others else "")


def substitute_words(path: SelectionPath, each: Substitute) -> str:
    """A substitute and its number of folds: 'born in 3 folds'."""
    return f"{short(path.feature_names[each.other])} in {count_of(each.n_folds, 'fold')}"
