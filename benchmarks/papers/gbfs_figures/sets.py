"""The two-class sets of Table 1, and their splits into rows to train, validate and test on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common.data import whole


class Parts(NamedTuple):
    """Rows to fit, to choose depth and rounds by, and to test on; two classes, 0 and 1."""

    X: Any
    y: Any
    X_val: Any
    y_val: Any
    X_test: Any
    y_test: Any

    @property
    def X_all(self) -> Any:
        """The training rows, those of validation with them."""
        return np.vstack([self.X, self.X_val])

    @property
    def y_all(self) -> Any:
        return np.concatenate([self.y, self.y_val])


@dataclass(frozen=True, slots=True)
class TwoClasses:
    """A set: its file, the labels of the second class, the labels that are used (None for all)."""

    file: str
    positive: tuple[Any, ...]
    labels: tuple[Any, ...] | None = None
    most_rows: int | None = None  # of the rows to train on
    of_paper: str = ""  # rows to train on, to test on, and features

    def load(self) -> tuple[Any, Any]:
        found = whole(self.file)
        assert found is not None
        X, labels = found
        if self.labels is not None:
            wanted = np.isin(labels, self.labels)
            X, labels = X[wanted], labels[wanted]
        dense = X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)
        return dense, np.isin(labels, self.positive).astype(np.int64)

    def split(self, seed: int, most_rows: int | None = None) -> Parts:
        """Four fifths to train on, of which one fifth validates; one fifth to test on."""
        X, y = self.load()
        order = np.random.default_rng(seed).permutation(len(y))
        n_test = len(y) // 5
        train = order[n_test:][: most_rows or self.most_rows]
        cut = len(train) // 5
        parts = (train[cut:], train[:cut], order[:n_test])
        return Parts(*(array[rows] for rows in parts for array in (X, y)))


LETTERS = tuple(range(14, 27))  # of Isolet: the second half of the alphabet
SETS = {
    "uspst": TwoClasses("uspst", (5, 6, 7, 8, 9), of_paper="1,606 / 401 / 256"),
    "spam": TwoClasses("spambase", (1,), of_paper="3,681 / 920 / 57"),
    "isolet": TwoClasses("Isolet", LETTERS, of_paper="6,238 / 1,559 / 617"),
    "mnist3vs8": TwoClasses("mnist", (8,), (3, 8), 4_000, "11,982 / 1,984 / 784"),
    "adult": TwoClasses("adult_a9a", (1,), None, 8_000, "32,562 / 16,282 / 123"),
    "pcmac": TwoClasses("PCMAC", (2,), of_paper="1,555 / 388 / 3,289"),
}
WIDE = {
    "colon": TwoClasses("colon_continuous", (1,)),
    "leukemia": TwoClasses("leukemia", (1,)),
    "arcene": TwoClasses("arcene", (1,)),
}
PAIRS = ((1, 7), (2, 7), (3, 5), (4, 9), (5, 8), (7, 9))
DIGITS = {f"{a} vs {b}": TwoClasses("mnist", (b,), (a, b), 3_000) for a, b in PAIRS}
