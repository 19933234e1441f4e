"""The methods of the leaderboard: from training rows to features, own choices and wanted sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from leaderboard_sections.sets import Part

SIZES = (5, 10, 20, 50)
OWN = "own"
N_THREADS = 1
"""Of every method, in a process of one core: CPU seconds are then those of a quiet machine."""
Choices = Iterator[tuple[str, Any]]
"""Features by label: ``own``, or the most that are wanted; the time of each is taken by itself."""


# ---- secateur ---------------------------------------------------------------------------------


def _selector(name: str) -> Callable[[Part], Choices]:
    def choose(part: Part) -> Choices:
        import secateur

        kind = "Classifier" if part.is_classes else "Regressor"
        found = getattr(secateur, name, None) or getattr(secateur, name + kind)
        params: dict[str, Any] = {"n_jobs": N_THREADS}
        known = found().get_params()
        if "random_state" in known:
            params["random_state"] = 0
        if "categorical_features" in known and part.categories:
            params["categorical_features"] = part.categories
        for size in (None, *SIZES):
            limit = {} if size is None else {"max_features": size}
            chosen = found(**params, **limit).fit(part.X, part.y).get_support()
            yield OWN if size is None else str(size), np.flatnonzero(chosen)

    return choose


def _auto(for_model: str) -> Callable[[Part], Choices]:
    """`AutoSelector` for one of the models that score."""

    def choose(part: Part) -> Choices:
        from secateur import AutoSelector

        kind = "classification" if part.is_classes else "regression"
        more = {"categorical_features": part.categories} if part.categories else {}
        for size in (None, 10, 20):
            limit = {} if size is None else {"max_features": size}
            found = AutoSelector(
                for_model=for_model, target_type=kind, random_state=0, n_jobs=N_THREADS,
                **more, **limit,
            ).fit(part.X, part.y)  # fmt: skip
            yield OWN if size is None else str(size), np.flatnonzero(found.get_support())

    return choose


# ---- rivals -----------------------------------------------------------------------------------


def _ranked(rank: Callable[[Part], tuple[Any, int | None]]) -> Callable[[Part], Choices]:
    """From a ranking, best first, and the number of features of its own choice."""

    def choose(part: Part) -> Choices:
        order, n_own = rank(part)
        if n_own is not None:
            yield OWN, np.asarray(order[:n_own])
        for size in SIZES:
            yield str(size), np.asarray(order[:size])

    return choose


def _baseline(name: str) -> Callable[[Part], Choices]:
    """A method of ``secateur.compare``."""

    def rank(part: Part) -> tuple[Any, int | None]:
        from secateur.model_selection.baselines import Baseline

        kind = "classification" if part.is_classes else "regression"
        asked = name
        if name == "f_test":
            asked = "f_classif" if part.is_classes else "f_regression"
        found = Baseline(asked, kind, random_state=0).fit(part.X, part.y)
        return found.order_, found.n_own_

    return _ranked(rank)


def _dense(part: Part) -> Any:
    X = part.X.toarray() if sp.issparse(part.X) else np.asarray(part.X, np.float64)
    means = np.nan_to_num(np.nanmean(X, axis=0))
    return np.where(np.isnan(X), means, X)


def lightgbm_for(part: Part, **more: Any) -> Any:
    import lightgbm

    model = lightgbm.LGBMClassifier if part.is_classes else lightgbm.LGBMRegressor
    rows = max(1, min(20, len(part.y) // 50))
    params = {"n_jobs": N_THREADS, "verbose": -1, "random_state": 0, "min_child_samples": rows}
    return model(**{**params, **more})


def rfecv(part: Part) -> tuple[Any, int]:
    """Recursive elimination with LightGBM; its own choice is RFECV's."""
    from sklearn.feature_selection import RFECV

    found = RFECV(lightgbm_for(part), step=0.2, cv=3, min_features_to_select=5).fit(part.X, part.y)
    gains = np.zeros(part.X.shape[1])
    gains[found.support_] = found.estimator_.booster_.feature_importance("gain")
    return np.lexsort([-gains, found.ranking_]), int(found.n_features_)


