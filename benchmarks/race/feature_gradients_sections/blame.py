"""Why a list of the best 20 disappoints: the penalty, the number of epochs, or the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from common.data import missing
from common.gisette import gisette_like
from common.measure import say
from common.options import Options
from common.table import Section, table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from feature_gradients_sections import protocol
from secateur import FeatureGradientsSelector, GraftingClassifier

DRAW = 201
"""Of mnist35: not one of those by which methods are judged."""
WANTED = 20
PENALTIES = (0.1, 1.0, 10.0)
EPOCHS = (1, 17, 100)
ORDERS = (1, 4, 6)


def run(options: Options) -> Section:
    section = Section("blame", is_timed=False)
    parts, digits = gisette_like(options), protocol.mnist35(DRAW)
    if parts is None or digits is None:
        section.skip(missing("mnist"))
        return section
    gisette = protocol.Set("like Gisette", parts.X, parts.y, parts.X_test, parts.y_test)
    for data, standardize in ((gisette, True), (digits, False)):
        n_rows, n_features = data.X.shape
        section.add(
            f"**{data.name}**, {n_rows:,} x {n_features:,}, standardize={standardize}; logistic "
            "regression on test rows:",
            table(["", "own size", "used", "accuracy", "AUC"], _rows(data, standardize)),
        )
    return section


def _rows(data: protocol.Set, standardize: bool) -> list[list[Any]]:
    rows = [["all features", "-", data.X.shape[1], *_worth(data, np.arange(data.X.shape[1]))]]
    rows.extend(_fixed(data, 4, p, n, standardize) for p in PENALTIES for n in EPOCHS)
    rows.extend(_fixed(data, order, 1.0, 17, standardize) for order in (1, 6))
    rows.extend(_searched(data, order, standardize) for order in ORDERS)
    rows.append([f"ANOVA F, best {WANTED}", "-", WANTED, *_worth(data, _best_f(data))])
    rows.append(_grafted(data))
    return rows


def _fixed(
    data: protocol.Set, order: int, penalty: float, n_epochs: int, standardize: bool
) -> list[Any]:
    """The best 20 by v of one search, whatever its own subset is."""
    name = f"order {order}, penalty {penalty:g}, {n_epochs} epochs: best {WANTED} by v"
    say(f"{data.name}, {name}")
    selector = FeatureGradientsSelector(
        order=order, penalty=penalty, max_epochs=n_epochs, standardize=standardize, tol=0,
        random_state=0, n_jobs=1,
    ).fit(data.X, data.y)  # fmt: skip
    best = np.argsort(-selector.scores_, kind="stable")[:WANTED]
    return [name, int(selector.support_.sum()), WANTED, *_worth(data, best)]


def _searched(data: protocol.Set, order: int, standardize: bool) -> list[Any]:
    say(f"{data.name}, order {order}, n_features={WANTED}")
    selector = FeatureGradientsSelector(
        order=order, n_features=WANTED, standardize=standardize, random_state=0, n_jobs=1
    ).fit(data.X, data.y)
    chosen = np.flatnonzero(selector.support_)
    return [f"order {order}, n_features={WANTED}", WANTED, WANTED, *_worth(data, chosen)]


def _grafted(data: protocol.Set) -> list[Any]:
    """What a sparse logistic regression chooses: how good 20 features can be."""
    say(f"{data.name}, grafting")
    selector = GraftingClassifier(max_features=WANTED, cut=WANTED, cv=0, n_jobs=1).fit(
        data.X, data.y
    )
    chosen = np.flatnonzero(selector.support_)
    return [f"Grafting, at most {WANTED}", "-", len(chosen), *_worth(data, chosen)]


def _best_f(data: protocol.Set) -> Any:
    return protocol.by_anova(data)[:WANTED]


def _worth(data: protocol.Set, features: Any) -> list[float]:
    """Accuracy and AUC of logistic regression on some columns."""
    scaler = StandardScaler()
    train, test = scaler.fit_transform(data.X[:, features]), data.X_test[:, features]
    model = LogisticRegression(max_iter=300).fit(train, data.y)
    decided = model.decision_function(scaler.transform(test))
    return [
        float(accuracy_score(data.y_test, decided > 0)),
        float(roc_auc_score(data.y_test, decided)),
    ]
