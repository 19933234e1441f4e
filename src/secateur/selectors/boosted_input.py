"""What a boosted selector is given, checked and read before any work is done."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from secateur.data.folds import Fold
from secateur.data.frames import read_table
from secateur.data.messages import some_of
from secateur.data.target import read_target_like
from secateur.data.weights import are_counts, read_weights
from secateur.engines.boosted.engine import ValidationRows
from secateur.exceptions import InputError, SecateurError
from secateur.path import SelectionPath
from secateur.selectors.inputs import FitInput
from secateur.selectors.parameters import SHARED_CONSTRAINTS, Constraint, number, one_of, read_grid
from secateur.typing import FloatArray, Loss

CONSTRAINTS: dict[str, Constraint] = SHARED_CONSTRAINTS | {
    "learning_rate": number(0, above=True, below=True, advice="Use 0.1 for a start."),
    "max_iter": number(1, whole=True, advice="Use 200 for a start."),
    "max_depth": number(1, 16, whole=True, advice="Use 4 for a start."),
    "max_bins": number(2, 255, whole=True, advice="Use 255 for the finest bins."),
    "min_samples_leaf": number(
        1, below=True, words=("auto",), advice="Use 'auto' for 1 to 20 by the rows."
    ),
    "l2_regularization": number(0, below=True, advice="Use 0 for none."),
    "early_stopping": one_of(True, False, "auto", advice="Use 'auto' to stop where rows allow it."),
    "validation_fraction": number(
        0, 1, above=True, below=True, advice="Use 0.1 for one row in ten."
    ),
    "n_iter_no_change": number(1, whole=True, advice="Use 10 for a start."),
    "subsample": number(0, 1, above=True, advice="Use 1 for all rows."),
    "cost_budget": number(0, or_none=True, advice="Use None for no limit."),
    "leaf": one_of("newton", "mean", advice="Use 'newton' for a Newton step."),
}
LOSS_CONSTRAINTS: dict[str, Constraint] = {
    "loss": one_of(
        "squared_error",
        "absolute_error",
        "huber",
        "poisson",
        "quantile",
        advice="Use 'squared_error' for the mean.",
    ),
    "quantile": number(
        0, 1, above=True, below=True, or_none=True, advice="Use 0.5 for the median."
    ),
    "huber_delta": number(
        0, above=True, below=True, or_none=True, advice="Use None to have it chosen from y."
    ),
}
_PENALTY = "Use 'auto' to have it chosen, 0 for no penalty."


def read_penalty(penalty: Any, criterion: str, name: str = "penalty") -> float | list[float] | None:
    """One number, a falling grid, or None for "auto"; each in the range of the criterion.

    >>> read_penalty([0.01, 0.1], "agbm")
    [0.1, 0.01]
    """
    most = 1.0 if criterion == "agbm" else np.inf
    return read_grid(name, penalty, most, _PENALTY)


def least_rows(min_samples_leaf: Any, weight: FloatArray) -> float:
    """The least rows of a leaf: as told, or one for every 50 rows, from 1 to 20.

    >>> least_rows("auto", np.ones(500))
    10.0
    """
    if min_samples_leaf != "auto":
        return float(min_samples_leaf)
    n_rows = weight.sum() if are_counts(weight) else len(weight)
    return float(np.clip(n_rows // 50, 1, 20))


Class = TypeVar("Class", bound=type)

PENALTY = {
    "gbfs": """penalty : float, "auto" or sequence of float, default="auto"
    What a new feature costs, times its cost, in units of the loss; >= 0.""",
    "agbm": """penalty : float, "auto" or sequence of float, default="auto"
    What a new feature costs, times its cost, as a share of the squared error at the root of a
    tree; from 0 to below 1. 0.01 buys what explains one part in a hundred.""",
}

AFTER_PENALTY = """\
    "auto" tries a falling grid, scores each value on rows that took no part, and lets ``cut``
    choose; a sequence is a grid of your own. Where there are too few rows to judge by (see
    ``cv``), "auto" is one middling value."""

REGRESSION = """loss : str, default="squared_error"
    Also "absolute_error", "huber", "poisson" and "quantile".
quantile : float, default=None
    The level, for ``loss="quantile"``.
huber_delta : float, default=None
    Where the Huber loss turns linear; None takes the 0.9 quantile of the distances to the
    median."""

CLASSIFICATION = """class_weight : None, "balanced" or dict, default=None
    Weights of the classes, times those of the rows."""

COMMON = """learning_rate : float, default=0.1
max_iter : int, default=200
    The most rounds; each has one tree, or one per class if there are more than two.
max_depth : int, default=4
max_bins : int, default=255
    Bins per feature; columns with fewer distinct values have a bin for each.
min_samples_leaf : "auto" or number, default="auto"
    The least rows of a leaf; "auto" is 1 to 20, one for every 50 rows.
l2_regularization : float, default=0.0
leaf : {"newton", "mean"}, default="newton"
    The value of a leaf: a Newton step, or the mean gradient as in the papers.
subsample : float, default=1.0
    The share of rows that each tree sees.
costs : None, number, sequence, dict or FeatureCosts, default=None
    What features cost to acquire, 1 each by default; a dict goes by name or position.
feature_groups : None, sequence, dict or matrix, default=None
    Bags of features: the first of a bag pays, the others are free.
keep : names or indices, default=None
    Features that are always in, and free.
max_features : int, default=None
    A hard budget: no feature is bought beyond it.
cost_budget : float, default=None
    A hard budget of costs.
cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
    Which step of the path is chosen. None is the fewest features within one standard error of the
    best along a grid, and the best step of a single fit.
