"""Synthetic problems with known relevant features, and the data of the demonstration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from secateur.exceptions import ParameterError
from secateur.typing import AnyArray, FloatArray, IntArray

TargetType = Literal["classification", "regression"]
# Minutes of work of a pathologist for each measurement. Invented, but in a sensible order: a
# diameter is quick, the shape of a contour is not.
_MINUTES = {
    1.0: ("radius", "perimeter", "area"),
    2.0: ("texture",),
    3.0: ("symmetry",),
    4.0: ("smoothness", "compactness"),
    6.0: ("concavity", "concave points"),
    8.0: ("fractal dimension",),
}


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """A synthetic problem and its relevant features.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Class codes (int64) or numbers (float64).
    feature_names : tuple of str
        After the role of the column.
    relevant, redundant : ndarray of int
        Sorted indices of the features that determine the target, and of their combinations.
    query : ndarray of int or None
        The query of each row, for ranking.
    """

    X: FloatArray
    y: AnyArray
    feature_names: tuple[str, ...]
    relevant: IntArray
    redundant: IntArray
    query: IntArray | None = None


def make_nonlinear_pair(n_rows: int = 500, random_state: int | None = 0) -> Generated:
    """Make two classes that x and y separate, but neither alone; z = 0.6 x + 0.4 y adds nothing.

    One class fills a square around the origin, the other a square frame around it, with a gap
    between them. No line separates them, in two or three dimensions, but a tree on x and y does
    so without error. The idea is Figure 1 of the paper on GBFS (Xu et al., 2014).

    Parameters
    ----------
    n_rows : int, default=500
        Half of them, rounded down, are in the frame (class 0).
    random_state : int or None, default=0
        Seed; None draws a new problem each time.

    Returns
    -------
    Generated
        Columns x, y and z; ``relevant`` is [0, 1].

    Examples
    --------
    >>> from secateur.datasets import make_nonlinear_pair
    >>> problem = make_nonlinear_pair(n_rows=200)
    >>> problem.X.shape, problem.feature_names
    ((200, 3), ('x', 'y', 'z'))
    """
    _check_sizes(n_rows=(n_rows, 2))
    rng = np.random.default_rng(random_state)
    n_frame = n_rows // 2
    # the frame: points on squares around the origin, of half-width 1.3 to 2.3
    radius = rng.uniform(1.3, 2.3, n_frame)
    on_side = radius * rng.choice([-1.0, 1.0], n_frame)
    along_side = radius * rng.uniform(-1.0, 1.0, n_frame)
    sides = np.column_stack([on_side, along_side])
    is_vertical = rng.random((n_frame, 1)) < 0.5
    frame = np.where(is_vertical, sides, sides[:, ::-1])
    points = np.vstack([frame, rng.uniform(-0.7, 0.7, (n_rows - n_frame, 2))])
    order = rng.permutation(n_rows)
    x, y = points[order].T
    return Generated(
        X=np.column_stack([x, y, 0.6 * x + 0.4 * y]),
        y=(order >= n_frame).astype(np.int64),
        feature_names=("x", "y", "z"),
        relevant=np.array([0, 1]),
        redundant=np.array([2]),
    )


def make_wide(
    n_rows: int = 15_000,
    n_features: int = 300,
    n_informative: int = 15,
    n_redundant: int = 30,
    random_state: int | None = 0,
    target_type: TargetType = "classification",
) -> Generated:
    """Make a wide table of which a few columns matter, some repeat them, and most are noise.

    The target is a sum of effects of the informative features, straight, bent and in pairs, plus
    noise; for classification it is whether that sum is above its median. Redundant features are
    random mixtures of three informative ones with a little noise. Columns are in random order.

    Parameters
    ----------
    n_rows : int, default=15000
    n_features : int, default=300
        Number of columns in all.
    n_informative : int, default=15
        Columns that determine the target.
    n_redundant : int, default=30
        Columns that are mixtures of the informative ones.
    random_state : int or None, default=0
        Seed; None draws a new problem each time.
    target_type : {"classification", "regression"}, default="classification"

    Returns
    -------
    Generated
        Columns named ``informative_i``, ``redundant_i`` and ``noise_i``.

    Examples
    --------
    >>> from secateur.datasets import make_wide
    >>> problem = make_wide(n_rows=100, n_features=20, n_informative=3, n_redundant=2)
    >>> problem.X.shape, len(problem.relevant), len(problem.redundant)
    ((100, 20), 3, 2)
    """
    _check_sizes(n_rows=(n_rows, 2), n_informative=(n_informative, 1), n_redundant=(n_redundant, 0))
    if n_features < n_informative + n_redundant:
        raise ParameterError(
            f"'n_features' must hold informative and redundant features. Got {n_features} for "
            f"{n_informative} + {n_redundant}. Use at least {n_informative + n_redundant}."
        )
    if target_type not in ("classification", "regression"):
        raise ParameterError(
            f"'target_type' must be 'classification' or 'regression'. Got {target_type!r}."
        )
    rng = np.random.default_rng(random_state)
    informative = rng.standard_normal((n_rows, n_informative))
    target = _signal(rng, informative) + 0.3 * rng.standard_normal(n_rows)
    counts = {"informative": n_informative, "redundant": n_redundant}
    counts["noise"] = n_features - n_informative - n_redundant
    names = [f"{role}_{k}" for role, count in counts.items() for k in range(count)]
    place = rng.permutation(n_features)  # the column of each of the names
    relevant, redundant = np.split(place, [n_informative, n_informative + n_redundant])[:2]
    X = rng.standard_normal((n_rows, n_features))
    X[:, relevant] = informative
    n_mixed, weights = min(3, n_informative), np.zeros((n_informative, n_redundant))
    for r in range(n_redundant):
        weights[rng.choice(n_informative, n_mixed, replace=False), r] = rng.standard_normal(n_mixed)
    X[:, redundant] = informative @ weights + 0.1 * rng.standard_normal((n_rows, n_redundant))
    is_high = (target > np.median(target)).astype(np.int64)
    return Generated(
        X=X,
        y=is_high if target_type == "classification" else target,
        feature_names=tuple(names[at] for at in np.argsort(place)),
        relevant=np.sort(relevant),
        redundant=np.sort(redundant),
    )


def _signal(rng: np.random.Generator, informative: FloatArray) -> FloatArray:
    """Sum the effects of the informative features, scaled to variance one."""
    n_informative: int = informative.shape[1]
    sizes = rng.uniform(0.5, 1.0, n_informative)
    bends = (np.positive, np.tanh, np.sin, np.abs)  # feature k takes the shape k mod 4
    signal: FloatArray = np.zeros(len(informative))
    for k in range(n_informative):
        signal += sizes[k] * bends[k % len(bends)](informative[:, k])
    # each feature also interacts with its neighbour, so that no single column suffices
    for k in range(0, n_informative - 1, 2):
        signal += 0.5 * informative[:, k] * informative[:, k + 1]
    signal -= signal.mean()
    scale = float(signal.std())
    return signal / scale if scale > 0 else signal


def _check_sizes(**sizes: tuple[int, int]) -> None:
    for name, (value, minimum) in sizes.items():
        if value < minimum:
            raise ParameterError(f"{name!r} must be >= {minimum}. Got {value!r}.")


def make_ranking(
    n_queries: int = 200,
    n_documents: int | tuple[int, int] = 20,
    n_features: int = 50,
    n_informative: int = 5,
    random_state: int | None = 0,
) -> Generated:
    """Make queries with documents graded 0 to 4, by effects as in `make_wide` of some features.

    One half of all documents has grade 0, one in thirty 4. ``n_documents`` is the size of all
    queries, or of a pair, sizes are drawn evenly on a log scale between the two. The result has
    ``query``; the rows of a query follow each other.

    Examples
    --------
    >>> from secateur.datasets import make_ranking
    >>> problem = make_ranking(10, (2, 30), n_features=6, n_informative=2)
    >>> problem.X.shape, np.bincount(problem.query)
    ((119, 6), array([11,  4,  2,  2, 18, 24, 10, 14,  9, 25]))
    """
    low, high = (n_documents, n_documents) if isinstance(n_documents, int) else n_documents
    _check_sizes(n_queries=(n_queries, 1), n_documents=(low, 1), n_informative=(n_informative, 1))
    _check_sizes(n_features=(n_features, n_informative))
    rng = np.random.default_rng(random_state)
    sizes = np.rint(np.exp(rng.uniform(np.log(low), np.log(high), n_queries))).astype(np.int64)
    n_rows = int(sizes.sum())
    relevant = np.sort(rng.choice(n_features, n_informative, replace=False))
    X = rng.standard_normal((n_rows, n_features))
    signal = _signal(rng, X[:, relevant]) + 0.5 * rng.standard_normal(n_rows)
    roles = np.where(np.isin(np.arange(n_features), relevant), "informative", "noise").tolist()
    return Generated(
        X=X,
        y=np.searchsorted(np.quantile(signal, [0.5, 0.75, 0.9, 0.967]), signal),
        feature_names=tuple(f"{role}_{k}" for k, role in enumerate(roles)),
        relevant=relevant,
        redundant=np.empty(0, np.int64),
        query=np.repeat(np.arange(n_queries), sizes),
    )


def make_threshold_max(
    n_rows: int = 1000,
    n_informative: int = 10,
    n_copies: int = 0,
    n_irrelevant: int = 90,
    random_state: int | None = 0,
) -> Generated:
    r"""Make two classes by whether any of a few features is large (the threshold max problem).

    Features are uniform between -1 and 1. A row is of class 1 if the largest of its
    ``n_informative`` features exceeds ``2^(1 - 1/n_informative) - 1``, as in half of the space. The
    decision boundary is not linear (Section 4.1 of Perkins, Lacker and Theiler, JMLR 2003).

    Parameters
    ----------
    n_rows : int, default=1000
    n_informative : int, default=10
        ``n_r`` of the paper.
    n_copies : int, default=0
        ``n_c``: exact copies of informative features, in turn.
    n_irrelevant : int, default=90
        ``n_i``: features without information.
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
    sizes = {"n_rows": (n_rows, 1), "n_informative": (n_informative, 1)}
    _check_sizes(**sizes, n_copies=(n_copies, 0), n_irrelevant=(n_irrelevant, 0))
    rng = np.random.default_rng(random_state)
    informative: FloatArray = rng.uniform(-1.0, 1.0, (n_rows, n_informative))
    irrelevant: FloatArray = rng.uniform(-1.0, 1.0, (n_rows, n_irrelevant))
    copied = np.arange(n_copies) % n_informative
    border = 2.0 ** (1.0 - 1.0 / n_informative) - 1.0
    # the second copy of a feature needs a name of its own
    rounds = [f"_{at // n_informative}" if at >= n_informative else "" for at in range(n_copies)]
    names = [f"informative_{k}" for k in range(n_informative)]
    names += [f"copy_of_{k}{end}" for k, end in zip(copied, rounds, strict=True)]
    names += [f"noise_{k}" for k in range(n_irrelevant)]
    return Generated(
        X=np.hstack([informative, informative[:, copied], irrelevant]),
        y=(informative.max(axis=1) > border).astype(np.int64),
        feature_names=tuple(names),
        relevant=np.arange(n_informative),
        redundant=np.arange(n_informative, n_informative + n_copies),
    )


