"""Why a list of the best 20 disappoints: the penalty, the number of epochs, or the estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from common.data import missing
from common.gisette import gisette_like
from common.kept import Kept
from common.options import Options
from common.table import Section, table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from feature_gradients_sections import pictures, protocol
from secateur import FeatureGradientsSelector, GraftingClassifier

DRAW = 201
"""Of mnist35: not one of those by which methods are compared."""
WANTED = 20
PENALTIES = (0.1, 1.0, 10.0)
EPOCHS = (1, 17, 100)
ORDERS = (1, 4, 6)
ALL, FILTER, GRAFTED = "all features", f"ANOVA F, best {WANTED}", f"Grafting, at most {WANTED}"
"""What the searches are held against."""

Found = dict[str, Any]
"""Of one way to choose: the size of its own subset (None where it has none), how many features were
used, and the accuracy and AUC of logistic regression on them."""


def run(options: Options) -> Section:
    section = Section("penalty_effect", is_timed=False)
    parts, digits = gisette_like(options), protocol.mnist35(DRAW)
    if parts is None or digits is None:
        section.skip(missing("mnist"))
        return section
    kept = Kept("feature_gradients", quick=options.quick)
    gisette = protocol.Set("like Gisette", parts.X, parts.y, parts.X_test, parts.y_test)
    panels = {}
    for data, standardize in ((gisette, True), (digits, False)):
        found = {
            name: kept.get(_file(data, name), way) for name, way in _ways(data, standardize).items()
        }
        n_rows, n_features = data.X.shape
        section.add(
            f"**{data.name}**, {n_rows:,} x {n_features:,}, standardize={standardize}; logistic "
            "regression on test rows:",
            table(["", "own size", "used", "accuracy", "AUC"], _rows(found)),
        )
        panels[data.name] = found
    if not options.quick:
        pictures.penalty_effect(panels, (ALL, FILTER, GRAFTED))
        section.add(f"![accuracy of 20 features against the own size]({pictures.PENALTY_PICTURE})")
    return section


def _file(data: protocol.Set, name: str) -> str:
    words = f"penalty_effect {data.name} {name}"
    return "".join(letter if letter.isalnum() else "_" for letter in words)


def _rows(found: dict[str, Found]) -> list[list[Any]]:
    return [
        [name, "-" if each["own"] is None else each["own"], each["used"], each["accuracy"],
         each["auc"]]
        for name, each in found.items()
    ]  # fmt: skip


def _ways(data: protocol.Set, standardize: bool) -> dict[str, Callable[[], Found]]:
    """All ways to choose, by what they are called."""
    n_features = data.X.shape[1]
    return {
        ALL: lambda: _worth(data, np.arange(n_features)),
        **dict(_searches(data, standardize)),
        FILTER: lambda: _worth(data, protocol.by_anova(data)[:WANTED]),
        GRAFTED: lambda: _grafted(data),
    }


def _searches(data: protocol.Set, standardize: bool) -> Iterator[tuple[str, Callable[[], Found]]]:
    how = {"standardize": standardize, "random_state": 0, "n_jobs": 1}
    fixed = [(4, penalty, n_epochs) for penalty in PENALTIES for n_epochs in EPOCHS]
    fixed += [(1, 1.0, 17), (6, 1.0, 17)]
    for order, penalty, n_epochs in fixed:
        ask = {"order": order, "penalty": penalty, "max_epochs": n_epochs, "tol": 0, **how}
        yield _called(order, penalty, n_epochs), lambda ask=ask: _fixed(data, ask)
    for order in ORDERS:
        ask = {"order": order, "n_features": WANTED, **how}
        yield f"order {order}, n_features={WANTED}", lambda ask=ask: _searched(data, ask)


def _called(order: int, penalty: float, n_epochs: int) -> str:
    epochs = "1 epoch" if n_epochs == 1 else f"{n_epochs} epochs"
    return f"order {order}, penalty {penalty:g}, {epochs}: best {WANTED} by v"


def _fixed(data: protocol.Set, ask: dict[str, Any]) -> Found:
    """The best 20 by v of one search, whatever its own subset is."""
    selector = FeatureGradientsSelector(**ask).fit(data.X, data.y)
    best = np.argsort(-selector.scores_, kind="stable")[:WANTED]
    result = {"order": ask["order"], "epochs": ask["max_epochs"]}
    return _worth(data, best, int(selector.support_.sum())) | result


def _searched(data: protocol.Set, ask: dict[str, Any]) -> Found:
    selector = FeatureGradientsSelector(**ask).fit(data.X, data.y)
    chosen = np.flatnonzero(selector.support_)
    return _worth(data, chosen, len(chosen)) | {"order": ask["order"], "epochs": None}


def _grafted(data: protocol.Set) -> Found:
    """What a sparse logistic regression chooses: how good 20 features can be."""
    selector = GraftingClassifier(max_features=WANTED, cut=WANTED, cv=0, n_jobs=1).fit(
        data.X, data.y
    )
    return _worth(data, np.flatnonzero(selector.support_))


def _worth(data: protocol.Set, features: Any, own: int | None = None) -> Found:
    """Accuracy and AUC of logistic regression on some columns."""
    scaler = StandardScaler()
    train, test = scaler.fit_transform(data.X[:, features]), data.X_test[:, features]
    model = LogisticRegression(max_iter=300).fit(train, data.y)
    decided = model.decision_function(scaler.transform(test))
    return {
        "own": own,
        "used": len(features),
        "accuracy": float(accuracy_score(data.y_test, decided > 0)),
        "auc": float(roc_auc_score(data.y_test, decided)),
    }
