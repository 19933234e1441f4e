"""Cutting rules by the names that users write, and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from secateur.exceptions import ParameterError, StorageError
from secateur.path import codec, cutting
from secateur.path.cutting import NO_LIMIT, CuttingRule
from secateur.path.stopping import whole_number

RULE_VERSION = 1
RULES: dict[str, Callable[..., CuttingRule]] = {  # those that can be saved
    "best": cutting.Best,
    "one_se": cutting.OneStandardError,
    "near_best": cutting.NearBest,
    "elbow": cutting.Elbow,
    "at_most": cutting.AtMost,
    "within_budget": cutting.WithinBudget,
}


def as_rule(value: Any) -> CuttingRule:
    """Turn what a user may write into a rule; see `SelectionPath.cut`."""
    if value is None:
        return cutting.OneStandardError()
    if isinstance(value, str) and value in {"best", "one_se", "near_best", "elbow"}:
        return RULES[value]()
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return cutting.AtMost(whole_number("cut", value, advice=NO_LIMIT))
    # A class has the methods too, but is no rule.
    if isinstance(value, CuttingRule) and not isinstance(value, type):
        return value
    raise ParameterError(
        "'cut' must be a cutting rule, 'best', 'one_se', 'near_best', 'elbow', a number of "
        f"features or None. Got {value!r}. Use for instance 'one_se', 12, or WithinBudget(2.5)."
    )


def rule_to_document(rule: CuttingRule | None) -> dict[str, Any] | None:
    """Return a rule as plain JSON values; None for None and for rules of the user's own."""
    for kind, its_class in RULES.items():
        if type(rule) is its_class:
            return {"version": RULE_VERSION, "kind": kind, **codec.to_document(rule)}
    return None


def rule_from_document(document: Any) -> CuttingRule | None:
    """Read what `rule_to_document` returned."""
    if document is None:
        return None
    kind = RULES.get(str(document.get("kind"))) if isinstance(document, dict) else None
    if kind is None or document.get("version") not in range(1, RULE_VERSION + 1):
        raise StorageError(
            f"A cutting rule must be one of {', '.join(RULES)} in version {RULE_VERSION} or "
            f"older. Got {document!r}. Install a newer secateur to read it, or name a rule."
        )
    try:
        rule: CuttingRule = codec.decode(kind, document, "cut")
    except ValueError as error:
        raise StorageError(f"The cutting rule is damaged. Got {error}. Name a rule.") from error
    return rule
