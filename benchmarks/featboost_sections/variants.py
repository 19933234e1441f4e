"""What its parts do for FeatBoost: candidates (Figure 4.2), weights and reset (Figure 4.3)."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from adapters.ordered import featboost, timed
from common.data import missing
from common.options import Options
from common.table import Section, table
from sklearn.neighbors import KNeighborsClassifier

from featboost_sections.curves import evaluate
from featboost_sections.pictures import draw_variants
from featboost_sections.plan import Part, Plan, parts, planned

N_FOLDS = 2
"""Folds that the variants run on: there are many variants."""

VARIANTS: dict[str, dict[str, Any]] = {
    "m = 50, no reset": {"reset": False},
    "m = 1, no reset": {"reset": False, "n_candidates": 1},
    "softmax, reset": {},
    "adaboost, reset": {"weighting": "adaboost"},
    "adaboost, no reset": {"weighting": "adaboost", "reset": False},
    "no weights": {"weighting": None},
}


def piece(part: Part, params: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """A variant on one fold, evaluated by 1-NN after every feature."""
    method = featboost(standardize=False, **params)
    found = timed(method, part.X, part.y, plan.most, plan.limit)
    order = found["order"] or []
    steps = range(1, len(order) + 1)
    held = [evaluate(KNeighborsClassifier(1), part, order[:size]) for size in steps]
    return {**found, "held_out": held}


def run(options: Options) -> Section:
    plan, kept = planned(options)
    section = Section("variants", is_timed=False)
    section.add(f"{plan.describe()} Of the folds the first {N_FOLDS}.")
    rows = []
    for name in plan.variant_sets:
        results: dict[str, list[dict[str, Any]]] = {}
        for part in islice(parts(name, plan.n_folds), N_FOLDS):
            for variant, params in VARIANTS.items():
                slug = variant.replace(" ", "").replace(",", "-").replace("=", "")
                found = kept.get(
                    f"variant-{name}-{slug}-{part.fold}",
                    lambda p=part, t=params: piece(p, t, plan),
                )
                results.setdefault(variant, []).append(found)
        if not results:
            section.skip(missing(name))
            continue
        rows += [_row(name, variant, found) for variant, found in results.items()]
        if options.write:
            draw_variants(name, results)
    heads = ["set", "variant", "features", "inner", "held out", "resets that led on", "s"]
    section.add(
        "1-NN accuracy after the last accepted feature, mean over the folds:", table(heads, rows)
    )
    if options.write:
        section.add(*(f"![{name}](featboost-variants-{name}.png)" for name in plan.variant_sets))
    return section


def _row(name: str, variant: str, found: list[dict[str, Any]]) -> list[Any]:
    done = [each for each in found if each["order"]]
    if not done:
        return [name, variant, None, None, None, None, None]
    return [
        name,
        variant,
        f"{np.mean([len(each['order']) for each in done]):.1f}",
        float(np.mean([each["scores"][-1] for each in done])),
        float(np.mean([each["held_out"][-1] for each in done])),
        f"{np.mean([sum(each['after_reset']) for each in done]):.1f}",
        f"{np.mean([each['seconds'] for each in done]):.1f}",
    ]