cv : None, int, splitter or list of (train, test), default=None
    The folds by which a grid is judged. None is five up to 2,000 rows, three up to 5,000, and one
    held-out fifth above; none below 40 rows, or where a class has fewer than 6.
early_stopping : bool or "auto", default="auto"
    With a single penalty: hold rows out and stop when they gain nothing; "auto" does so above
    10,000 rows.
validation_fraction : float, default=0.1
    The share of rows that early stopping holds out.
n_iter_no_change : int, default=10
    Rounds without progress on rows held out, after which a fit stops.
categorical_features : None, "from_dtype", list or mask, default=None
    Columns of categories; those of a category type are always taken as such.
random_state : int, RandomState or None, default=None
n_jobs : int, default=None
    Threads; None is all cores. The result does not depend on it.
verbose : int, default=0
    1 shows a progress bar."""

ATTRIBUTES = """path_ : SelectionPath
    Supports, costs and scores, step by step: a step is the lifetime of one support of a single
    fit, or one penalty of a grid.
selection_ : Selection
    The chosen step; print it for a sentence.
support_ : array of bool, shape (n_features_in_,)
ranking_ : array of int, shape (n_features_in_,)
feature_importances_ : array of float, shape (n_features_in_,)
n_iter_ : int
    Rounds of the chosen model.
n_features_in_ : int
feature_names_in_ : array of str
    Only where X has names.
classes_ : array
    Only for classes."""


def with_parameters(cls: Class) -> Class:
    """Put the parameters and attributes into a class's docstring, before its examples."""
    head, _, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    target_type = cls._target_type  # type: ignore[attr-defined]  # any boosted class
    penalty = getattr(cls, "_penalty_doc", PENALTY[cls._criterion])  # type: ignore[attr-defined]  # likewise
    own = CLASSIFICATION if target_type == "classification" else REGRESSION
    more: str = getattr(cls, "_own_parameters", "")
    parameters = "\n".join(filter(None, [penalty, AFTER_PENALTY, more, own, COMMON]))
    cls.__doc__ = (
        f"{head.rstrip()}\n\nParameters\n----------\n{parameters}\n\n"
        f"Attributes\n----------\n{ATTRIBUTES}\n\nExamples\n--------\n{examples}"
    )
    return cls


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoostedInput(FitInput):
    """The input of a boosted fit.

    ``penalty`` is one number, a falling grid, or None for one that is made; ``validation`` are the
    user's own validation rows; ``resume`` is the path of an interrupted fit.
    """

    loss: Loss
    penalty: float | list[float] | None
    validation: ValidationRows | None = None
    resume: SelectionPath | None = None


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Say which of several tables or vectors an error is about."""
    try:
        yield
    except SecateurError as error:
        raise type(error)(f"{what}: {error}") from error


def read_validation(
    given: FitInput, X_val: Any, y_val: Any, sample_weight_val: Any
) -> ValidationRows | None:
    """The user's own validation rows; their classes weigh what those of the other rows do."""
    if X_val is None and y_val is None and sample_weight_val is None:
        return None
    if X_val is None or y_val is None:
        msg = (
            "'X_val' and 'y_val' must come together. Got only one of them, or neither but "
            "'sample_weight_val'. Give both."
        )
        raise InputError(msg)
    with _named("X_val"):
        table = read_table(X_val, like=given.problem.table.schema)
    with _named("y_val"):
        target = read_target_like(y_val, given.target, n_rows=table.n_rows)
    with _named("sample_weight_val"):
        weight = read_weights(sample_weight_val, table.n_rows)
    if target.classes is not None:
        weight = weight * given.class_factors[target.values.astype(np.int64)]
    return ValidationRows(table, target.values, weight)


MAY_DIFFER = {"max_iter", "n_jobs", "verbose", "cut", "n_iter_no_change", "max_bins"}
"""Parameters that say how far to go, not along which path."""


def read_resume(resume: Any, metadata: dict[str, Any]) -> SelectionPath | None:
    """The path of a fit that was broken off; it must be of the same selector and columns."""
    if resume is None:
        return None
    if not isinstance(resume, SelectionPath) or len(resume) == 0:
        msg = (
            "'resume' must be the path of a fit that was broken off. Got "
            f"{type(resume).__name__}. Give selector.path_, or the path of the error."
        )
        raise InputError(msg)
    others = {
        name
        for name, value in metadata["parameters"].items()
        if name not in MAY_DIFFER and resume.parameters.get(name) != value
    }
    if resume.algorithm != metadata["algorithm"]:
        others.add("the selector")
    if resume.feature_names != tuple(metadata["feature_names"]):
        others.add("the columns")
    if others:
        msg = (
            "'resume' must be a path of the same selector, parameters and columns. Got other "
            f"{some_of(sorted(others))}. Fit without resume."
        )
        raise InputError(msg)
    if any(step.model is None for step in resume):
        msg = (
            "'resume' must be a path with its models. Got one that was read from a file. Fit "
            "without resume, or keep the selector by pickle."
        )
        raise InputError(msg)
    return resume


def rounds_to_resume(given: BoostedInput, fold: Fold) -> list[Any]:
    """The trees of an interrupted single fit; its rows must be those of this one."""
    assert given.resume is not None  # noqa: S101  # asked for only then
    ensemble = given.resume[-1].model.ensemble
    target, weight = given.problem.target.values[fold.train], given.problem.weight[fold.train]
    if not np.array_equal(given.loss.baseline(target, weight), ensemble.baseline):
        msg = (
            "'resume' must be a path of the same rows. Got one with another best constant. Give "
            "the same rows and a random_state that is a number, or fit without resume."
        )
        raise InputError(msg)
    return list(ensemble.rounds)
