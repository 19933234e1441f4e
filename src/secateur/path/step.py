"""`Step` and `Score`: one state of an algorithm and how well it predicts, as read-only values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from secateur.exceptions import ParameterError
from secateur.path.codec import saved
from secateur.typing import AnyArray, FloatArray, IntArray

Origin = Literal["inner", "held_out"]
ORIGIN_WORDS = {"inner": "inner", "held_out": "held-out"}
# Of a step's details: quantiles of a metric over the test queries, as shares of these.
QUERY_QUANTILES = {f"query_quantile_{percent}": percent / 100 for percent in (5, 25, 50, 75, 95)}


class Refrozen:
    """Pickles through the constructor: read-only mappings and arrays would not stay so."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, each.name) for each in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(
            thawed_json(each) if isinstance(each, MappingProxyType) else each for each in values
        )


def set_fields(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass, for its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


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
    folds: tuple[float, ...] = field(repr=False)
    origin: Origin
    metric: str = "loss"
    greater_is_better: bool = False

    def __post_init__(self) -> None:
        if self.origin not in ORIGIN_WORDS:
            raise ParameterError(
                f"'origin' must be one of {tuple(ORIGIN_WORDS)}. Got {self.origin!r}. "
                "Use 'held_out' only for rows that took no part in the selection."
            )
        if self.standard_error < 0:
            raise ParameterError(
                f"'standard_error' must be >= 0, or NaN where it is unknown. Got "
                f"{self.standard_error}. Use Score.of to compute it from the folds."
            )
        set_fields(
            self,
            mean=float(self.mean),
            standard_error=float(self.standard_error),
            folds=tuple(map(float, self.folds)),
            greater_is_better=bool(self.greater_is_better),
        )

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
        n = values.size
        if n == 0:
            raise ParameterError(
                "'folds' must not be empty. Got no folds. Use None where there is no score."
            )
        # One fold gives no standard error.
        error = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return cls(float(values.mean()), error, tuple(values), origin, metric, greater_is_better)

    @property
    def utility(self) -> float:
        """The mean, signed so that larger is better."""
        return self.mean if self.greater_is_better else -self.mean

    @property
    def is_usable(self) -> bool:
        """Whether the mean is finite, so that it may be compared and chosen."""
        return math.isfinite(self.mean)

    @property
    def key(self) -> tuple[str, str, bool]:
        """What two scores must have in common to be compared."""
        return self.origin, self.metric, self.greater_is_better

    @property
    def kind(self) -> str:
        """The metric and where it was measured: 'held-out log_loss'."""
        return f"{ORIGIN_WORDS[self.origin]} {self.metric}"

    def __str__(self) -> str:
        return f"{self.kind} ({format_score(self.mean)})"


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
    losses : object, default=None
        The losses of validation rows while a search goes on, for paired differences. Never saved.
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
    losses: Any = field(default=None, metadata=saved(skip=True))
    details: Mapping[str, Any] = field(default_factory=dict)
    supports: Mapping[str, IntArray] = field(default_factory=dict, metadata=saved(optional=True))

    def __post_init__(self) -> None:
        supports = {str(k): frozen_integers("supports", v) for k, v in self.supports.items()}
        numbers = ("penalty", "objective", "cost", "seconds")
        set_fields(
            self,
            support=frozen_integers("support", self.support),
            order=frozen_integers("order", self.order),
            weight=_frozen("weight", np.asarray(self.weight), np.dtype(np.float64)),
            details=frozen_mapping("details", self.details),
            supports=MappingProxyType(supports),
            **{key: float(getattr(self, key)) for key in numbers},
        )
        support, order, weight = self.support, self.order, self.weight
        if weight.size != support.size:
            raise ParameterError(
                f"'weight' must have one value for each feature of 'support'. Got {weight.size} "
                f"weights for {support.size} features. Use Step.of to pick them from a full vector."
            )
        if support.size and (support[0] < 0 or not np.all(support[1:] > support[:-1])):
            raise ParameterError(
                f"'support' must be sorted, without repeats, not negative. Got {support}. Sort it."
            )
        if not np.array_equal(np.sort(order), support):
            raise ParameterError(
                f"'order' must have the same features as {support}. Got {order}. Use Step.of."
            )
        # tasks often have one and the same array; there may be hundreds of them, at every round
        for name, features in {id(its): (name, its) for name, its in supports.items()}.values():
            if not np.isin(features, support).all() or np.any(features[1:] <= features[:-1]):
                raise ParameterError(
                    "'supports' must hold sorted features of 'support'. Got others, or another "
                    f"order, for {name!r}. Sort each, and give 'support' all of them."
                )
        for key, value in self.details.items():
            if isinstance(value, tuple | Mapping):
                raise ParameterError(
                    f"'details' must hold JSON scalars. Got {value!r} at {key!r}. "
                    "Keep collections on the model, or give each item its own key."
                )

    @classmethod
    def of(
        cls,
        order: npt.ArrayLike,
        weight_by_feature: npt.ArrayLike | None = None,
        *,
        penalty: float = math.nan,
        objective: float = math.nan,
        **more: Any,
    ) -> Step:
        """Make a step from the order of entry and a weight for every feature, one by default.

        ``more`` are further parameters of `Step`.
        """
        entered = frozen_integers("order", order)
        support = np.sort(entered)
        weight = np.ones(support.size)
        if weight_by_feature is not None:
            weight = np.asarray(weight_by_feature, dtype=np.float64)[support]
        return cls(support, entered, weight, penalty, objective, **more)

    @classmethod
    def _from_saved(cls, order: IntArray, **values: Any) -> Step:
        return cls(support=np.sort(order), order=order, **values)

    def measured(self, **values: Any) -> Step:
        """A copy with another ``cost``, ``score`` or ``seconds``; nothing is checked again."""
        copy = object.__new__(Step)
        set_fields(copy, **{each: getattr(self, each) for each in self.__slots__} | values)
        return copy

    @property
    def n_features(self) -> int:
        """How many features are in use."""
        return int(self.support.size)

    def __repr__(self) -> str:
        score = "" if self.score is None else f", {self.score.metric}={self.score.mean:.6g}"
        return f"Step(n_features={self.n_features}, penalty={self.penalty:.6g}{score})"


def frozen_integers(name: str, values: Any) -> IntArray:
    """Return `values` as a flat read-only int64 array, copied if the caller could write to it."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ParameterError(
            f"{name!r} must hold whole numbers. Got dtype {array.dtype}. Pass feature indices."
        )
    return _frozen(name, array, np.dtype(np.int64))


def _frozen(name: str, array: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    if array.ndim != 1:
        raise ParameterError(
            f"{name!r} must have one dimension. Got shape {array.shape}. Pass a flat array."
        )
    if array.dtype == dtype and not array.flags.writeable and array.base is None:
        return array  # read-only already: no need to copy
    # The copy leaves the engine's own array writable.
    copy = array.astype(dtype, copy=True)
    copy.flags.writeable = False
    return copy


def frozen_mapping(name: str, value: Any) -> Any:
    """Return a read-only mapping of JSON values."""
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"{name!r} must be a mapping. Got {type(value).__name__}. Use {{}} for none."
        )
    return _frozen_json(name, value)


def _frozen_json(name: str, value: Any) -> Any:
    """Return a read-only JSON value: lists become tuples, mappings read-only."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ParameterError(
                    f"The keys of {name!r} must be strings. Got {key!r}. Use str(key) as the key."
                )
        return MappingProxyType({key: _frozen_json(f"{name}.{key}", v) for key, v in value.items()})
    if isinstance(value, list | tuple):
        return tuple(_frozen_json(f"{name}[{i}]", item) for i, item in enumerate(value))
    raise ParameterError(
        f"{name!r} must be a JSON value. Got {type(value).__name__}. Pass its name or its repr."
    )


def thawed_json(value: Any) -> Any:
    """Return the plain dicts and lists of a read-only JSON value."""
    if isinstance(value, Mapping):
        return {key: thawed_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thawed_json(item) for item in value]
    return value


def format_score(value: float) -> str:
    """Write a score: four decimals, so that scores line up."""
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.4g}"


def format_amount(value: float) -> str:
    """Write a cost or a penalty, without trailing zeros; nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"


def count_of(count: int, noun: str = "feature") -> str:
    """'1 feature' or '12 features'."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str], limit: int) -> str:
    """The first names and the number of the others: 'a, b and 3 more'."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
