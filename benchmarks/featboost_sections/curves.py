"""Accuracy against the number of features, as Figures 4.1, 4.4 and 4.5; times as Table 4.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from adapters.ordered import METHODS, timed, xgboost
from common.data import missing
from common.kept import Kept
from common.options import Options
from common.spawn import spawn
from common.table import Section, table
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from featboost_sections.pictures import draw_curves
from featboost_sections.plan import Part, Plan, parts, planned

VALIDATORS = {
    "1-NN": lambda _: KNeighborsClassifier(1),
    "naive Bayes": lambda _: GaussianNB(),
    "boosted trees": xgboost,
}


def piece(part: Part, method: str, plan: Plan) -> dict[str, Any]:
    """The order that a method gives on one fold, and what validators make of its beginnings."""
    found = _select(part, method, plan)
    order = found["order"] or []
    sizes = [size for size in plan.sizes if size <= len(order)]
    accuracy = {
        name: [evaluate(make(part.y), part, order[:size]) for size in sizes]
        for name, make in VALIDATORS.items()
    }
    return {**found, "sizes": sizes, "accuracy": accuracy}


def _select(part: Part, method: str, plan: Plan) -> dict[str, Any]:
    """FeatBoost here, where it can be interrupted; others in a process that can be ended."""
    if method.startswith("FeatBoost"):
        return timed(METHODS[method], part.X, part.y, plan.most, plan.limit)
    found = spawn(
        "one_selection", part.name, plan.n_folds, part.fold, method, plan.most, plan.patience
    )
    return {key: value for key, value in found.items() if key != "wall"}


def evaluate(model: Any, part: Part, features: list[int]) -> float:
    """The accuracy of a model on some features, on rows that nobody has seen."""
    train, test = (X[:, features] for X in (part.X, part.X_test))
    if sp.issparse(train):
        train, test = train.toarray(), test.toarray()
    return float((model.fit(train, part.y).predict(test) == part.y_test).mean())


def run(options: Options) -> Section:
    plan, kept = planned(options)
    section = Section("curves", is_timed=False)
    section.add(plan.describe())
    times, means, ends = [], [], []
    for name in plan.sets:
        results = _results(name, plan, kept)
        if not results:
            section.skip(missing(name))
            continue
        times.append([name, *(_seconds(results[method]) for method in METHODS)])
        means.append([name, *_at_one_size(results, "1-NN")])
        ends.append([name, *(_at_its_end(results[method], "1-NN") for method in METHODS)])
        if options.write:
            draw_curves(name, results, list(VALIDATORS))
    heads = list(METHODS)
    section.add(
        "Accuracy of 1-NN on held-out rows, at the largest of the sizes "
        f"{', '.join(map(str, plan.sizes))} that all methods reach in all folds:",
        table(["set", "features", *heads], means),
        "The same where each method ends, by itself or at the limit (in brackets: features, mean "
        "over the folds, by the sizes above):",
        table(["set", *heads], ends),
        "Seconds of a selection, mean over the folds (`>`: stopped):",
        table(["set", *heads], times),
    )
    if options.write:
        section.add(*(f"![{name}](featboost-{name}.png)" for name in plan.sets))
    return section


def _results(name: str, plan: Plan, kept: Kept) -> dict[str, list[dict[str, Any]]]:
    results: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
    there = False
    for part in parts(name, plan.n_folds):
        there = True
        for method, found in results.items():
            is_slow = found and found[0]["seconds"] > plan.limit
            if is_slow and not method.startswith("FeatBoost"):
                continue
            slug = method.replace(", ", "-").replace(" ", "_")
            found.append(
                kept.get(
                    f"curve-{name}-{slug}-{part.fold}", lambda p=part, m=method: piece(p, m, plan)
                )
            )
    return results if there else {}


def _seconds(found: list[dict[str, Any]]) -> str:
    mean = np.mean([each["seconds"] for each in found])
    stopped = any(each["order"] is None or each.get("stop") == "interrupted" for each in found)
    return f"{'> ' if stopped else ''}{mean:.1f}"


def _at_one_size(results: dict[str, list[dict[str, Any]]], validator: str) -> list[Any]:
    """The largest size that all methods reach, and the accuracy of each there."""
    done = {method: [each for each in found if each["order"]] for method, found in results.items()}
    n_sizes = min(len(each["sizes"]) for found in done.values() for each in found)
    size = next(each["sizes"] for found in done.values() for each in found)[n_sizes - 1]
    means = [
        float(np.mean([each["accuracy"][validator][n_sizes - 1] for each in found]))
        if found
        else None
        for found in done.values()
    ]
    return [str(size), *means]


def _at_its_end(found: list[dict[str, Any]], validator: str) -> str:
    """The accuracy at the last size that is reached in each fold, and the mean of these sizes."""
    done = [each for each in found if each["sizes"]]
    if not done:
        return "-"
    accuracy = np.mean([each["accuracy"][validator][-1] for each in done])
    return f"{accuracy:.3f} ({np.mean([each['sizes'][-1] for each in done]):.0f})"
