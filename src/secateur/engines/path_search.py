"""Search along a falling penalty: a step for each penalty, scored on the validation rows of folds.

A family of models supplies a `PenaltyEngine`; `search_penalties` makes a `PathSearch` of it, and
`search_path` turns one search, or several variants of it, into a `SelectionPath`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np

from secateur.engines.drive import drive
from secateur.engines.fold_losses import (
    FoldLosses,
    first_near_best,
    gain_over_none,
    pool,
    with_difference_errors,
)
from secateur.path.comparing import is_chance
from secateur.path.cutting import Best
from secateur.path.path import SelectionPath
from secateur.path.step import Score, Step
from secateur.path.stopping import StoppingRule, StopReason
from secateur.typing import IntArray

# Penalties tried between the last with few enough features and the first with too many.
MAX_BISECTIONS = 3
MAX_SIZE_TRIALS = 8  # the same for a wanted number of features
# With elimination: the search for a size ends at a support so many times as large. Eliminated sizes
# fall by a factor, a smaller one where a step is so many standard errors worse than the best.
ENOUGH, SIZE_RATIO, WORSE_RATIO, CLEARLY = 2.25, 0.85, 0.6, 2.0
SIZE_TOLERANCE = 0.03  # a size this close to the wanted one, as a share of it, is near enough

Eliminate = Callable[[Step, Iterable[int]], Iterator[Step]]


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
    """A path that is still to be traced; ``finish`` is called with it at the end.

    Of several variants with a ``trial``, the losses of a shorter search, only one is traced.
    """

    steps: Iterator[Step]
    score: Callable[[Step], Score | None] | None = None
    rules: Sequence[StoppingRule] = ()
    on_step: Callable[[Step], None] | None = None
    penalty_name: str = "penalty"
    finish: Callable[[SelectionPath], SelectionPath] = lambda path: path
    trial: Callable[[], Sequence[FoldLosses]] | None = None


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
    trials = [variant.trial() for variant in variants if variant.trial and len(variants) > 1]
    if trials:
        variants = [variants[first_near_best(trials)]]
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
        paths.append(with_difference_errors(path))
        if paths[-1].stop_reason in {StopReason.INTERRUPTED, StopReason.TIME_LIMIT}:
            reason = paths[-1].stop_reason
            break
    index = choose_variant(paths)
    chosen = variants[index].finish(paths[index])
    if reason is None:  # a search that is resumed needs the losses
        chosen = replace(chosen, steps=tuple(replace(step, losses=None) for step in chosen.steps))
    return chosen if reason is None else replace(chosen, stop_reason=reason)


def _call_all(calls: Sequence[Callable[[Step], Any]], step: Step) -> None:
    for call in calls:
        call(step)


def choose_variant(paths: Sequence[SelectionPath]) -> int:
    """The first variant whose best step is within one standard error of the best step of all."""
    best = [path[Best().choose(path)] for path in paths if np.isfinite(path.utilities).any()]
    losses = [step.losses for step in best]
    return first_near_best(losses) if len(losses) == len(paths) > 1 and all(losses) else 0


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
    eliminate: Eliminate | None = None,
    limit: int | None = None,
    patience: int | None = None,
    fills: bool = False,
) -> PathSearch:
    """A search over falling penalties, one step for each; those in ``done`` are not fitted again.

    It ends before a step that ``is_too_large``, except for the first; a few penalties between the
    last two are then tried for a support nearer to the limit. More are tried for a wanted ``size``,
    the last with it as a limit, after which the search goes on; ``count`` gives the size of a
    support. ``none`` is a penalty without features, for penalties that may not have one: where
    nothing clearly beats a constant, its step is the last one.

    ``eliminate`` gives steps of the sizes asked for, by dropping features of an earlier step. The
    search then ends after ``patience`` penalties without progress or beyond a wanted size, goes on
    with steps that are eliminated, and leaves out those with more features than the ``limit``. With
    ``fills`` it goes on as without elimination, and only sizes that no penalty gave are eliminated.
    """
    search = _PenaltySearch(engine, done or {}, is_too_large, size, count)
    if eliminate is None:
        steps = search.trace(penalties, none)
    elif fills:
        steps = search.trace(penalties, none, eliminate, patience)
    else:
        steps = search.trace_and_eliminate(penalties, eliminate, limit, patience)
    return PathSearch(steps, None, rules, on_step, penalty_name)


@dataclass(slots=True, eq=False)
class _PenaltySearch:
    """What `search_penalties` is given, and what it has seen so far."""

    engine: PenaltyEngine
    done: Mapping[float, Step]
    is_too_large: Callable[[Step], bool]
    size: int | None
    count: Callable[[IntArray], int]
    none: Sequence[FoldLosses] = ()  # of the first step without features
    seen: list[Step] = field(default_factory=list)

    def trace(
        self,
        penalties: Sequence[float],
        constant: float | None,
        eliminate: Eliminate | None = None,
        patience: int | None = None,
    ) -> Generator[Step, None, StopReason]:
        """A step for each penalty, with its score; then a few sizes below the best."""
        empty = None if constant is None else self._scored(self.engine.fit(constant))
        before: Step | None = None
        reason = StopReason.FINISHED
        for penalty in penalties:
            step = self.done[penalty] if penalty in self.done else self.engine.fit(penalty)
            if before is not None and self.is_too_large(step):
                yield from self._nearer(before, penalty)
                reason = StopReason.MAX_FEATURES
                break
            step = self._scored(step)
            if before is not None and self.size is not None and self._is_beyond(step):
                if self.count(before.support) < self.size:
                    yield from self._nearer(before, penalty)
                self.size = None
            yield step
            before = step
            if self._is_past(patience):
                reason = StopReason.PATIENCE
                break
        if eliminate is not None:
            base = min(self.seen, key=_mean)
            known = {step.n_features for step in self.seen}
            sizes = _falling_sizes(int(WORSE_RATIO * base.n_features), lambda: True)
            yield from self._eliminated(base, (s for s in sizes if s not in known), eliminate)
        yield from self._none_instead(empty)
        return reason

    def trace_and_eliminate(
        self,
        penalties: Sequence[float],
        eliminate: Eliminate,
        limit: int | None,
        patience: int | None,
    ) -> Generator[Step, None, StopReason]:
        """A step for each penalty, then steps with features of the best of them left out."""
        reason, size = StopReason.FINISHED, self.size or limit
        allowed = math.inf if limit is None else limit
        for penalty in penalties:
            fitted = self.done[penalty] if penalty in self.done else self.engine.fit(penalty)
            step = self._scored(fitted)
            if step.n_features <= allowed:
                yield step
            if size is not None and step.n_features >= ENOUGH * size:
                reason = StopReason.MAX_FEATURES
                break
            if self._is_past(patience):
                reason = StopReason.PATIENCE
                break
        larger = [step for step in self.seen if step.n_features > max(1, size or 0)]
        if larger:
            base = min(larger, key=_mean)
            sizes = _falling_sizes(size or base.n_features - 1, partial(self._is_worse, allowed))
            yield from self._eliminated(base, sizes, eliminate)
        return reason

    def _eliminated(self, base: Step, sizes: Iterable[int], eliminate: Eliminate) -> Iterator[Step]:
        if base.penalty in self.done:
            self.engine.fit(base.penalty)  # what a path that is resumed does not keep
        return map(self._scored, eliminate(base, sizes))

    def _is_worse(self, allowed: float) -> bool:
        """Whether the last step is clearly worse than the best with few enough features."""
        best = min((step for step in self.seen if step.n_features <= allowed), key=_mean)
        error = 0.0 if best.score is None else best.score.standard_error
        return _mean(self.seen[-1]) > _mean(best) + CLEARLY * error

    def _is_past(self, patience: int | None) -> bool:
        """Whether so many steps with features have not lowered the loss."""
        means = [_mean(step) for step in self.seen if step.n_features]
        since_best = len(means) - 1 - int(np.argmin([*means, math.inf]))
        return patience is not None and since_best >= patience

    def _fit(self, penalty: float, *limit: int) -> Step:
        return self.done[penalty] if penalty in self.done else self.engine.fit(penalty, *limit)

    def _is_beyond(self, step: Step) -> bool:
        is_beyond = self.size is not None and self.count(step.support) > self.size
        return is_beyond or self.is_too_large(step)

    def _none_instead(self, empty: Step | None) -> Iterator[Step]:
        """The step without features, where the best that was seen may be chance."""
        if empty is not None and not empty.n_features and is_chance(min(self.seen, key=_mean)):
            yield empty

    def _nearer(self, before: Step, penalty: float) -> Iterator[Step]:
        """Steps between one with few enough features and a penalty with too many."""
        size, largest = self.size, self.count(before.support)
        tried = _between(self._fit, before.penalty, penalty, self._is_beyond)
        for number, step in enumerate(tried, start=1):
            if not self._is_beyond(step):
                largest = max(largest, self.count(step.support))
                yield self._scored(step)
            trials = MAX_SIZE_TRIALS if largest else 3 * MAX_SIZE_TRIALS
            if largest == size or number >= (MAX_BISECTIONS if size is None else trials):
                break
        if size is not None and largest < size:
            above = float(np.nextafter(penalty, np.inf))  # not the same penalty twice
            yield self._scored(self._fit(above, size))

    def _scored(self, step: Step) -> Step:
        """The step with its score, and its gain over the first step without features."""
        is_new = self.done.get(step.penalty) is not step
        if is_new and (found := self.engine.fold_losses(step)):
            details = dict(step.details)
            if not step.n_features:
                self.none = self.none or found
            elif self.none:
                details["gain_over_none"] = gain_over_none(found, self.none, self.engine.metric)
            score = pool(found, origin="held_out", metric=self.engine.metric)
            step = replace(step, score=score, details=details, losses=found)
        self.seen.append(step)
        return step


def _mean(step: Step) -> float:
    """The mean loss, infinite where there is none."""
    return step.score.mean if step.score is not None and step.score.is_usable else math.inf


def _falling_sizes(largest: int, is_worse: Callable[[], bool] = lambda: False) -> Iterator[int]:
    """Numbers of features from the largest down to one, fewer of them where steps are worse.

    >>> list(_falling_sizes(20))
    [20, 17, 14, 11, 9, 7, 5, 4, 3, 2, 1]
    """
    size = largest
    while size >= 1:
        yield size
        size = min(size - 1, int((WORSE_RATIO if is_worse() else SIZE_RATIO) * size))


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
    between = _between(engine.fit, high, low, lambda step: count(step.support) > n_features)
    for step in islice(between, MAX_SIZE_TRIALS if high > 0.0 else 0):
        yield step
        if _is_near(count(step.support), n_features):
            return


def _is_near(size: int, n_features: int) -> bool:
    return abs(size - n_features) <= int(SIZE_TOLERANCE * n_features)


def _between(
    fit: Callable[[float], Step], high: float, low: float, is_too_large: Callable[[Step], bool]
) -> Iterator[Step]:
    """Bisect penalties between one with few enough features and one with too many."""
    while True:
        penalty = float(np.sqrt(high * low))
        step = fit(penalty)
        yield step
        high, low = (high, penalty) if is_too_large(step) else (penalty, low)