def make_grafting_a(n_rows: int = 1000, random_state: int | None = 0) -> Generated:
    """Make problem A of the paper: 10 informative features among 90 irrelevant ones."""
    return make_threshold_max(n_rows, 10, 0, 90, random_state)


def make_grafting_b(n_rows: int = 1000, random_state: int | None = 0) -> Generated:
    """Make problem B: 10 informative features and nine copies of each."""
    return make_threshold_max(n_rows, 10, 90, 0, random_state)


def make_grafting_c(n_rows: int = 100, random_state: int | None = 0) -> Generated:
    """Make problem C: 10 informative features, 490 copies and 500 irrelevant ones, 100 rows."""
    return make_threshold_max(n_rows, 10, 490, 500, random_state)


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """A small classification problem with costs of features.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of str of shape (n_rows,)
        ``"benign"`` or ``"malignant"``.
    feature_names : tuple of str
        Those of decoys begin with ``"shuffled"``.
    costs : ndarray of shape (n_features,)
        In minutes.
    feature_groups : tuple of str
        The measurement that each feature comes from; decoys are measurements of their own.
    decoys : ndarray of int
        Sorted indices of the columns without information.
    """

    X: FloatArray
    y: np.ndarray[tuple[int], np.dtype[np.str_]]
    feature_names: tuple[str, ...]
    costs: FloatArray
    feature_groups: tuple[str, ...]
    decoys: IntArray


