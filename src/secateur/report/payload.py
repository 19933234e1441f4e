"""The facts of a page as the JSON its script reads: short keys, no more digits than are shown."""

from __future__ import annotations

import json
import math
from typing import Any

from secateur.report.answers import short
from secateur.report.evidence import Evidence
from secateur.report.facts import EntryFacts, StepFacts
from secateur.report.figures import score_by_cost, score_by_size

# Endless names would make an endless page.
MOST_NAME = 300


def entry_payload(facts: EntryFacts) -> dict[str, Any]:
    """Return what the script needs of one path."""
    payload: dict[str, Any] = {
        "cut": facts.cut,
        "rules": dict(facts.rules),
        "features": [
            [short(each.name, MOST_NAME), _plain(each.cost), each.known] for each in facts.features
        ],
        "steps": [_step(step) for step in facts.steps],
        "figures": {},
    }
    if facts.score_kind:
        payload["figures"]["size"] = score_by_size(facts)
        if facts.has_costs:
            payload["figures"]["cost"] = score_by_cost(facts)
    if facts.evidence is not None:
        payload |= _evidence(facts, facts.evidence)
    return payload


def to_script(payload: Any) -> str:
    r"""Write JSON that may stand inside a script element, whatever the names in it.

    Examples
    --------
    >>> to_script(["</script><b>"])
    '["\\u003c/script\\u003e\\u003cb\\u003e"]'
    """
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _step(step: StepFacts) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "n": step.n_features,
        "more": step.n_unlisted,
        "cost": _plain(step.cost),
        "label": step.label,
        "answer": step.answer,
        "reason": step.reason,
        "doubt": step.doubt,
        "rows": step.rows,
        "place": step.place if step.n_unlisted else None,
        "gain": [float(f"{gain:.3g}") for gain in step.gain],
    }
    if step.paid:
        payload["paid"] = [_plain(paid) for paid in step.paid]
    if step.frequency:
        payload["frequency"] = [float(f"{each:.3g}") for each in step.frequency]
    if any(step.instead):
        payload["instead"] = step.instead
    if step.tasks:
        payload["tasks"] = step.tasks
    return payload


def _evidence(facts: EntryFacts, evidence: Evidence) -> dict[str, Any]:
    row_of = {each.feature: row for row, each in enumerate(facts.features)}
    return {
        # Substitutes may be features that the table has no row for: they are told by name.
        "names": _names_of_substitutes(facts, evidence, row_of),
        "substitutes": [
            [[row_of.get(feature, -1 - feature), round(100 * r)] for feature, r in each]
            for each in evidence.substitutes
        ],
        "alike": [
            [None if math.isnan(r) else round(100 * r) for r in row[:at]]
            for at, row in enumerate(evidence.association)
        ],
        "grid": evidence.grid_shape or None,
        "cells": [each.feature for each in facts.features] if evidence.grid_shape else None,
    }


def _names_of_substitutes(
    facts: EntryFacts, evidence: Evidence, row_of: dict[int, int]
) -> dict[str, str]:
    others = {feature for each in evidence.substitutes for feature, _ in each} - row_of.keys()
    return {str(-1 - feature): short(facts.name_of(feature)) for feature in sorted(others)}


def _plain(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
