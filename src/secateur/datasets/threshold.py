"""The threshold max problem of the paper on grafting, and its instances A, B and C."""

from __future__ import annotations

import numpy as np

from secateur.datasets.synthetic import Generated, require_at_least
from secateur.typing import FloatArray


def make_threshold_max(
    n_rows: int = 1000,
    n_informative: int = 10,
    n_copies: int = 0,
    n_irrelevant: int = 90,
    random_state: int | None = 0,
) -> Generated:
    r"""Make two classes that are told apart by whether any of a few features is large.

    Features are uniform between -1 and 1. A row is of class 1 if the largest of its
    ``n_informative`` features exceeds ``2^(1 - 1/n_informative) - 1``: half the space is. Each
    feature tells a little, all together tell everything, and the border is far from a plane
    (Section 4.1 of Perkins, Lacker and Theiler, JMLR 2003).

    Parameters
    ----------
    n_rows : int, default=1000
    n_informative : int, default=10
        ``n_r`` of the paper.
    n_copies : int, default=0
        ``n_c``: exact copies of informative features, in turn.
    n_irrelevant : int, default=90
        ``n_i``: features that tell nothing.
    random_state : int or None, default=0
        Seed; None draws a new problem each time.

    Returns
    -------
    Generated
        Columns in order: informative, copies, irrelevant. ``redundant`` are the copies.

    Examples
    --------
    >>> from secateur.datasets import make_threshold_max
    >>> problem = make_threshold_max(n_rows=400, n_informative=2, n_copies=1, n_irrelevant=3)
    >>> problem.feature_names
    ('informative_0', 'informative_1', 'copy_of_0', 'noise_0', 'noise_1', 'noise_2')
    >>> bool(abs(problem.y.mean() - 0.5) < 0.1)
    True
    """
    require_at_least("n_rows", n_rows, 1)
    require_at_least("n_informative", n_informative, 1)
    require_at_least("n_copies", n_copies, 0)
    require_at_least("n_irrelevant", n_irrelevant, 0)
    rng = np.random.default_rng(random_state)
    informative: FloatArray = rng.uniform(-1.0, 1.0, (n_rows, n_informative))
    irrelevant: FloatArray = rng.uniform(-1.0, 1.0, (n_rows, n_irrelevant))
    copied = np.arange(n_copies) % n_informative
    border = 2.0 ** (1.0 - 1.0 / n_informative) - 1.0
    names = [f"informative_{k}" for k in range(n_informative)]
    # the second copy of a feature needs a name of its own
    names += [
        f"copy_of_{k}" + (f"_{c // n_informative}" if c >= n_informative else "")
        for c, k in enumerate(copied)
    ]
    names += [f"noise_{k}" for k in range(n_irrelevant)]
    return Generated(
        X=np.hstack([informative, informative[:, copied], irrelevant]),
        y=(informative.max(axis=1) > border).astype(np.int64),
        feature_names=tuple(names),
        relevant=np.arange(n_informative),
        redundant=np.arange(n_informative, n_informative + n_copies),
    )


def make_grafting_a(n_rows: int = 1000, random_state: int | None = 0) -> Generated:
    """Make problem A of the paper: 10 informative features among 90 irrelevant ones.

    Examples
    --------
    >>> make_grafting_a().X.shape
    (1000, 100)
    """
    return make_threshold_max(n_rows, 10, 0, 90, random_state)


def make_grafting_b(n_rows: int = 1000, random_state: int | None = 0) -> Generated:
    """Make problem B: 10 informative features and nine copies of each.

    Examples
    --------
    >>> make_grafting_b().X.shape
    (1000, 100)
    """
    return make_threshold_max(n_rows, 10, 90, 0, random_state)


def make_grafting_c(n_rows: int = 100, random_state: int | None = 0) -> Generated:
    """Make problem C: 10 informative features, 490 copies and 500 irrelevant ones, 100 rows.

    Examples
    --------
    >>> make_grafting_c().X.shape
    (100, 1000)
    """
    return make_threshold_max(n_rows, 10, 490, 500, random_state)
