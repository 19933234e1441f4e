"""Six small problems for each public selector class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from golden import names, tables
from golden.facts import selector_facts
from sklearn.linear_model import LogisticRegression

import secateur
from secateur.model_selection.methods import tries_methods


class Problem(NamedTuple):
    """A table, a target, parameters of the selector, and further arguments of ``fit``."""

    X: Any
    y: Any
    parameters: dict[str, Any]
    fit: Mapping[str, Any] = MappingProxyType({})
    predict: Mapping[str, Any] = MappingProxyType({})


FAST = {"max_iter": 25, "max_depth": 3}
TREES = {"max_iter": 6, "max_depth": 3, "n_candidates": 6, "max_features": 4}
OF_TREES = {"ranker": "trees", "evaluator": "trees"}
GROUPED = {"costs": tables.costs(), names.FEATURE_GROUPS: tables.feature_groups()}


def _boosted_classifier(penalty: float) -> dict[str, Problem]:
    """Problems of GBFSClassifier and AGBMClassifier."""
    X, gaps, frame, thin = tables.numeric(), tables.missing(), tables.categories(), tables.sparse()
    validation = {"X_val": tables.missing()[::3], "y_val": tables.two_classes(gaps, 1)[::3]}
    grid = [penalty, penalty / 4]
    return {
        "numeric": Problem(X, tables.two_classes(X), {**FAST, "cv": 3}),
        "missing": Problem(
            gaps, tables.two_classes(gaps), {**FAST, "penalty": penalty}, validation
        ),
        "categories": Problem(
            frame,
            tables.two_classes(frame),
            {**FAST, "penalty": grid, "class_weight": "balanced", "cv": 2, "cut": "best"},
        ),
        "sparse": Problem(
            thin, tables.two_classes(thin), {**FAST, "subsample": 0.7, "cv": 2, "leaf": "mean"}
        ),
        "costs": Problem(
            X,
            tables.two_classes(X),
            {**FAST, **GROUPED, "keep": [7], "cost_budget": 9.0, "cv": 2},
        ),
        "three classes": Problem(
            X,
            tables.three_classes(X),
            {**FAST, "max_iter": 12, "max_features": 3, "max_bins": 32, "cv": 2},
            {"sample_weight": tables.weights()},
        ),
    }


def _boosted_regressor(penalty: float) -> dict[str, Problem]:
    """Problems of GBFSRegressor and AGBMRegressor."""
    X, gaps, frame, thin = tables.numeric(), tables.missing(), tables.categories(), tables.sparse()
    stopping = {"penalty": penalty, "early_stopping": True, "validation_fraction": 0.2}
    return {
        "numeric": Problem(X, tables.numbers(X), {**FAST, "cv": 3}),
        "missing": Problem(
            gaps, tables.numbers(gaps), {**FAST, **stopping, "loss": "huber", "n_iter_no_change": 3}
        ),
        "categories": Problem(
            frame,
            tables.numbers(frame),
            {**FAST, "loss": "absolute_error", "penalty": [penalty, penalty / 4], "cv": 2},
        ),
        "sparse": Problem(thin, tables.counts(thin), {**FAST, "loss": "poisson", "cv": 2}),
        "costs": Problem(
            X,
            tables.numbers(X),
            {**FAST, **GROUPED, "keep": [7], "cost_budget": 9.0, "cv": 2, "subsample": 0.8},
        ),
        "weights": Problem(
            X,
            tables.numbers(X),
            {**FAST, "loss": "quantile", "quantile": 0.7, "max_features": 3, "cv": 2},
            {"sample_weight": tables.weights()},
        ),
    }


TESTED = {**FAST, "expected_features": 3, "leaf_size": 8, "group_size": 2, "cv": 2}


def _group_tested(target: Callable[[Any], Any], more: dict[str, Any]) -> dict[str, Problem]:
    """Problems of the group-tested classes."""
    X, gaps, thin = tables.wide(), tables.wide(9), tables.sparse(tables.N_WIDE)
    gaps[::7, ::3] = float("nan")
    grouped = {"costs": tables.costs(tables.N_WIDE), names.FEATURE_GROUPS: tables.feature_groups()}
    return {
        "numeric": Problem(X, target(X), {**TESTED, "leaf_size": "auto", "group_size": "auto"}),
        "missing": Problem(gaps, target(gaps), {**TESTED, "penalty": 0.03}),
        "small groups": Problem(X, target(X), {**TESTED, "penalty": [0.1, 0.02], "group_size": 4}),
        "sparse": Problem(thin, target(thin), {**TESTED, "penalty": 0.02, "delta": 0.2}),
        "costs": Problem(X, target(X), {**TESTED, **grouped, "cost_budget": 12.0}),
        "weights": Problem(
            X, target(X), {**TESTED, "max_features": 3, **more}, {"sample_weight": tables.weights()}
        ),
    }


def _rankers(more: dict[str, Any]) -> dict[str, Problem]:
    """Problems of the rankers: grades from 0 to 2 in queries of uneven sizes."""
    X, gaps, frame = tables.wide(), tables.wide(9), tables.categories()
    thin = tables.sparse(tables.N_WIDE)
    gaps[::7, ::3] = float("nan")
    grades, fit = tables.three_classes, {"qid": tables.queries()}
    fast = {**FAST, "max_iter": 12, **more}
    costs = {"costs": tables.costs(tables.N_WIDE)}
    weighted = {**fit, "sample_weight": 1.0 + tables.weights()}
    return {
        "numeric": Problem(X, grades(X), {**fast, "cv": 3}, fit),
        "missing": Problem(gaps, grades(gaps), {**fast, "penalty": 0.03}, fit),
        "categories": Problem(
            frame, grades(frame), {**fast, "penalty": 0.02, "loss": "xendcg"}, fit
        ),
        "sparse": Problem(
            thin, grades(thin), {**fast, "penalty": [0.1, 0.02], "cv": 2, "loss": "pairwise"}, fit
        ),
        "costs": Problem(X, grades(X), {**fast, **costs, "cost_budget": 12.0, "cv": 2}, fit),
        "weights": Problem(X, grades(X), {**fast, "max_features": 3, "cv": 2}, weighted),
    }


def _multitask(
    target: Callable[..., Any], weighted: dict[str, Any], queries: Any = None
) -> dict[str, Problem]:
    """Problems of the multitask classes; of the ranker, every query is of one task."""
    X, gaps, frame, wide = tables.numeric(), tables.missing(), tables.categories(), tables.wide()
    by_query = {} if queries is None else {"qid": queries}
    stacked = {names.TASK_OF_ROWS: tables.tasks() if queries is None else queries % 3}
    fit = {**stacked, **by_query}
    columns = np.column_stack([target(X), target(X, 3)]).astype(object)
    columns[::9, 1] = None
    fast = {**FAST, "max_iter": 12, "cv": 2}
    given = {"group_penalty": 0.05, "task_penalty": 0.02}
    tested = {"search": "group_testing", "expected_features": 3, "leaf_size": 8, "group_size": 2}
    return {
        "numeric": Problem(X, target(X), fast, fit, stacked),
        "missing": Problem(
            gaps, target(gaps), {**fast, **given, "common_trees": False}, fit, stacked
        ),
        "categories": Problem(
            frame, target(frame), {**fast, **given, "common_trees": False}, fit, stacked
        ),
        "wide target": Problem(X, columns, {**fast, "group_penalty": [0.2, 0.05]}, by_query),
        "costs": Problem(
            X, target(X), {**fast, **GROUPED, "cost_budget": 9.0, **weighted}, fit, stacked
        ),
        "group tests": Problem(
            wide,
            target(wide),
            {**fast, **tested, "group_penalty": 0.05, "max_features": 4},
            {**fit, "sample_weight": tables.weights()},
            stacked,
        ),
    }


def _grafting(target: Callable[[Any], Any], weighted: Callable[[Any], Any]) -> dict[str, Problem]:
    """Problems of the grafting classes."""
    X, gaps, frame, thin = tables.numeric(), tables.missing(), tables.named(), tables.sparse()
    return {
        "numeric": Problem(X, target(X), {"cv": 3}),
        "missing": Problem(gaps, target(gaps), {"l1": [0.2, 0.05, 0.01], "l2": 0.01, "cv": 2}),
        "frame": Problem(frame, target(frame), {"l1": 0.05, "l0": 0.01, "standardize": False}),
        "sparse": Problem(thin, target(thin), {"l1": [0.1, 0.03], "cv": 2, "cut": "best"}),
        "costs": Problem(
            X,
            target(X),
            {"model": "mlp", "l1": 0.02, "max_hidden": 2, "costs": tables.costs(), "max_iter": 30},
        ),
        "weights": Problem(
            X,
            weighted(X),
            {"max_features": 4, "cv": 2},
            {"sample_weight": tables.weights()},
        ),
    }


def _forward(
    target: Callable[[Any], Any], weighted: Callable[[Any], Any], own: dict[str, dict[str, Any]]
) -> dict[str, Problem]:
    """Problems of the forward selectors; ``own`` has further parameters by problem."""
    X, gaps, frame, thin = tables.numeric(), tables.missing(), tables.categories(), tables.sparse()

    def parameters(problem: str, **more: Any) -> dict[str, Any]:
        return {**TREES, **more, **own.get(problem, {})}

    return {
        "numeric": Problem(X, target(X), parameters("numeric")),
        "missing": Problem(gaps, target(gaps), parameters("missing", evaluator="trees")),
        "categories": Problem(frame, target(frame), parameters("categories", evaluator="trees")),
        "sparse": Problem(thin, target(thin), parameters("sparse", cv=2)),
        "costs": Problem(
            X, target(X), parameters("costs", **GROUPED, keep=[7], cost_budget=12.0, cut="best")
        ),
        "weights": Problem(
            X,
            weighted(X),
            parameters("weights", evaluator="knn", cv=2),
            {"sample_weight": tables.weights(), "groups": [row // 4 for row in range(len(X))]},
        ),
    }


def _feature_gradients() -> dict[str, Problem]:
    X, gaps, frame, thin = tables.numeric(), tables.missing(), tables.named(), tables.sparse()
    ordinal = {names.KIND_OF_TARGET: "ordinal", "penalty": 1.0, "order": 3, "batch_size": 60}
    return {
        "numeric": Problem(X, tables.two_classes(X), {"cv": 2}),
        "missing": Problem(gaps, tables.numbers(gaps), {"n_features": 3}),
        "frame": Problem(frame, tables.numbers(frame), {"penalty": [30.0, 3.0], "cv": 2}),
        "sparse": Problem(thin, tables.two_classes(thin), {"penalty": 2.0, "standardize": False}),
        "costs": Problem(
            X,
            tables.two_classes(X),
            {**GROUPED, "group_mode": "soft", "penalty": [20.0, 2.0], "cv": 2, "cut": "best"},
        ),
        "three classes": Problem(
            X,
            tables.three_classes(X),
            {**ordinal, "accumulate": 2},
            {"sample_weight": tables.weights()},
        ),
    }


FAMILIES: dict[str, dict[str, Callable[[], dict[str, Problem]]]] = {
    "boosted": {
        "GBFSClassifier": lambda: _boosted_classifier(2.0),
        "GBFSRegressor": lambda: _boosted_regressor(4.0),
        "AGBMClassifier": lambda: _boosted_classifier(0.05),
        "AGBMRegressor": lambda: _boosted_regressor(0.05),
    },
    "group_testing": {
        "GTGBMClassifier": lambda: _group_tested(tables.two_classes, {"class_weight": "balanced"}),
        "GTGBMRegressor": lambda: _group_tested(tables.numbers, {"loss": "huber"}),
    },
    "multitask": {
        "MultitaskAGBMClassifier": lambda: _multitask(
            tables.two_classes, {"class_weight": "balanced"}
        ),
        "MultitaskAGBMRegressor": lambda: _multitask(tables.numbers, {"subsample": 0.8}),
    },
    "ranking": {
        "GBFSRanker": lambda: _rankers({}),
        "AGBMRanker": lambda: _rankers({}),
        "GTGBMRanker": lambda: _rankers(TESTED),
    },
    "multitask_ranking": {
        "MultitaskAGBMRanker": lambda: _multitask(
            tables.three_classes, {"loss": "pairwise"}, tables.queries()
        ),
    },
    "grafting": {
        "GraftingClassifier": lambda: _grafting(tables.two_classes, tables.three_classes),
        "GraftingRegressor": lambda: _grafting(tables.numbers, tables.numbers),
    },
    "forward": {
        "FeatBoostClassifier": lambda: _forward(
            tables.two_classes,
            tables.three_classes,
            {
                "costs": {"gain_per_cost": True},
                "categories": {"weighting": None},
                "sparse": {"evaluator": LogisticRegression(), "reset": False},
            },
        ),
        "FeatBoostRegressor": lambda: _forward(
            tables.numbers,
            tables.numbers,
            {"costs": {"gain_per_cost": True}, "categories": {"weighting": None}},
        ),
        "IISRegressor": lambda: _forward(  # extra-trees are those of scikit-learn, and change
            tables.numbers,
            tables.numbers,
            dict.fromkeys(("numeric", "missing", "categories", "sparse", "costs"), OF_TREES)
            | {"weights": {"ranker": "trees"}},
        ),
    },
    "feature_gradients": {"FeatureGradientsSelector": _feature_gradients},
}
"""Golden file, then class, then its problems."""

EXACT = {"boosted", "group_testing", "multitask", "ranking", "multitask_ranking"}
"""Golden files whose numbers are compared bit for bit."""


def selector_classes() -> list[str]:
    """The public classes that have a ``fit`` and a method of their own."""
    public = {name: getattr(secateur, name) for name in secateur.__all__}
    return [
        name for name, kind in public.items() if hasattr(kind, "fit") and not tries_methods(kind)
    ]


def cases(n_jobs: int) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Golden file, name and function of each problem."""
    for family, classes in FAMILIES.items():
        for name, problems in classes.items():
            for problem in PROBLEM_NAMES[name]:
                yield family, f"{name}/{problem}", _case(name, problems, problem, n_jobs)


def _case(
    name: str, problems: Callable[[], dict[str, Problem]], problem: str, n_jobs: int
) -> Callable[[], Any]:
    def run() -> Any:
        X, y, parameters, fit, predict = problems()[problem]
        selector = getattr(secateur, name)(random_state=0, n_jobs=n_jobs, **parameters)
        return selector_facts(selector.fit(X, y, **fit), X, **predict)

    return run


PROBLEM_NAMES = {
    name: list(problems()) for classes in FAMILIES.values() for name, problems in classes.items()
}