def forest(part: Part) -> tuple[Any, None]:
    """The importances of a random forest."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model = RandomForestClassifier if part.is_classes else RandomForestRegressor
    found = model(300, n_jobs=N_THREADS, random_state=0).fit(_dense(part), part.y)
    return np.argsort(-found.feature_importances_, kind="stable"), None


def catboost_choice(part: Part) -> Choices:
    """CatBoost's select_features, by shapley values, for each wanted size."""
    import catboost

    model = catboost.CatBoostClassifier if part.is_classes else catboost.CatBoostRegressor
    pool = catboost.Pool(part.X, part.y)
    for size in SIZES:
        if size >= part.X.shape[1]:
            continue
        found = model(
            iterations=100, thread_count=N_THREADS, random_seed=0, verbose=False,
            allow_writing_files=False,
        ).select_features(
            pool, features_for_select=f"0-{part.X.shape[1] - 1}", num_features_to_select=size,
            steps=5, train_final_model=False, logging_level="Silent",
        )  # fmt: skip
        yield str(size), np.sort(found["selected_features"])


def shap_rfecv(part: Part) -> Choices:
    """ShapRFECV of probatus, with LightGBM."""
    import pandas as pd
    from probatus.feature_elimination import ShapRFECV

    X = pd.DataFrame(_dense(part), columns=[str(j) for j in range(part.X.shape[1])])
    metric = "accuracy" if part.is_classes else "r2"
    found = ShapRFECV(
        lightgbm_for(part), step=0.2, cv=3, scoring=metric, n_jobs=1, min_features_to_select=5,
        random_state=0,
    ).fit(X, pd.Series(part.y))  # fmt: skip
    report = found.report_df
    best = report.loc[report["val_metric_mean"].idxmax()]
    yield OWN, np.sort([int(j) for j in best["features_set"]])
    for size in SIZES:
        fitting = report[report["num_features"] <= size]
        if len(fitting):
            yield str(size), np.sort([int(j) for j in fitting.iloc[0]["features_set"]])


def hsic_lasso(part: Part) -> tuple[Any, None]:
    """Block HSIC Lasso of pyHSICLasso."""
    from pyHSICLasso import HSICLasso

    found = HSICLasso()
    found.input(_dense(part), np.asarray(part.y))
    run = found.classification if part.is_classes else found.regression
    block = min(20, len(part.y) // 2)
    run(max(SIZES), B=block, M=1, n_jobs=N_THREADS)
    return np.asarray(found.get_index()), None


def lassonet(part: Part) -> Choices:
    """The path of LassoNet: at each size the model nearest from below."""
    from lassonet import LassoNetClassifier, LassoNetRegressor
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(_dense(part)).astype(np.float32)
    y = part.y if part.is_classes else np.asarray(part.y, np.float32)
    model = LassoNetClassifier if part.is_classes else LassoNetRegressor
    found = model(hidden_dims=(32,), random_state=0, torch_seed=0, verbose=0)
    path = found.path(X, y)
    best = min(path, key=lambda each: each.val_loss)
    yield OWN, np.flatnonzero(np.asarray(best.selected))
    for size in SIZES:
        fitting = [each for each in path if int(np.sum(np.asarray(each.selected))) <= size]
        if fitting:
            yield str(size), np.flatnonzero(np.asarray(fitting[0].selected))


def everything(part: Part) -> Choices:
    """All features."""
    yield OWN, np.arange(part.X.shape[1])


METHODS: dict[str, Callable[[Part], Choices]] = {
    "A-GBM": _selector("AGBM"),
    "GBFS": _selector("GBFS"),
    "GT-GBM": _selector("GTGBM"),
    "Grafting": _selector("Grafting"),
    "Feature Gradients": _selector("FeatureGradientsSelector"),
    "FeatBoost": _selector("FeatBoost"),
    "LightGBM CEGB, tuned": _baseline("cegb"),
    "RFECV, LightGBM": _ranked(rfecv),
    "Boruta": _baseline("boruta"),
    "CatBoost": catboost_choice,
    "SHAP-RFECV": shap_rfecv,
    "L1, tuned": _baseline("l1"),
    "mutual information": _baseline("mutual_info"),
    "ANOVA F": _baseline("f_test"),
    "mRMR": _baseline("mrmr"),
    "HSIC Lasso": _ranked(hsic_lasso),
    "LassoNet": lassonet,
    "random forest": _ranked(forest),
    "all": everything,
    "AutoSelector for trees": _auto("trees"),
    "AutoSelector for linear": _auto("linear"),
}
"""By name."""

SLOW = ("Boruta", "CatBoost", "SHAP-RFECV", "HSIC Lasso", "LassoNet")
"""Methods of a full run only: they take most of the time."""
