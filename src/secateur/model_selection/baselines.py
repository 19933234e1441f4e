"""Baselines to compare with: filters, lassos, RFECV, Boruta, LightGBM's CEGB, top-k rankers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, RFECV
from sklearn.linear_model import LassoCV, LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC, LinearSVR, l1_min_c

from secateur.exceptions import import_optional
from secateur.model_selection.columns import MAX_RANKED, Columns, as_matrix, descending
from secateur.model_selection.filters import f_test, mrmr, mrmr_mi, mutual_info
from secateur.model_selection.group_lasso import group_lasso_path
from secateur.model_selection.mission import mission
from secateur.model_selection.redundancy import fcbf
from secateur.model_selection.relief import relieff
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

L1_GRID = np.logspace(0.05, 2.5, 12)  # multiples of the smallest C at which any feature enters
# Multiples of the gain of the best first split.
CEGB_GRID = np.logspace(np.log10(0.25), np.log10(0.002), 8)
CEGB_TRIALS = 6  # penalties tried for a wanted size, between those of the grid
NEED_DENSE = {"boruta", "hsic_lasso"}
TAKE_CATEGORIES = {"mutual_info", "mrmr_mi", "fcbf", "relieff", "random", "cegb"}
TAKE_CATEGORIES |= {"gbdt_topk", "xgb_topk", "all"}


class Baseline(BaseEstimator):  # type: ignore[misc]  # untyped base
    """Ranks features: ``order_`` has the best first, ``n_own_`` of them are its own choice.

    ``n_ranked`` is how many features greedy methods rank; ``feature_groups``, the number of each
    column's group, is for ``group_lasso`` only. CEGB has a subset for each of ``sizes`` in
    ``subsets_``.
    """

    def __init__(
        self,
        name: str = "random",
        target_type: str = "classification",
        random_state: Any = None,
        n_ranked: int = MAX_RANKED,
        feature_groups: Any = None,
        sizes: Any = (),
    ) -> None:
        self.name = name
        self.target_type = target_type
        self.random_state = random_state
        self.n_ranked = n_ranked
        self.feature_groups = feature_groups
        self.sizes = sizes

    def fit(self, X: Any, y: Any, qid: Any = None) -> Any:
        """Rank the features; `all` has no ranking."""
        self.n_features_in_ = np.shape(X)[1]
        if self.name != "all":
            values, is_category = as_matrix(X, dense=self.name in NEED_DENSE)
            is_classes = self.target_type == "classification"
            y = np.asarray(y)
            if qid is not None:  # LightGBM and XGBoost want the rows of a query together
                by_query = np.argsort(qid, kind="stable")
                values, y, qid = values[by_query], y[by_query], np.asarray(qid)[by_query]
            given = (values, is_category, y, is_classes, self.random_state, qid)
            columns = Columns(*given, self.n_ranked, self.feature_groups, tuple(self.sizes))
            order, self.n_own_, *more = RANKERS[self.name](columns)
            self.subsets_: dict[int, IntArray] = more[0] if more else {}
            self.order_: IntArray = np.asarray(order, np.int64)
        return self

    def get_support(self) -> BoolArray:
        """The mask of its own choice; of all ranked features, if it makes none."""
        features = np.arange(self.n_features_in_)
        own = features if self.name == "all" else self.order_[: self.n_own_]
        return np.isin(features, own)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self.name in TAKE_CATEGORIES
        return tags


def l1(columns: Columns) -> tuple[IntArray, int]:
    """Order of entry as the L1 penalty decreases; its own choice is the best in three folds."""
    X, y = columns.values, columns.y
    if columns.is_classes:
        grid = l1_min_c(X, y, loss="squared_hinge") * L1_GRID
        fixed = {"penalty": "l1", "dual": False, "random_state": columns.seed}
        models = [LinearSVC(C=C, **fixed) for C in grid]
        scores = [cross_val_score(model, X, y, cv=3).mean() for model in models]
        sizes = [np.abs(model.fit(X, y).coef_).sum(axis=0) for model in models]
        own = sizes[int(np.argmax(scores))]
    else:
        model = LassoCV(cv=3, random_state=columns.seed).fit(X, y)
        sizes = list(np.abs(model.path(X, y - np.mean(y), alphas=model.alphas_)[1].T))
        own = np.abs(model.coef_)
    return entry_order(sizes, own)[0], int(np.count_nonzero(own))


def elimination(columns: Columns) -> tuple[IntArray, int]:
    """Recursive elimination with a linear model; its own choice is RFECV's in three folds."""
    X, y = columns.values, columns.y
    model = LogisticRegression(max_iter=300) if columns.is_classes else Ridge()
    left = np.arange(X.shape[1])
    dropped: IntArray = left[:0]
    if len(left) > MAX_RANKED:
        coarse = RFE(model, n_features_to_select=MAX_RANKED, step=0.1).fit(X, y)
        by_rank = np.argsort(coarse.ranking_, kind="stable")
        left, dropped = np.sort(by_rank[:MAX_RANKED]), by_rank[MAX_RANKED:]
    fine = RFE(model, n_features_to_select=1).fit(X[:, left], y)
    order = left[np.argsort(fine.ranking_, kind="stable")]
    n_own = int(RFECV(model, cv=3).fit(X[:, left], y).n_features_)
    return np.concatenate([order, dropped]), n_own


