"""The loop around every algorithm: take steps, add cost, score and time, ask stopping rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from secateur.exceptions import ClusterError
from secateur.path.path import SelectionPath, versions
from secateur.path.step import Score, Step
from secateur.path.stopping import History, StoppingRule, StopReason
from secateur.typing import IntArray


def drive(
    trace: Iterator[Step],
    *,
    costs: Callable[[IntArray], float] | None = None,
    score: Callable[[Step], Score | None] | None = None,
    rules: Sequence[StoppingRule] = (),
    on_step: Callable[[Step], None] | None = None,
    started: float | None = None,
    **metadata: Any,
) -> SelectionPath:
    """Run an algorithm to its end, or to where a rule ends it, and return its path.

    Raw steps that follow each other with the same support and penalty become one step of the path,
    shown at its best score (the earlier one of a tie), or at its latest raw step without scores. An
    interrupt keeps the complete steps; without any it is raised again. A ``ClusterError`` is raised
    with these steps as its ``path``.

    ``trace`` may return the ``StopReason`` for which it ended. ``costs`` of features in order of
    entry and ``score`` of a raw step replace those of the steps. Limits among the ``rules`` are
    asked before a raw step is scored, and keep out the step that crosses them; others after it.
    Seconds count from ``started``, or from now. ``metadata`` is that of the path.

    >>> from secateur.path import MaxFeatures
    >>> rounds = (Step.of(range(1 + k // 3), penalty=0.1) for k in range(100))
    >>> drive(rounds, feature_names=list("abcdef"), algorithm="demo", rules=[MaxFeatures(4)])
    SelectionPath('demo', 4 steps, 1 to 4 of 6 features, max_features)
    """
    run = _Run(costs, score, on_step, rules, perf_counter() if started is None else started)
    steps, reason = iter(trace), None
    try:
        while reason is None:
            try:
                raw = next(steps)
            except StopIteration as end:
                reason = end.value if isinstance(end.value, StopReason) else StopReason.FINISHED
            else:
                reason = run.take(raw)
    except KeyboardInterrupt:
        if not run.kept:
            raise
        reason = StopReason.INTERRUPTED
    except ClusterError as error:
        if run.kept:
            error.path = run.path(StopReason.INTERRUPTED, **metadata)
        raise
    finally:
        getattr(trace, "close", lambda: None)()
    return run.path(reason, **metadata)


@dataclass(slots=True, eq=False)
class _Run:
    """The moving state of one run."""

    costs: Callable[[IntArray], float] | None
    score: Callable[[Step], Score | None] | None
    on_step: Callable[[Step], None] | None
    rules: Sequence[StoppingRule]
    started: float
    kept: list[Step] = field(default_factory=list)
    best_utilities: list[float] = field(default_factory=list)
    last_cost: tuple[IntArray, float] | None = None

    def path(self, reason: StopReason, **metadata: Any) -> SelectionPath:
        """What there is so far."""
        return SelectionPath(tuple(self.kept), reason, versions=versions(), **metadata)

    def take(self, raw: Step) -> StopReason | None:
        """Add a raw step to the path; the reason to stop, if there is one."""
        step = self._with_cost(raw)
        reason = self._ask(step, are_limits=True)
        if reason is not None:
            return reason  # before the step is scored: it is not part of the path
        step = self._add(step)
        if self.on_step is not None:
            self.on_step(step)
        return self._ask(step, are_limits=False)

    def _with_cost(self, raw: Step) -> Step:
        if self.costs is None:
            return raw
        # By order and not by support: what a feature costs may depend on which came before it.
        if self.last_cost is None or not np.array_equal(self.last_cost[0], raw.order):
            self.last_cost = raw.order, float(self.costs(raw.order))
        return raw.measured(cost=self.last_cost[1])

    def _add(self, step: Step) -> Step:
        score = step.score if self.score is None else self.score(step)
        added = step.measured(score=score, seconds=perf_counter() - self.started)
        best = self.best_utilities[-1] if self.best_utilities else -math.inf
        # a constant is no progress: patience begins with the first features
        self.best_utilities.append(max(best, _utility(added) if added.n_features else best))
        if self.kept and same_lifetime(self.kept[-1], added):
            self.kept[-1] = better(self.kept[-1], added)
        else:
            self.kept.append(added)
        return added

    def _ask(self, step: Step, *, are_limits: bool) -> StopReason | None:
        """Ask the limits about a step that arrives, or the other rules about one that is there."""
        elapsed = perf_counter() - self.started
        history = History(step, len(self.best_utilities) + are_limits, elapsed, self.best_utilities)
        rules = (r for r in self.rules if bool(getattr(r, "is_limit", False)) == are_limits)
        reasons = (rule.reason(history) for rule in rules)
        return next((reason for reason in reasons if reason is not None), None)


def same_lifetime(a: Step, b: Step) -> bool:
    """Whether penalty and support are the same, of each task where there are several."""
    return (
        np.array_equal(a.penalty, b.penalty, equal_nan=True)
        and np.array_equal(a.support, b.support)
        and a.supports.keys() == b.supports.keys()
        and all(np.array_equal(a.supports[name], b.supports[name]) for name in a.supports)
    )


def better(earlier: Step, later: Step) -> Step:
    """The step of the higher score, the later one where there are no scores."""
    # Without a score on either side both are -inf, and the later state of the model counts.
    if not math.isfinite(_utility(earlier)):
        return later
    return later if _utility(later) > _utility(earlier) else earlier


def _utility(step: Step) -> float:
    # NaN and infinities are no scores: -inf never counts as progress.
    return step.score.utility if step.score is not None and step.score.is_usable else -math.inf
