"""Models of other libraries that results are compared with, for all of their allowed versions."""

from __future__ import annotations

import sklearn
from packaging.version import Version
from sklearn.linear_model import LogisticRegression


def l1_logistic_regression(C: float) -> LogisticRegression:
    """scikit-learn's logistic regression with an L1 penalty, solved to the end."""
    # `l1_ratio` alone means L1 since 1.8; before, `penalty` must allow it
    penalty = {} if Version(sklearn.__version__) >= Version("1.8") else {"penalty": "elasticnet"}
    return LogisticRegression(l1_ratio=1, solver="saga", C=C, tol=1e-9, max_iter=9999, **penalty)
