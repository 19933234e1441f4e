"""The demonstration data: real measurements of tumour cells, decoys among them, and costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur.typing import FloatArray, IntArray

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