def load_demo(random_state: int = 0) -> Demo:
    """Load the breast cancer set that comes with scikit-learn, with decoys and costs added.

    The 569 rows and 30 features are real (Wolberg, Street and Mangasarian, 1993): ten measurements
    of cell nuclei, each as mean, error and worst value. Each has a decoy: the same column with its
    rows shuffled. The costs are invented, in minutes per measurement.

    Parameters
    ----------
    random_state : int, default=0
        Seed of the shuffling.

    Returns
    -------
    Demo
        569 rows, 60 columns; no network and no data frame library needed.

    Examples
    --------
    >>> from secateur.datasets import load_demo
    >>> demo = load_demo()
    >>> demo.X.shape, demo.feature_names[0], float(demo.costs[0])
    ((569, 60), 'mean radius', 1.0)
    """
    from sklearn.datasets import load_breast_cancer  # slow to load, and only needed here

    bunch = load_breast_cancer()
    real = np.asarray(bunch.data, dtype=np.float64)
    names = [str(name) for name in bunch.feature_names]
    shuffled = np.random.default_rng(random_state).permuted(real, axis=0)
    cost_of = {name: minutes for minutes, each in _MINUTES.items() for name in each}
    costs = np.array([cost_of[_measurement(name)] for name in names])
    decoy_names = [f"shuffled {name}" for name in names]
    return Demo(
        X=np.hstack([real, shuffled]),
        y=np.asarray(bunch.target_names)[bunch.target].astype(np.str_),
        feature_names=(*names, *decoy_names),
        costs=np.concatenate([costs, costs]),
        feature_groups=(*map(_measurement, names), *decoy_names),
        decoys=len(names) + np.arange(len(names)),
    )


def _measurement(name: str) -> str:
    """Return what was measured: 'mean concave points' and 'radius error' lose their statistic."""
    return name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")
