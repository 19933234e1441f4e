"""Results around the selectors: held-out scores, stability, comparison, storage, streams."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from golden import names, tables
from golden.facts import path_facts, plain, score_facts, selection_facts, selector_facts

import secateur

FAST = {"max_iter": 15, "max_depth": 3, "cv": 2, "random_state": 0}
ROWS_TOGETHER = np.arange(tables.N_ROWS) // 4


def _held_out_facts(held: Any) -> dict[str, Any]:
    return {
        "path": path_facts(held.path),
        "selection": selection_facts(held.selector.selection_),
        "matches": plain(held.matches),
        "all_features": score_facts(held.all_features),
        "frequency": plain(held.frequency(held.selector.selection_)),
        "fold_supports": [plain(support) for support in held.supports()],
        "test_rows": [plain(fold.test[:10]) for fold in held.folds],
    }


def held_out_boosted(n_jobs: int) -> Any:
    """Boosted trees, rows that belong together in one fold."""
    X = tables.numeric()
    selector = secateur.AGBMRegressor(**FAST, n_jobs=n_jobs)
    return _held_out_facts(
        secateur.held_out(
            selector, X, tables.numbers(X), cv=3, groups=ROWS_TOGETHER, random_state=0
        )
    )


def held_out_grafting(n_jobs: int) -> Any:
    """A linear model, weighted rows and another score."""
    X = tables.missing()
    selector = secateur.GraftingClassifier(l1=[0.1, 0.02], n_jobs=n_jobs, random_state=0)
    given = {"sample_weight": tables.weights(), "scoring": "accuracy", "cv": 2}
    return _held_out_facts(
        secateur.held_out(selector, X, tables.two_classes(X), random_state=0, **given)
    )


def held_out_transformer(n_jobs: int) -> Any:
    """A selector without a model of its own."""
    X = tables.numeric()
    selector = secateur.FeatureGradientsSelector(penalty=[20.0, 2.0], cv=2, random_state=0)
    selector.set_params(n_jobs=n_jobs)
    return _held_out_facts(secateur.held_out(selector, X, tables.numbers(X), cv=2, random_state=0))


def held_out_multitask(n_jobs: int) -> Any:
    """Several tasks."""
    X = tables.numeric()
    selector = secateur.MultitaskAGBMClassifier(
        group_penalty=0.05, max_iter=8, max_depth=3, random_state=0, n_jobs=n_jobs
    )
    task = {names.TASK_OF_ROWS: tables.tasks()}
    return _held_out_facts(
        secateur.held_out(selector, X, tables.two_classes(X), cv=2, random_state=0, **task)
    )


def _stability_facts(found: Any) -> dict[str, Any]:
    return {
        "support": plain(found.support),
        "supports": [plain(support) for support in found.supports],
        "frequency": plain(found.frequency),
        "index": plain(found.index),
        "interval": plain([found.agreement.low, found.agreement.high]),
        "permuted": plain(found.permuted),
    }


def stability_boosted(n_jobs: int) -> Any:
    """Boosted trees on parts of the rows."""
    X = tables.numeric()
    selector = secateur.AGBMClassifier(penalty=0.05, max_iter=10, random_state=0, n_jobs=n_jobs)
    return _stability_facts(
        secateur.stability(selector, X, tables.two_classes(X), 5, random_state=0)
    )


def stability_grafting(n_jobs: int) -> Any:
    """A linear model on parts of the groups."""
    X = tables.numeric()
    selector = secateur.GraftingRegressor(l1=0.1, n_jobs=n_jobs)
    given = {"fraction": 0.5, "groups": ROWS_TOGETHER, "n_permutations": 1}
    return _stability_facts(
        secateur.stability(selector, X, tables.numbers(X), 4, random_state=0, **given)
    )


def _comparison_facts(found: Any) -> dict[str, Any]:
    return {
        "trials": [
            {
                "method": trial.method,
                "fold": trial.fold,
                "status": str(trial.status),
                "subsets": [
                    {
                        "size": subset.size,
                        "order": plain(subset.order),
                        "scores": plain(dict(subset.scores)),
                    }
                    for subset in trial.subsets
                ],
            }
            for trial in found.trials
        ],
        "fold_sizes": plain(found.fold_sizes),
        "ranks": [[rank.method, plain(rank.mean)] for rank in found.ranks()],
        "metric": found.metric,
        "round_trip": secateur.Comparison.from_json(found.to_json()).to_json() == found.to_json(),
    }


def compare_classes(n_jobs: int) -> Any:
    """Boosted trees against a filter, for classes."""
    X = tables.numeric()
    methods = {
        "trees": secateur.AGBMClassifier(**FAST, n_jobs=n_jobs),
        "linear": secateur.GraftingClassifier(l1=[0.1, 0.03], cv=2, random_state=0, n_jobs=n_jobs),
    }
    how = {"validators": "logistic,knn", "cv": 2, "sizes": [1, 3], "n_jobs": n_jobs}
    return _comparison_facts(
        secateur.compare(X, tables.two_classes(X), methods, random_state=0, **how)
    )


def compare_baselines(n_jobs: int) -> Any:
    """Baselines by their names, for numbers."""
    X = tables.numeric()
    how = {"validators": "ridge", "cv": 3, "sizes": [2], "n_jobs": n_jobs}
    return _comparison_facts(
        secateur.compare(X, tables.numbers(X), "f_regression,l1,random,all", random_state=0, **how)
    )


def cutting_rules(n_jobs: int) -> Any:
    """One path cut by every rule, before and after a round trip through JSON."""
    X = tables.numeric()
    grid = {**FAST, "penalty": [0.2, 0.06, 0.04, 0.03, 0.02, 0.015, 0.01, 0.005]}
    selector = secateur.AGBMClassifier(**grid, costs=tables.costs(), n_jobs=n_jobs)
    path = selector.fit(X, tables.two_classes(X)).path_
    again = secateur.SelectionPath.from_json(path.to_json())
    rules = {
        "best": secateur.Best(),
        "one_se": secateur.OneStandardError(),
        "elbow": secateur.Elbow(),
        "at_most_4": secateur.AtMost(4),
        "within_6": secateur.WithinBudget(6.0),
    }
    return {
        "round_trip": path_facts(again) == path_facts(path) and again.to_json() == path.to_json(),
        "feature_names": list(again.feature_names),
        "path": path_facts(path),
        "cuts": {name: selection_facts(again.cut(rule)) for name, rule in rules.items()},
    }


def staged_predictions(n_jobs: int) -> Any:
    """The sum of the predictions of each step, and of another cut."""
    X = tables.numeric()
    selector = secateur.GBFSRegressor(**FAST, penalty=[40.0, 10.0, 2.0], n_jobs=n_jobs).fit(
        X, tables.numbers(X)
    )
    staged = [float(np.sum(each)) for each in selector.staged_predict(X)]
    return {
        "staged": plain(staged),
        "cut": selector_facts(selector.with_cut(2), X),
        "importances": plain(selector.feature_importances_),
        "transformed": list(selector.transform(X).shape),
    }


def stored_table(n_jobs: int) -> Any:
    """A table on disk has the fit of the same table in memory."""
    X, weight = tables.categories(), tables.weights()
    y = tables.two_classes(X)
    parameters = {**FAST, "n_jobs": n_jobs}
    memory = secateur.AGBMClassifier(**parameters).fit(X, y, weight)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "table.parquet"
        X.assign(weight=weight, target=y).to_parquet(file)
        table = secateur.open_table(file, "target", weight="weight", cache=name, n_jobs=n_jobs)
        stored = secateur.AGBMClassifier(**parameters).fit(table)
        facts = selector_facts(stored, X)
    return {"equals_memory": facts == selector_facts(memory, X), "stored": facts}


def stored_tasks(n_jobs: int) -> Any:
    """A table on disk whose rows belong to several tasks."""
    X = tables.numeric()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["region"], frame["target"] = tables.tasks(), tables.numbers(X)
    given = {names.TASK_OF_ROWS: "region"}
    table = secateur.open_table(frame, "target", n_jobs=n_jobs, **given)
    selector = secateur.MultitaskAGBMRegressor(
        group_penalty=0.05, max_iter=8, max_depth=3, random_state=0, n_jobs=n_jobs
    ).fit(table)
    features = frame.drop(columns=["region", "target"])
    return selector_facts(selector, features, **{names.TASK_OF_ROWS: tables.tasks()})


def stored_numbers(n_jobs: int) -> Any:
    """Linear models and Feature Gradients on a table on disk."""
    X = tables.numeric()
    table = secateur.open_table(X, tables.numbers(X), n_jobs=n_jobs)
    linear = secateur.GraftingRegressor(l1=[0.1, 0.02], cv=2, random_state=0, n_jobs=n_jobs)
    stream = secateur.FeatureGradientsSelector(
        penalty=2.0, batch_size=60, random_state=0, n_jobs=n_jobs
    )
    stream.set_params(**{names.KIND_OF_TARGET: "regression"})
    return {
        "grafting": selector_facts(linear.fit(table), X),
        "feature_gradients": selector_facts(stream.fit(table), X),
    }


def stream(n_jobs: int) -> Any:
    """Feature Gradients block by block, interrupted and resumed."""
    X = tables.missing()
    y = tables.two_classes(X)
    parameters = {"penalty": 1.0, "batch_size": 40, "random_state": 0, "n_jobs": n_jobs}
    selector = secateur.FeatureGradientsSelector(**parameters)
    supports = []
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "stream.npz"
        for block in range(6):
            rows = slice(40 * block, 40 * block + 40)
            selector.partial_fit(X[rows], y[rows], classes=["no", "yes"] if block == 0 else None)
            supports.append(np.flatnonzero(selector.support_).tolist())
            if block == 2:
                selector.save_stream(state)
                selector = secateur.FeatureGradientsSelector(**parameters).resume_stream(state)
    return {"supports": supports, "last": selector_facts(selector, X)}


def stream_of_blocks(n_jobs: int) -> Any:
    """Feature Gradients on an iterator of weighted blocks."""
    X, weight = tables.numeric(), tables.weights()
    y = tables.numbers(X)
    blocks = ((X[at : at + 80], y[at : at + 80], weight[at : at + 80]) for at in (0, 80, 160))
    parameters = {"penalty": 3.0, "batch_size": 40, "costs": tables.costs(), "random_state": 0}
    parameters[names.KIND_OF_TARGET] = "regression"
    selector = secateur.FeatureGradientsSelector(**parameters, n_jobs=n_jobs)
    return selector_facts(selector.fit(blocks), X)


def resumed_fit(n_jobs: int) -> Any:
    """A fit that goes on from the first steps of an earlier one."""
    X = tables.numeric()
    y = tables.numbers(X)
    selector = secateur.AGBMRegressor(**FAST, n_jobs=n_jobs)
    whole = selector.fit(X, y).path_
    begun = replace(whole, steps=whole.steps[:1], stop_reason=secateur.StopReason.INTERRUPTED)
    document = path_facts(
        secateur.AGBMRegressor(**FAST, n_jobs=n_jobs).fit(X, y, resume=begun).path_
    )
    return {"equals_whole": document == path_facts(whole), "n_steps": len(whole)}


def priced_by_rule(n_jobs: int) -> Any:
    """Costs with neighbours on a grid, and a limit of the cost."""
    X = tables.numeric()
    costs = secateur.FeatureCosts(tables.costs(), neighbours=(3, 4), discount=0.25, keep=[0])
    selector = secateur.AGBMClassifier(**FAST, costs=costs, cost_budget=8.0, n_jobs=n_jobs)
    return selector_facts(selector.fit(X, tables.two_classes(X)), X)


EXACT = [
    held_out_boosted,
    held_out_multitask,
    stability_boosted,
    cutting_rules,
    staged_predictions,
    stored_table,
    stored_tasks,
    resumed_fit,
    priced_by_rule,
]
WITH_TOLERANCE = [
    held_out_grafting,
    held_out_transformer,
    stability_grafting,
    compare_classes,
    compare_baselines,
    stored_numbers,
    stream,
    stream_of_blocks,
]


def cases(n_jobs: int) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Golden file, name and function of each result."""
    for family, functions in (("results_exact", EXACT), ("results", WITH_TOLERANCE)):
        for function in functions:
            yield family, function.__name__, lambda function=function: function(n_jobs)
