"""Times on madelon: five features in all, and the evaluation against scikit-learn and XGBoost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common.data import missing, whole
from common.measure import N_THREADS, Run, say, take_turns
from common.options import Options
from common.table import Section, table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from secateur import FeatBoostClassifier
from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import as_costs
from secateur.data.frames import read_table
from secateur.data.table import Fold, Problem
from secateur.data.target import read_target
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.featboost.neighbours import (
    NeighbourEvaluator,
    NeighbourTargets,
    ScaledTable,
)
from secateur.model_selection.rows import read_scoring
from secateur.selectors.featboost import MAX_BINS
from secateur.selectors.featboost_evaluators import BoostedTrees, SklearnFoldScorer

M, K, P = 50, 3, 5
"""Candidates, folds and features, as in the paper but for the number of features."""

TREES = {"n_rounds": 20, "max_depth": 4, "learning_rate": 0.3}


class Evaluations:
    """The evaluations of one selection, replayed: the same subsets for everybody."""

    def __init__(self, X: Any, y: Any, n_candidates: int) -> None:
        self.X, self.y = X, y
        selector = FeatBoostClassifier(
            max_features=P, n_candidates=n_candidates, standardize=False, random_state=0
        ).fit(X, y)
        self.selector = selector
        self.rounds = [
            (step.order[:-1], selector.candidates_of(i)[0]) for i, step in enumerate(selector.path_)
        ]
        splits = StratifiedKFold(K, shuffle=True, random_state=0).split(X, y)
        self.folds = [Fold(train, test) for train, test in splits]

    def fold_scorer(self) -> SklearnFoldScorer:
        return SklearnFoldScorer(self.problem(), self.folds, *read_scoring(None, "classification"))

    def problem(self) -> Problem:
        table = read_table(self.X)
        target = read_target(self.y, target_type="classification")
        cost_model = as_costs(None, None, None).bind(table.names)
        return Problem(table, target, np.ones(len(self.y)), cost_model, "classification")

    def with_neighbours(self) -> Any:
        problem = self.problem()
        targets = NeighbourTargets(problem.target.values, problem.weight, 2, 1)
        with Threads(N_THREADS) as threads:
            table = ScaledTable(problem.table, problem.weight, standardize=False)
            evaluator = NeighbourEvaluator(table, targets, self.folds, self.fold_scorer(), threads)
            return self._replay(evaluator)

    def with_trees(self) -> Any:
        problem = self.problem()
        with Threads(N_THREADS) as threads:
            columns = bin_table(problem.table, problem.weight, max_bins=MAX_BINS, threads=threads)
            params = BoostingParams(min_samples_leaf=20, **TREES)  # type: ignore[arg-type]
            fixed = (self.folds, self.fold_scorer())
            return self._replay(BoostedTrees(problem, columns, params, threads, *fixed))

    def _replay(self, evaluator: Any) -> Any:
        found, known = [], 0
        for order, candidates in self.rounds:
            for feature in order[known:]:
                evaluator.accept(int(feature))
            known = len(order)
            found.append(evaluator.scores(candidates).mean(axis=1))
        return found

    def with_estimator(self, estimator: Any) -> Any:
        folds = [(fold.train, fold.test) for fold in self.folds]
        with threadpool_limits(N_THREADS):
            return [
                np.array(
                    [
                        cross_val_score(estimator, self.X[:, [*order, c]], self.y, cv=folds).mean()
                        for c in candidates
                    ]
                )
                for order, candidates in self.rounds
            ]


def run(options: Options) -> Section:
    section = Section("speed")
    found = whole("madelon")
    if found is None:
        section.skip(missing("madelon"))
        return section
    X, y = found[0], (found[1] > 0).astype(np.int64)
    work = Evaluations(X, y, 8 if options.quick else M)
    _whole(section, X, y, options)
    methods = {
        "neighbours in increments": work.with_neighbours,
        "KNeighborsClassifier": lambda: work.with_estimator(KNeighborsClassifier(1)),
        "small trees": work.with_trees,
        "XGBoost": lambda: work.with_estimator(
            XGBClassifier(n_estimators=20, max_depth=4, learning_rate=0.3, n_jobs=N_THREADS)
        ),
        "HistGradientBoosting": lambda: work.with_estimator(
            HistGradientBoostingClassifier(
                max_iter=20, max_depth=4, learning_rate=0.3, early_stopping=False
            )
        ),
    }
    _evaluations(section, methods, options)
    return section


def _whole(section: Section, X: Any, y: Any, options: Options) -> None:
    seconds = []
    for _ in range(options.repeats):
        start = time.perf_counter()
        selector = FeatBoostClassifier(
            max_features=P, n_candidates=M, standardize=False, random_state=0, n_jobs=N_THREADS
        ).fit(X, y)
        seconds.append(time.perf_counter() - start)
    scores = ", ".join(f"{score:.3f}" for score in selector.path_.scores)
    section.add(
        f"madelon, {X.shape[0]:,} x {X.shape[1]}: {P} features with m = {M} and {K} folds in "
        f"{min(seconds):.2f} s, checks and binning counted; cross-validated accuracies {scores}."
    )
    section.aim("five features, s", min(seconds), 2.0)
    section.aim("1 - accuracy with five features", 1.0 - float(selector.path_.scores[-1]), 0.22)


def _evaluations(section: Section, methods: dict[str, Callable[[], Any]], options: Options) -> None:
    def runner(name: str) -> Callable[[], Run]:
        def one() -> Run:
            say(name)
            start = time.perf_counter()
            scores = methods[name]()
            return Run({"all": time.perf_counter() - start}, P, lambda _: None, {"scores": scores})

        return one

    times = take_turns({name: runner(name) for name in methods}, options.repeats)
    best = {name: found.best() for name, found in times.items()}
    ours = np.concatenate(times["neighbours in increments"].last.facts["scores"])
    theirs = np.concatenate(times["KNeighborsClassifier"].last.facts["scores"])
    section.add(
        f"The evaluations of these {P} rounds alone (all candidates, {K} folds), the same subsets "
        "for everybody:",
        table(["evaluator", "s"], [[name, seconds] for name, seconds in best.items()]),
        "The accuracies of the two nearest neighbours differ by at most "
        f"{np.abs(ours - theirs).max():.2g}, {np.abs(ours - theirs).mean():.2g} on average: the "
        "columns hold whole numbers, and which of equally near rows is taken is anybody's choice.",
    )
    near, small = best["neighbours in increments"], best["small trees"]
    section.aim("neighbours / KNeighborsClassifier", near / best["KNeighborsClassifier"], 0.15)
    section.aim("small trees / XGBoost", small / best["XGBoost"], 0.2)
    section.aim("small trees / HistGradientBoosting", small / best["HistGradientBoosting"], 0.2)
