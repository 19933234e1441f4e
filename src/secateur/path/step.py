"""`Step` and `Score`: one state of an algorithm, how well it predicts, and which step is best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from secateur.exceptions import ParameterError
from secateur.path.codec import saved
from secateur.path.values import Refrozen, frozen_floats, frozen_integers, frozen_mapping
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath


Origin = Literal["inner", "held_out"]
ORIGINS: tuple[Origin, ...] = ("inner", "held_out")


@dataclass(frozen=True, slots=True)
class Score:
    """How well a step predicts, how sure that is, and on which rows it was measured.

    Parameters
    ----------
    mean : float
        The score.
    standard_error : float
        Standard error of the mean; NaN if unknown.
    folds : tuple of float
        The score of each fold; empty if there were none.
    origin : {"inner", "held_out"}
        ``"inner"``: measured on rows that took part in choosing the support, so optimistic.
        ``"held_out"``: the whole selection was repeated without these rows.
    metric : str, default="loss"
    greater_is_better : bool, default=False

    Examples
    --------
    >>> score = Score.of([0.25, 0.75], origin="held_out", metric="log_loss")
    >>> score.mean, score.standard_error, score.utility
    (0.5, 0.25, -0.5)
    """

    mean: float
    standard_error: float = field(metadata=saved("spread"))
    folds: tuple[float, ...]
    origin: Origin
    metric: str = "loss"
    greater_is_better: bool = False

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise ParameterError(
                f"'origin' must be one of {ORIGINS}. Got {self.origin!r}. "
                "Use 'held_out' only for rows that took no part in the selection."
            )
        object.__setattr__(self, "mean", float(self.mean))
        object.__setattr__(self, "standard_error", float(self.standard_error))
        object.__setattr__(self, "folds", tuple(float(fold) for fold in self.folds))
        object.__setattr__(self, "greater_is_better", bool(self.greater_is_better))

    @classmethod
    def of(
        cls,
        folds: Sequence[float] | npt.NDArray[np.float64],
        *,
        origin: Origin,
        metric: str = "loss",
        greater_is_better: bool = False,
    ) -> Score:
        """Make a score of its folds: their mean, and the standard error of that mean."""
        values = np.asarray(folds, dtype=np.float64)
        if values.size == 0:
            raise ParameterError(
                "'folds' must not be empty. Got no folds. Use None where there is no score."
            )
        # One fold gives no standard error.
        n = values.size
        standard_error = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return cls(
            float(values.mean()), standard_error, tuple(values), origin, metric, greater_is_better
        )

    @property
    def utility(self) -> float:
        """The mean, signed so that larger is better."""
        return self.mean if self.greater_is_better else -self.mean

    @property
    def is_usable(self) -> bool:
        """Whether the mean is finite, so that it may be compared and chosen."""
        return math.isfinite(self.mean)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(Refrozen):
    """One state of an algorithm: which features it uses and what that gives.

    Parameters
    ----------
    support : array of int, shape (n_features,)
        The features in use, sorted.
    order : array of int, shape (n_features,)
        The same features in order of entry.
    weight : array of float, shape (n_features,)
        Importance of each feature, aligned with `support`, for instance the total gain.
    penalty : float
        The penalty at this step, or another parameter that the path runs along.
    objective : float
        Training loss.
    cost : float, default=nan
        Cost of the support; NaN if unknown.
    score : Score or None, default=None
    seconds : float, default=0.0
        Time from the start of the trace to the end of this step.
    model : object, default=None
        A model that can predict at this step. It is never saved.
    details : mapping of str to JSON scalar, default={}
        Further facts of the algorithm, for instance ``{"round": 12}``.
    supports : mapping of str to array of int, default={}
        Where the problem has several tasks, the features of each, sorted; `support` has all.

    Examples
    --------
    >>> step = Step.of([7, 2], [0, 0, 1.5, 0, 0, 0, 0, 3.0], penalty=0.1)
    >>> step.support, step.weight
    (array([2, 7]), array([1.5, 3. ]))
    """

    support: IntArray = field(metadata=saved(skip=True))  # the sorted order
    order: IntArray
    weight: FloatArray
    penalty: float = field(metadata=saved("control"))
    objective: float
    cost: float = math.nan
    score: Score | None = None
    seconds: float = 0.0
    model: Any = field(default=None, metadata=saved(skip=True))
    details: Mapping[str, Any] = field(default_factory=dict)
    supports: Mapping[str, IntArray] = field(default_factory=dict, metadata=saved(optional=True))

    def __post_init__(self) -> None:
        object.__setattr__(self, "support", frozen_integers("support", self.support))
        object.__setattr__(self, "order", frozen_integers("order", self.order))
        object.__setattr__(self, "weight", frozen_floats("weight", self.weight))
        for name in ("penalty", "objective", "cost", "seconds"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "details", _frozen_details(self.details))
        supports = {str(k): frozen_integers("supports", v) for k, v in self.supports.items()}
        object.__setattr__(self, "supports", MappingProxyType(supports))
        _check_support(self.support, self.order, self.weight)
        _check_supports(self.support, self.supports)

    @classmethod
    def of(
        cls,
        order: npt.ArrayLike,
        weight_by_feature: npt.ArrayLike | None = None,
        *,
        penalty: float = math.nan,
        objective: float = math.nan,
        cost: float = math.nan,
        score: Score | None = None,
        model: Any = None,
        details: Mapping[str, Any] | None = None,
        supports: Mapping[str, IntArray] | None = None,
    ) -> Step:
        """Make a step from the order of entry and a weight for every feature of the problem.

        Without `weight_by_feature` all features of the support weigh one.
        """
        entered = frozen_integers("order", order)
        support = np.sort(entered)
        if weight_by_feature is None:
            weight = np.ones(support.size)
        else:
            weight = np.asarray(weight_by_feature, dtype=np.float64)[support]
        kept = (penalty, objective, cost, score, 0.0, model, details or {}, supports or {})
        return cls(support, entered, weight, *kept)

    @classmethod
    def _from_saved(cls, order: IntArray, **values: Any) -> Step:
        return cls(support=np.sort(order), order=order, **values)

    @property
    def n_features(self) -> int:
        """How many features are in use."""
        return int(self.support.size)

    def __repr__(self) -> str:
        score = "" if self.score is None else f", {self.score.metric}={self.score.mean:.6g}"
        return f"Step(n_features={self.n_features}, penalty={self.penalty:.6g}{score})"


def _frozen_details(details: Mapping[str, Any]) -> Any:
    frozen = frozen_mapping("details", details)
    for key, value in frozen.items():
        if isinstance(value, tuple | Mapping):
            raise ParameterError(
                f"'details' must hold JSON scalars. Got {value!r} at {key!r}. "
                "Keep collections on the model, or give each item its own key."
            )
    return frozen


def _check_supports(support: IntArray, supports: Mapping[str, IntArray]) -> None:
    # tasks often have one and the same array; there may be hundreds of them, at every round
    for name, features in {id(its): (name, its) for name, its in supports.items()}.values():
        if not np.isin(features, support).all() or np.any(features[1:] <= features[:-1]):
            raise ParameterError(
                "'supports' must hold sorted features of 'support'. Got others, or another order, "
                f"for {name!r}. Sort each, and give 'support' all of them."
            )


def _check_support(support: IntArray, order: IntArray, weight: FloatArray) -> None:
    if weight.size != support.size:
        raise ParameterError(
            f"'weight' must have one value for each feature of 'support'. Got {weight.size} "
            f"weights for {support.size} features. Use Step.of to pick them from a full vector."
        )
    if support.size and (support[0] < 0 or not np.all(support[1:] > support[:-1])):
        raise ParameterError(
            f"'support' must be sorted, without repeats and not negative. Got {support}. "
            "Use Step.of to sort it from the order of entry."
        )
    if not np.array_equal(np.sort(order), support):
        raise ParameterError(
            f"'order' and 'support' must hold the same features. Got {order} and {support}. "
            "Use Step.of to make one from the other."
        )


def require_steps(path: SelectionPath) -> None:
    """Raise if there is no step to choose from."""
    if len(path) == 0:
        raise ParameterError(
            "A path without steps cannot be cut. "
            f"Got a path that ended before its first step ({path.stop_reason}). "
            "Loosen the limits of the run, or lower its penalty."
        )


def usable(path: SelectionPath) -> IntArray:
    """Return the steps whose score is finite; NaN is never chosen."""
    return np.flatnonzero(np.isfinite(path.utilities)).astype(np.int64)


def best_among(path: SelectionPath, indices: IntArray) -> int:
    """Return the step of the best finite score.

    Ties go to fewer features, then to the lower cost, then to the earlier step.
    """
    scored = indices[np.isfinite(path.utilities[indices])]
    if scored.size == 0:
        raise ParameterError(
            "Only a step with a finite score can be chosen. "
            f"Got none among the {indices.size} steps that qualify. "
            "Look at path.scores for NaN, or score the path again."
        )
    keys = (_payable(path.costs), path.n_features, -path.utilities)
    return _first(scored, *keys)


def smallest_among(path: SelectionPath, indices: IntArray) -> int:
    """Return the step with the fewest features; ties: lower cost, better score, earlier."""
    return _first(indices, -path.utilities, _payable(path.costs), path.n_features)


def _first(indices: IntArray, *keys: FloatArray | IntArray) -> int:
    # lexsort sorts by its last key first, and is stable: what is left of a tie goes to the earlier.
    return int(indices[np.lexsort([key[indices] for key in keys])[0]])


def _payable(costs: FloatArray) -> FloatArray:
    return np.where(np.isnan(costs), np.inf, costs)


def envelope(path: SelectionPath) -> IntArray:
    """Return the steps that no step with as many or fewer features equals, smallest first."""
    scored = usable(path)
    utility, size = path.utilities[scored], path.n_features[scored]
    scored = scored[np.lexsort([scored, -utility, size])]
    utility = path.utilities[scored]
    before = np.maximum.accumulate(np.concatenate([[-np.inf], utility[:-1]]))
    return scored[utility > before]
