"""Fits of several tasks, a tree of each in one kernel call; with the trees of ``TasksData.run``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from secateur.data.table import Fold
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import CompiledFit, WholeFit, largest_buffers
from secateur.engines.fold_losses import FoldLosses
from secateur.engines.limits import FeatureUse
from secateur.path.step import Step
from secateur.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.engines.boosted.multitask import TasksData


class WholeTasks(CompiledFit):
    """A fit of several tasks on some rows, as ``WholeFit`` is of one; see `TaskFeatureUse`."""

    def __init__(
        self, data: TasksData, fits: Sequence[WholeFit], fold: Fold, params: BoostingParams
    ) -> None:
        self._data, self._fits, self._folds = data, fits, data.parts(fold)
        self.begin(params)

    def begin(self, params: BoostingParams) -> None:
        """Begin again, without trees; the penalty may be another."""
        self._params = params
        tasks, cost_model = self._data.tasks, self._data.cost_model
        self._own = [task.own_penalty(params.penalty, self._data.share) for task in tasks]
        for task, fit in zip(tasks, self._fits, strict=True):
            fit.begin(task.params(params))
        self._used = cost_model.keep.copy()  # by any task
        self._n_used, self._n_seen = 0, [-1] * len(tasks)
        self._n_done = 0

    def grow(self, n_rounds: int, buffers: tuple[AnyArray, ...]) -> Iterator[None]:
        """Add rounds of all tasks in turn until there are so many, one between two yields."""
        growing = [fit.grow(n_rounds, buffers, at_once=1) for fit in self._fits]
        for _ in range(self._n_done, n_rounds):
            for t, (fit, trees) in enumerate(zip(self._fits, growing, strict=True)):
                if self._n_seen[t] != self._n_used:
                    self._set_costs(t)
                next(trees)
                self._used |= fit.used
                self._n_used = int(np.count_nonzero(self._used))
            yield
        for trees in growing:
            next(trees, None)  # keeps what it found
        self._n_done = max(self._n_done, n_rounds)

    def _set_costs(self, t: int) -> None:
        """What a task pays now that another task uses more features (Eq. 2)."""
        fit, cost_of = self._fits[t], self._data.cost_model.costs
        shared = self._params.penalty * cost_of(self._used)
        fit.costs[:] = shared + self._own[t] * cost_of(fit.used)
        self._n_seen[t] = self._n_used

    def losses_after(self, n_rounds: int) -> FoldLosses:
        """The losses of the rows that are held out after so many rounds."""
        return self._data.joined(self._folds, lambda t: self._fits[t].losses_after(n_rounds))

    def support_after(self, n_rounds: int) -> tuple[IntArray, FloatArray]:
        """The features in use after so many rounds or kept anyway, sorted, and their gains."""
        step = self.step(n_rounds)
        return step.support, step.weight

    def step(self, n_rounds: int) -> Step:
        """The step after so many rounds."""
        steps = [fit.step(n_rounds) for fit in self._fits]
        common = FeatureUse(self._data.cost_model)
        for j in self._entered(n_rounds):
            common.add(j)
        everything, supports = np.sort(common.entered), {}
        for t, task in enumerate(self._data.tasks):
            if self._own[t] == 0.0:  # then a task has the features of all
                gains = self._fits[t].gains_after(n_rounds)
                its = {"penalty": 1.0, "objective": steps[t].objective, "model": steps[t].model}
                steps[t] = Step.of(common.entered, gains, **its)
            supports[task.name] = everything if self._own[t] == 0.0 else steps[t].support
        return self._data.step(self._params, common, supports, steps)

    def rounds_of_entries(self) -> IntArray:
        """The numbers of rounds before those that used a feature new to a task."""
        return np.concatenate([fit.rounds_of_entries() for fit in self._fits])

    def _entered(self, n_rounds: int) -> list[int]:
        """Features in the order of their use by any task: by round, task and place in the tree."""
        found = []
        for t, fit in enumerate(self._fits):
            features, entered_at = fit.entries()
            found += [
                (r, t, j) for j, r in zip(features.tolist(), entered_at.tolist(), strict=True)
            ]
        found.sort(key=lambda entry: entry[:2])
        return [j for r, _, j in found if r < n_rounds]

    def buffers(self) -> tuple[AnyArray, ...]:
        """What the fit needs while it advances, for any of the tasks."""
        return largest_buffers(self._fits)