def svm_rfe(columns: Columns) -> tuple[IntArray, None]:
    """Recursive elimination by a linear SVM (Guyon and others, 2002), a tenth of what is left."""
    X, y = columns.values, columns.y
    model = LinearSVC(random_state=columns.seed) if columns.is_classes else LinearSVR()
    left: IntArray = np.arange(X.shape[1])
    dropped: list[IntArray] = []
    while len(left) > 1:
        weight = np.square(model.fit(X[:, left], y).coef_).reshape(-1, len(left)).sum(axis=0)
        order = np.argsort(weight, kind="stable")
        n_dropped = max(1, len(left) // 10)
        dropped.append(left[order[:n_dropped]][::-1])
        left = np.sort(left[order[n_dropped:]])
    return np.concatenate([left, *reversed(dropped)]), None


def boruta(columns: Columns) -> tuple[IntArray, int]:
    """Boruta's own choice, followed by its ranking."""
    package = import_optional("boruta", "This method", "Boruta")
    forest = RandomForestClassifier if columns.is_classes else RandomForestRegressor
    trees = forest(max_depth=5, n_jobs=-1, random_state=columns.seed)
    chooser = package.BorutaPy(trees, n_estimators="auto", random_state=columns.seed)
    chooser.fit(columns.values, columns.y)
    history = np.nan_to_num(np.asarray(chooser.importance_history_)[1:]).mean(axis=0)
    return np.lexsort([-history, chooser.ranking_]), int(chooser.support_.sum())


def rf_topk(columns: Columns) -> tuple[IntArray, None]:
    """The features of the largest decrease of impurity in a random forest of 500 trees."""
    forest = RandomForestClassifier if columns.is_classes else RandomForestRegressor
    trees = forest(500, n_jobs=-1, random_state=columns.seed)
    return descending(trees.fit(columns.values, columns.y).feature_importances_), None


def hsic_lasso(columns: Columns) -> tuple[IntArray, None]:
    """Block HSIC Lasso of Climente-González and others (2019), with the package's blocks."""
    package = import_optional("pyHSICLasso", "This method", "pyHSICLasso")
    model = package.HSICLasso()
    labels = np.unique(columns.y, return_inverse=True)[1] if columns.is_classes else columns.y
    model.input(columns.values, np.asarray(labels, np.float64))
    n_rows, n_features = columns.values.shape
    run = model.classification if columns.is_classes else model.regression
    with redirect_stdout(StringIO()):  # it prints its settings
        run(min(columns.n_ranked, n_features), B=min(20, n_rows // 2), M=3, n_jobs=1)
    return np.asarray(model.get_index(), np.int64), None


def group_lasso(columns: Columns) -> tuple[IntArray, int]:
    """Order of entry along a falling group penalty; its own choice is the best in three folds."""
    given = (columns.values, np.asarray(columns.y), columns.groups, columns.seed)
    sizes, best = group_lasso_path(*given, is_classes=columns.is_classes)
    return entry_order(sizes, sizes[best])[0], int(np.count_nonzero(sizes[best]))


def coupled_cegb(columns: Columns) -> tuple[IntArray, int, dict[int, IntArray]]:
    """LightGBM with a penalty for the first use of a feature; the best on a fifth is its choice.

    The penalty is searched for each wanted size.
    """
    lightgbm = import_optional("lightgbm", "This method", "lightgbm")
    codes, free = _lightgbm_parameters(columns)
    coupled = {"cegb_penalty_feature_coupled": [1.0] * columns.values.shape[1]}
    parameters = {**free, **coupled, "cegb_tradeoff": 0.0}
    is_test = columns.draw()
    options = {"categorical_feature": columns.categories, "params": parameters}
    train, test = (
        {"data": columns.values[part], "label": codes[part], "group": columns.queries(part)}
        for part in (~is_test, is_test)
    )
    fitted = lightgbm.Dataset(**train, **options, free_raw_data=False)
    scored = fitted.create_valid(**test)
    # the gain of the best first split without penalty
    trees = lightgbm.train(free, fitted, 1).dump_model()["tree_info"]
    scale = max((tree["tree_structure"].get("split_gain", 0.0) for tree in trees), default=0.0)

    def fit(share: float) -> tuple[FloatArray, float]:
        penalized = {**parameters, "cegb_tradeoff": max(scale * share, 1e-12)}
        model = lightgbm.train(penalized, fitted, 100, valid_sets=[scored])
        value = next(iter(model.best_score["valid_0"].values()))
        loss = value if columns.qid is None else -value  # NDCG is a score
        return np.asarray(model.feature_importance("gain"), np.float64), loss

    fits = {share: fit(share) for share in CEGB_GRID.tolist()}
    own = min(fits.values(), key=lambda found: found[1])[0]
    subsets = {size: _of_size(fits, fit, size) for size in columns.sizes}
    order, n_used = entry_order([fits[share][0] for share in sorted(fits, reverse=True)], own)
    return order[:n_used], int(np.count_nonzero(own)), subsets


def _of_size(
    fits: dict[float, tuple[FloatArray, float]],
    fit: Callable[[float], tuple[FloatArray, float]],
    size: int,
) -> IntArray:
    """The most features, at most so many, of penalties between too low and high enough ones.

    Those that are fitted for it are added to ``fits``. Features are sorted by falling gain.
    """
    for _ in range(CEGB_TRIALS):
        counts = {share: int(np.count_nonzero(gain)) for share, (gain, _) in fits.items()}
        low = max((share for share, count in counts.items() if count > size), default=None)
        if low is None or size in counts.values():
            break
        high = min((share for share in counts if share > low), default=16.0 * low)
        share = float(np.sqrt(low * high))
        fits[share] = fit(share)
    few = [gain for gain, _ in fits.values() if np.count_nonzero(gain) <= size]
    most = max(few, key=np.count_nonzero, default=np.zeros(0))
    return descending(most)[: np.count_nonzero(most)]


def _lightgbm_parameters(columns: Columns) -> tuple[AnyArray, dict[str, Any]]:
    """The labels as LightGBM takes them, and its parameters for them."""
    is_classes, n_rows = columns.is_classes, len(columns.y)
    codes = np.unique(columns.y, return_inverse=True)[1] if is_classes else columns.y
    n_classes = int(codes.max()) + 1 if is_classes else 0
    parameters = {
        "objective": {0: "regression", 2: "binary"}.get(n_classes, "multiclass"),
        "num_class": n_classes if n_classes > 2 else 1,
        "verbosity": -1,
        "learning_rate": 0.1,
        "num_leaves": 15,
        "min_data_in_leaf": min(20, max(1, n_rows // 50)),
        "min_data_in_bin": 1,
        "seed": columns.seed,
        "deterministic": True,
    }
    if columns.qid is not None:
        parameters |= {"objective": "lambdarank", "eval_at": [10]}
    return codes, parameters


def gbdt_topk(columns: Columns) -> tuple[IntArray, None]:
    """The features of the largest gain in LightGBM on all of them."""
    lightgbm = import_optional("lightgbm", "This method", "lightgbm")
    labels, parameters = _lightgbm_parameters(columns)
    options = {"categorical_feature": columns.categories, "params": parameters}
    train = lightgbm.Dataset(columns.values, labels, group=columns.queries(), **options)
    return descending(lightgbm.train(parameters, train, 100).feature_importance("gain")), None


def xgb_topk(columns: Columns) -> tuple[IntArray, None]:
    """The features of the largest gain in XGBoost on all of them."""
    xgboost = import_optional("xgboost", "This method", "xgboost")
    values, kinds = columns.values, np.where(columns.is_category, "c", "q").tolist()
    if columns.categories:  # a missing category is -1, which XGBoost does not take
        values = np.where(columns.is_category & (values < 0), np.nan, values)
    options = {"feature_types": kinds, "enable_categorical": True}
    labels = np.unique(columns.y, return_inverse=True)[1] if columns.is_classes else columns.y
    train = xgboost.DMatrix(values, labels, qid=columns.qid, **options)
    objective = "rank:ndcg" if columns.qid is not None else "reg:squarederror"
    n_classes = int(labels.max()) + 1 if columns.is_classes else 0
    if n_classes:
        objective = "binary:logistic" if n_classes == 2 else "multi:softprob"
    parameters = {
        "objective": objective,
        **({"num_class": n_classes} if n_classes > 2 else {}),
        "verbosity": 0,
        "learning_rate": 0.1,
        "grow_policy": "lossguide",
        "max_leaves": 15,
        "seed": columns.seed,
    }
    gain = xgboost.train(parameters, train, 100).get_score(importance_type="total_gain")
    return descending([gain.get(f"f{j}", 0.0) for j in range(values.shape[1])]), None


def entry_order(sizes: list[FloatArray], own: FloatArray) -> tuple[IntArray, int]:
    """Own choice, then features by the first model that uses them and size; how many are used."""
    table = np.array(sizes)
    is_used = (table > 0).any(axis=0)
    first = np.where(is_used, (table > 0).argmax(axis=0), len(table))
    at_entry = table[np.minimum(first, len(table) - 1), np.arange(table.shape[1])]
    return np.lexsort([-at_entry, first, own == 0]), int(is_used.sum())


RANKERS: dict[str, Callable[[Columns], tuple[Any, ...]]] = {
    "f_classif": f_test,
    "f_regression": f_test,
    "mutual_info": mutual_info,
    "mrmr": mrmr,
    "mrmr_mi": mrmr_mi,
    "l1": l1,
    "group_lasso": group_lasso,
    "hsic_lasso": hsic_lasso,
    "rf_topk": rf_topk,
    "fcbf": fcbf,
    "relieff": relieff,
    "mission": mission,
    "svm_rfe": svm_rfe,
    "rfecv": elimination,
    "boruta": boruta,
    "cegb": coupled_cegb,
    "gbdt_topk": gbdt_topk,
    "xgb_topk": xgb_topk,
    # what any method must beat
    "random": lambda columns: (
        np.random.default_rng(columns.seed).permutation(len(columns.is_category)),
        None,
    ),
}
