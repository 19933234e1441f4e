"""Figure 5 of Feature Gradients: sparse sets, order 4 against MISSION and FCBF."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from common.data import whole
from feature_gradients_sections.protocol import Set, auc, steps_by_penalty
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from secateur.model_selection.baselines import Baseline
from secateur.model_selection.mission import MAX_BUCKETS, CountSketch, row_blocks, stream_weights

SETS = {
    "dexter": "dexter",
    "BASEHOCK": "BASEHOCK",
    "news20": "news20_multiclass_test",
    "generated": None,
}
N_PASSES = 10
MAX_SIZES = 6
RATES = (0.1, 0.5, 2.0)
BATCH = 100
MIN_FEATURES, MAX_FEATURES = 5, 1000


def sparse_set(name: str, *, quick: bool = False) -> Set | None:
    """Two classes, 30 % of the rows to test by; rows have length one, as those of rcv1."""
    if name == "generated":
        X, y = generated(600, 5_000) if quick else generated(10_000, 1_000_000)
    else:
        found = whole(SETS[name] or "")
        if found is None:
            return None
        X, labels = found
        # news20: the first ten groups against the others
        y = (labels > np.median(np.unique(labels))).astype(int)
    X = normalize(sp.csr_matrix(X))
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    return Set(name, X[train], y[train], X[test], y[test])


def generated(n_rows: int, n_features: int) -> tuple[Any, Any]:
    """60 cells a row, columns drawn with Zipf's frequencies; 40 columns of middle rank decide."""
    rng = np.random.default_rng(5)
    n_cells = 60
    rank = np.exp(rng.random((n_rows, n_cells)) * np.log(n_features)).astype(np.int64) - 1
    columns = rng.permutation(n_features)[rank]
    X = sp.csr_matrix(
        (np.ones(rank.size), columns.ravel(), np.arange(n_rows + 1) * n_cells),
        shape=(n_rows, n_features),
    )
    X.sum_duplicates()
    by_frequency = np.argsort(-X.getnnz(axis=0), kind="stable")
    deciding = by_frequency[20:60]
    score = X[:, deciding] @ rng.choice([-2.0, 2.0], 40)
    score = score - np.median(score) + 0.5 * rng.standard_normal(n_rows)
    return X, (score > 0).astype(int)


def gradients(data: Set) -> list[dict[str, Any]]:
    """Subsets of order 4 along the penalties, with their test AUC."""
    steps = steps_by_penalty(
        data, MAX_FEATURES, order=4, batch_size=BATCH, max_epochs=N_PASSES, standardize=False
    )
    by_size = {len(step.support): np.sort(step.support) for step in steps}
    sizes = [k for k in sorted(by_size) if k >= MIN_FEATURES]
    some = np.unique(np.linspace(0, len(sizes) - 1, MAX_SIZES).astype(int))
    return [{"size": sizes[i], "auc": auc(data, by_size[sizes[i]])} for i in some]


def mission(data: Set, size: int, rate: float) -> Any:
    """The features of MISSION after as many passes over the rows."""
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(len(data.y)) for _ in range(N_PASSES)])
    sketch = CountSketch(min(data.X.shape[1], MAX_BUCKETS))
    found = stream_weights(row_blocks(data.X, data.y.astype(float), order), size, sketch, rate=rate)
    return np.sort(np.array([j for j, w in found.items() if w], np.int64))


def best_rate(data: Set, size: int) -> float:
    """The rate of MISSION by the AUC of a fifth of the training rows."""
    fit, valid = train_test_split(
        np.arange(len(data.y)), test_size=0.2, stratify=data.y, random_state=0
    )
    part = Set(data.name, data.X[fit], data.y[fit], data.X[valid], data.y[valid])
    return max(RATES, key=lambda rate: auc(part, mission(part, size, rate)))


def rivals(data: Set, sizes: list[int]) -> dict[str, Any]:
    """Test AUC of MISSION and FCBF at the sizes of Feature Gradients."""
    rate = best_rate(data, sizes[len(sizes) // 2])
    order = Baseline("fcbf", n_ranked=max(sizes)).fit(data.X, data.y).order_
    return {
        "rate": rate,
        "MISSION": [auc(data, mission(data, size, rate)) for size in sizes],
        "FCBF": [auc(data, np.sort(order[:size])) for size in sizes],
    }
