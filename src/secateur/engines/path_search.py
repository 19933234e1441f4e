"""Search along a falling penalty: a step for each penalty, scored on the validation rows of folds.

A family of models supplies a `PenaltyEngine`; `search_penalties` makes a `PathSearch` of it, and
`search_path` turns one search, or several variants of it, into a `SelectionPath`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from secateur.engines.drive import drive
from secateur.engines.fold_losses import FoldLosses, first_near_best, pool
from secateur.path.cutting import Best
from secateur.path.path import SelectionPath
from secateur.path.step import Score, Step
from secateur.path.stopping import StoppingRule, StopReason

# Penalties tried between the last with few enough features and the first with too many.
MAX_BISECTIONS = 3


class PenaltyEngine(Protocol):
    """Models of one family on fixed rows and folds, fitted at one penalty after another."""

    @property
    def metric(self) -> str:
        """The name of the loss."""

    def fit(self, penalty: float) -> Step:
        """The step of a fit at one penalty: of all rows, or the training rows of a single fold.

        Penalties fall from call to call, so an engine may start from its previous solution.
        """

    def fold_losses(self, step: Step) -> Sequence[FoldLosses]:
        """Validation losses of each fold for the step that ``fit`` returned last; [] for none."""


@dataclass(frozen=True, slots=True, eq=False)
class PathSearch:
    """A path that is still to be traced; see `drive`.

    ``losses`` by penalty are filled during the search: what `choose_variant` compares.
    """

    steps: Iterator[Step]
    score: Callable[[Step], Score | None] | None = None
    rules: Sequence[StoppingRule] = ()
    on_step: Callable[[Step], None] | None = None
    penalty_name: str = "penalty"
    losses: dict[float, Sequence[FoldLosses]] = field(default_factory=dict)


def search_path(variants: Sequence[PathSearch], **metadata: Any) -> SelectionPath:
    """Trace the path; of several variants, keep the first that is not clearly worse than the best.

    An interrupt ends the search with the steps so far; without any it is raised again.
    """
    paths: list[SelectionPath] = []
    is_interrupted = False
    for variant in variants:
        try:
            path = drive(
                variant.steps,
                score=variant.score,
                rules=variant.rules,
                on_step=variant.on_step,
                penalty_name=variant.penalty_name,
                **metadata,
            )
        except KeyboardInterrupt:
            if not paths:
                raise
            is_interrupted = True
            break
        paths.append(path)
        is_interrupted = path.stop_reason is StopReason.INTERRUPTED
        if is_interrupted:
            break
    chosen = paths[choose_variant(variants, paths)]
    return replace(chosen, stop_reason=StopReason.INTERRUPTED) if is_interrupted else chosen


def choose_variant(variants: Sequence[PathSearch], paths: Sequence[SelectionPath]) -> int:
    """The first variant whose best step is not clearly worse than the best step of all.

    Clearly worse: by more than one standard error of the paired differences of row losses.
    """
    if len(paths) == 1 or any(not variant.losses for variant in variants[: len(paths)]):
        return 0
    steps = [_best_step(path) for path in paths]
    losses = [each.losses[step.penalty] for each, step in zip(variants, steps, strict=False)]
    return first_near_best(losses)


def _best_step(path: SelectionPath) -> Step:
    """The step with the best score; the first where no score is finite."""
    return path[Best().choose(path) if np.isfinite(path.utilities).any() else 0]


def search_penalties(
    engine: PenaltyEngine,
    penalties: Sequence[float],
    *,
    done: Mapping[float, Step] | None = None,
    max_features: int | None = None,
    rules: Sequence[StoppingRule] = (),
    on_step: Callable[[Step], None] | None = None,
    penalty_name: str = "penalty",
    keep_losses: bool = False,
) -> PathSearch:
    """A search over falling penalties, one step for each.

    Penalties in ``done`` are not fitted again. The search ends before a step with more than
    ``max_features``, except for the first; a few penalties between the last two are then tried for
    a support that is nearer to the limit. ``keep_losses`` if variants are to be compared.
    """
    losses: dict[float, Sequence[FoldLosses]] = {}
    kept = losses if keep_losses else None
    steps = _trace(engine, penalties, done or {}, max_features, kept)
    return PathSearch(steps, None, rules, on_step, penalty_name, losses)


def _trace(
    engine: PenaltyEngine,
    penalties: Sequence[float],
    done: Mapping[float, Step],
    max_features: int | None,
    losses: dict[float, Sequence[FoldLosses]] | None,
) -> Generator[Step, None, StopReason]:
    """A step for each penalty, with its score."""
    higher = np.inf
    for penalty in penalties:
        if penalty in done:
            yield done[penalty]
        else:
            step = engine.fit(penalty)
            if max_features is not None and step.n_features > max_features and higher < np.inf:
                yield from _bisect(engine, higher, penalty, max_features)
                return StopReason.MAX_FEATURES
            yield _scored(engine, step, losses)
        higher = penalty
    return StopReason.FINISHED


def _bisect(engine: PenaltyEngine, high: float, low: float, max_features: int) -> Iterator[Step]:
    """Steps with few enough features at penalties between one that has and one that has not."""
    for _ in range(MAX_BISECTIONS):
        penalty = float(np.sqrt(high * low))
        step = engine.fit(penalty)
        if step.n_features > max_features:
            low = penalty
        else:
            yield _scored(engine, step, None)
            high = penalty


def _scored(
    engine: PenaltyEngine, step: Step, losses: dict[float, Sequence[FoldLosses]] | None
) -> Step:
    """The step with the mean loss of the validation rows of all folds, where there are folds."""
    found = engine.fold_losses(step)
    if not found:
        return step
    if losses is not None:
        losses[step.penalty] = found
    return replace(step, score=pool(found, origin="held_out", metric=engine.metric))
