"""Estimators made anew, with all their chance from one seed."""

from __future__ import annotations

from typing import Any

from secateur.exceptions import ParameterError


def read_seed(random_state: Any) -> int:
    """A number that all chance of a fit comes from."""
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        msg = (
            f"'random_state' must be None, an int >= 0 or a RandomState. Got {random_state!r}. Use "
            "0 for results that repeat."
        )
        raise ParameterError(msg) from error


def prepared(estimator: Any, seed: int) -> Any:
    """A clone whose random states are set wherever they were left open."""
    from sklearn.base import clone

    fresh = clone(estimator)
    names = [n for n in fresh.get_params(deep=True) if n.rsplit("__", 1)[-1] == "random_state"]
    unset = {name: seed for name in names if fresh.get_params(deep=True)[name] is None}
    return fresh.set_params(**unset) if unset else fresh


def with_threads(estimator: Any, n_jobs: int | None) -> Any:
    """A clone with so many threads, where it has such a parameter and it was left open."""
    from sklearn.base import clone

    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if n_jobs is None or known.get("n_jobs", n_jobs) is not None:
        return estimator
    return clone(estimator).set_params(n_jobs=n_jobs)
