"""Search along a falling penalty: a step for each penalty, scored on the validation rows of folds.

A family of models supplies a `PenaltyEngine`; `search_penalties` makes a `PathSearch` of it, and
`search_path` turns one search, or several variants of it, into a `SelectionPath`. `FoldLosses` are
the losses of validation rows, `pool` is their mean over folds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, Protocol

import numpy as np

from secateur.engines.drive import drive
from secateur.path.cutting import Best, is_chance
from secateur.path.path import SelectionPath
from secateur.path.step import Origin, Score, Step
from secateur.path.stopping import StoppingRule, StopReason
from secateur.typing import FloatArray, IntArray

# Penalties tried between the last with few enough features and the first with too many.
MAX_BISECTIONS = 3
MAX_SIZE_TRIALS = 8  # the same for a wanted number of features
MODEL_SHARE = 0.25  # of a model in the mean of its probabilities and those of a constant
SIZE_TOLERANCE = 0.03  # a size this close to the wanted one, as a share of it, is near enough


class FoldLosses:
    """The losses of the validation rows of one fold, with the sums that a pooled score needs.

    With ``counts`` a weight of 2 stands for two rows rather than for one row that counts twice.

    >>> FoldLosses(np.array([1.0, 3.0]), np.ones(2)).mean
    2.0
    """

    def __init__(self, losses: FloatArray, weight: FloatArray, *, counts: bool = False) -> None:
        self.losses, self.weights, self._counts = losses, weight, counts
        self.weight = float(weight.sum())
        self.mean = float(weight @ losses) / self.weight

    @cached_property
    def squared_weights(self) -> FloatArray:
        """The squares of the weights; of rows that are counted, the weights."""
        return self.weights if self._counts else self.weights * self.weights

    @cached_property
    def moments(self) -> FloatArray:
        """For the sum of w^2 (loss - m)^2 at a mean m that is known only later."""
        squared, losses = self.squared_weights, self.losses
        return np.array([squared @ (losses * losses), squared @ losses, squared.sum()])

    @classmethod
    def joined(cls, parts: Sequence[FoldLosses], units: Sequence[float]) -> FoldLosses:
        """The losses of all parts, those of each part divided by its unit.

        >>> parts = [FoldLosses(np.array([loss]), np.ones(1)) for loss in (1.0, 6.0)]
        >>> FoldLosses.joined(parts, [1.0, 2.0]).mean
        2.0
        """
        whole = cls.__new__(cls)
        whole.weight = sum(part.weight for part in parts)
        pairs = list(zip(parts, units, strict=True))
        whole.mean = sum(part.mean / unit * part.weight for part, unit in pairs) / whole.weight
        scaled = [part.moments / np.array([unit * unit, unit, 1.0]) for part, unit in pairs]
        whole.moments = np.sum(scaled, axis=0)
        whole.losses = np.concatenate([part.losses / unit for part, unit in pairs])
        whole.weights = np.concatenate([part.weights for part in parts])
        whole.squared_weights = np.concatenate([part.squared_weights for part in parts])
        return whole


def mean_of(folds: Sequence[FoldLosses]) -> float:
    """The mean loss over all folds."""
    return sum(fold.mean * fold.weight for fold in folds) / sum(fold.weight for fold in folds)


def pool(folds: Sequence[FoldLosses], *, origin: Origin, metric: str) -> Score:
    """The mean loss over all folds, with its standard error over rows: folds are too few."""
    total, mean = sum(fold.weight for fold in folds), mean_of(folds)
    squares, firsts, weights = np.sum([fold.moments for fold in folds], axis=0)
    variance = max(0.0, squares - 2.0 * mean * firsts + mean * mean * weights)
    means = tuple(fold.mean for fold in folds)
    return Score(mean, math.sqrt(variance) / total, means, origin, metric)


def difference(folds: Sequence[FoldLosses], others: Sequence[FoldLosses]) -> tuple[float, float]:
    """The mean paired difference of two models' losses on the same rows, and its standard error.

    >>> one = FoldLosses(np.array([1.0, 5.0, 9.0]), np.ones(3))
    >>> other = FoldLosses(np.array([0.0, 4.0, 8.5]), np.ones(3))
    >>> mean, standard_error = difference([one], [other])
    >>> round(mean, 4), round(standard_error, 4)
    (0.8333, 0.1361)
    """
    pairs = list(zip(folds, others, strict=True))
    total = sum(one.weight for one in folds)
    mean = sum((one.mean - other.mean) * one.weight for one, other in pairs) / total
    variance = sum(
        float(one.squared_weights @ (one.losses - other.losses - mean) ** 2) for one, other in pairs
    )
    return mean, math.sqrt(variance) / total


def first_near_best(models: Sequence[Sequence[FoldLosses]]) -> int:
    """The first model within one standard error of the best one, of their paired difference."""
    means = [pool(each, origin="held_out", metric="loss").mean for each in models]
    usable = [number for number, mean in enumerate(means) if math.isfinite(mean)]
    if not usable:
        return 0
    best = min(usable, key=lambda number: means[number])

    def is_near(number: int) -> bool:
        worse, standard_error = difference(models[number], models[best])
        return number == best or worse <= standard_error

    return next(number for number in usable if is_near(number))


class PenaltyEngine(Protocol):
    """Models of one family on fixed rows and folds, fitted at one penalty after another."""

    @property
    def metric(self) -> str:
        """The name of the loss."""

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        """The step of a fit at one penalty: of all rows, or the training rows of a single fold.

        Penalties fall from call to call, so an engine may start from its previous solution.
        ``max_features`` is a limit for this step alone.
        """

    def fold_losses(self, step: Step) -> Sequence[FoldLosses]:
        """Validation losses of each fold for the step that ``fit`` returned last; [] for none."""


@dataclass(frozen=True, slots=True, eq=False)
class PathSearch:
    """A path that is still to be traced; ``losses`` by penalty are filled during the search."""

    steps: Iterator[Step]
    score: Callable[[Step], Score | None] | None = None
    rules: Sequence[StoppingRule] = ()
    on_step: Callable[[Step], None] | None = None
    penalty_name: str = "penalty"
    losses: dict[float, Sequence[FoldLosses]] = field(default_factory=dict)
    finish: Callable[[SelectionPath], SelectionPath] = lambda path: path


def search_path(
    variants: Sequence[PathSearch],
    *,
    rules: Sequence[StoppingRule] = (),
    on_step: Callable[[Step], None] | None = None,
    **more: Any,
) -> SelectionPath:
    """Trace the path; of several variants, keep the first that is not clearly worse than the best.

    ``rules`` and ``on_step`` are the user's, beside those of the search.
    """
    paths: list[SelectionPath] = []
    reason = None
    for variant in variants:
        calls = [call for call in (on_step, variant.on_step) if call is not None]
        try:
            path = drive(
                variant.steps,
                score=variant.score,
                rules=[*variant.rules, *rules],
                on_step=partial(_call_all, calls),
                penalty_name=variant.penalty_name,
                **more,
            )
        except KeyboardInterrupt:
            if not paths:
                raise
            reason = StopReason.INTERRUPTED
            break
        paths.append(variant.finish(path))
        if paths[-1].stop_reason in {StopReason.INTERRUPTED, StopReason.TIME_LIMIT}:
            reason = paths[-1].stop_reason
            break
    chosen = paths[choose_variant(variants, paths)]
    return chosen if reason is None else replace(chosen, stop_reason=reason)


def _call_all(calls: Sequence[Callable[[Step], Any]], step: Step) -> None:
    for call in calls:
        call(step)


def choose_variant(variants: Sequence[PathSearch], paths: Sequence[SelectionPath]) -> int:
    """The first variant whose best step is within one standard error of the best step of all."""
    if len(paths) == 1 or any(not variant.losses for variant in variants[: len(paths)]):
        return 0
    best = [Best().choose(path) if np.isfinite(path.utilities).any() else 0 for path in paths]
    tried = zip(variants, paths, best, strict=False)
    return first_near_best([each.losses[path[index].penalty] for each, path, index in tried])


def search_penalties(
    engine: PenaltyEngine,
    penalties: Sequence[float],
    *,
    done: Mapping[float, Step] | None = None,
    is_too_large: Callable[[Step], bool] = lambda _: False,
    size: int | None = None,
    count: Callable[[IntArray], int] = len,
    none: float | None = None,
    rules: Sequence[StoppingRule] = (),
    on_step: Callable[[Step], None] | None = None,
    penalty_name: str = "penalty",
    keep_losses: bool = False,
) -> PathSearch:
    """A search over falling penalties, one step for each; those in ``done`` are not fitted again.

    It ends before a step that ``is_too_large``, except for the first; a few penalties between the
    last two are then tried for a support nearer to the limit. More are tried for a wanted ``size``,
    the last with it as a limit, after which the search goes on; ``count`` gives the size of a
    support. ``none`` is a penalty without features, for penalties that may not have one: where
    nothing clearly beats a constant, its step is the last one. ``keep_losses`` if variants are to
    be compared.
    """
    losses: dict[float, Sequence[FoldLosses]] = {}
    kept = losses if keep_losses else None
    steps = _trace(engine, penalties, done or {}, is_too_large, size, count, none, kept)
    return PathSearch(steps, None, rules, on_step, penalty_name, losses)


def _trace(
    engine: PenaltyEngine,
    penalties: Sequence[float],
    done: Mapping[float, Step],
    is_too_large: Callable[[Step], bool],
    size: int | None,
    count: Callable[[IntArray], int],
    constant: float | None,
    losses: dict[float, Sequence[FoldLosses]] | None,
) -> Generator[Step, None, StopReason]:
    """A step for each penalty, with its score."""
    none: list[FoldLosses] = []  # of a step without features
    seen: list[Step] = []

    def scored(step: Step) -> Step:
        seen.append(step if step.penalty in done else _scored(engine, step, losses, none))
        return seen[-1]

    def nearer(before: Step, penalty: float) -> Iterator[Step]:
        return map(scored, _nearer(engine, done, before, penalty, is_too_large, size, count))

    empty = None if constant is None else scored(engine.fit(constant))
    before: Step | None = None
    for penalty in penalties:
        step = done[penalty] if penalty in done else engine.fit(penalty)
        if before is not None and is_too_large(step):
            yield from nearer(before, penalty)
            yield from _none_instead(empty, seen)
            return StopReason.MAX_FEATURES
        step = scored(step)
        if before is not None and size is not None and count(step.support) > size:
            yield from nearer(before, penalty) if count(before.support) < size else ()
            size = None
        yield step
        before = step
    yield from _none_instead(empty, seen)
    return StopReason.FINISHED


def _none_instead(empty: Step | None, seen: Sequence[Step]) -> Iterator[Step]:
    """The step without features, where the best that was seen may be chance."""
    means = [step.score.mean if step.score else math.inf for step in seen]
    if empty is not None and not empty.n_features and is_chance(seen[int(np.argmin(means))]):
        yield empty


def _nearer(
    engine: PenaltyEngine,
    done: Mapping[float, Step],
    before: Step,
    penalty: float,
    is_too_large: Callable[[Step], bool],
    size: int | None,
    count: Callable[[IntArray], int],
) -> Iterator[Step]:
    """Steps between one with few enough features and a penalty with too many."""

    def is_beyond(step: Step) -> bool:
        return is_too_large(step) or (size is not None and count(step.support) > size)

    largest = count(before.support)
    tried = _between(engine.fit, done, before.penalty, penalty, is_beyond)
    for number, step in enumerate(tried, start=1):
        if not is_beyond(step):
            largest = max(largest, count(step.support))
            yield step
        trials = MAX_SIZE_TRIALS if largest else 3 * MAX_SIZE_TRIALS
        if largest == size or number >= (MAX_BISECTIONS if size is None else trials):
            break
    if size is not None and largest < size:
        above = float(np.nextafter(penalty, np.inf))  # not the same penalty twice
        yield done[above] if above in done else engine.fit(above, size)


def trace_to_size(
    engine: PenaltyEngine,
    penalties: Sequence[float],
    n_features: int,
    count: Callable[[IntArray], int] = len,
) -> Iterator[Step]:
    """Falling penalties until the wanted size is passed, then penalties between the last two.

    It ends where a step is near enough. From above: the same size may occur again at a far lower
    penalty, with noise features included.
    """
    high = low = 0.0
    for penalty in penalties:
        step = engine.fit(penalty)
        yield step
        if _is_near(count(step.support), n_features):
            return
        high, low = low, penalty
        if count(step.support) > n_features:
            break
    between = _between(engine.fit, {}, high, low, lambda step: count(step.support) > n_features)
    for step in islice(between, MAX_SIZE_TRIALS if high > 0.0 else 0):
        yield step
        if _is_near(count(step.support), n_features):
            return


def _is_near(size: int, n_features: int) -> bool:
    return abs(size - n_features) <= int(SIZE_TOLERANCE * n_features)


def _between(
    fit: Callable[[float], Step],
    done: Mapping[float, Step],
    high: float,
    low: float,
    is_too_large: Callable[[Step], bool],
) -> Iterator[Step]:
    """Bisect penalties between one with few enough features and one with too many."""
    while True:
        penalty = float(np.sqrt(high * low))
        step = done[penalty] if penalty in done else fit(penalty)
        yield step
        high, low = (high, penalty) if is_too_large(step) else (penalty, low)


def _scored(
    engine: PenaltyEngine,
    step: Step,
    losses: dict[float, Sequence[FoldLosses]] | None,
    none: list[FoldLosses],
) -> Step:
    """The step with its score, and its gain over ``none``, of the first step without features."""
    found = engine.fold_losses(step)
    if not found:
        return step
    if losses is not None:
        losses[step.penalty] = found
    if not step.n_features and not none:
        none.extend(found)
    score = pool(found, origin="held_out", metric=engine.metric)
    details = dict(step.details)
    if step.n_features and none:
        details["gain_over_none"] = gain_over_none(found, none, engine.metric)
    return replace(step, score=score, details=details)


def gain_over_none(folds: Sequence[FoldLosses], none: Sequence[FoldLosses], metric: str) -> float:
    """How much a model gains over a constant on the same rows, in standard errors of that gain.

    Of the log loss, a mean of the probabilities of both is compared with the constant: a few rows
    that are predicted wrongly and with confidence do not hide what the others gain.

    >>> rows = np.arange(50.0)
    >>> model, constant = FoldLosses(rows, np.ones(50)), FoldLosses(rows + 1.0, np.ones(50))
    >>> gain_over_none([model], [constant], "squared_error") > 1e6
    True
    >>> gain_over_none([constant], [constant], "log_loss")
    0.0
    """
    pairs = zip(folds, none, strict=True)
    gains = np.concatenate([other.losses - one.losses for one, other in pairs])
    if metric == "log_loss":
        gains = np.log1p(MODEL_SHARE * np.expm1(gains))
    weight = np.concatenate([one.weights for one in folds])
    squared = np.concatenate([one.squared_weights for one in folds])
    mean = float(np.average(gains, weights=weight))
    error = math.sqrt(float(squared @ (gains - mean) ** 2)) / float(weight.sum())
    return mean / max(error, 1e-12 * abs(mean)) if mean else 0.0
