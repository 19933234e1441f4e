"""Selecting along a stream, block after block, and what all fits of Feature Gradients share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from secateur._data.blocks import Block, first_block, read_blocks, refuse_beside
from secateur._engines.drive import drive
from secateur._engines.feature_gradients.search import Found
from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.path import Best, Step
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import PathSelector
from secateur.selectors.feature_gradients_result import Learnability, learnability_of
from secateur.selectors.feature_gradients_state import load_desk, save_desk
from secateur.selectors.feature_gradients_stream import Desk, known_classes, open_desk
from secateur.selectors.progress import Progress, progress_of
from secateur.typing import FloatArray


class StreamingSelector(PathSelector):
    """A selector whose search can go on from block to block.

    Subclasses have the parameters that the search asks for.
    """

    _fits_on_disk = frozenset({"here"})
    _own_rule: CuttingRule
    _desk: Desk
    costs: Any
    task: str
    n_jobs: int | None

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
        """Go on with a further block of rows; the subset of the moment is there after each.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
            Too few rows wait for the next block.
        classes : array, optional
            All labels, at the first call, if the first block may not have all of them.

        Returns
        -------
        self
        """
        self._check_parameters()
        n_threads = resolve_n_jobs(self.n_jobs)
        is_new = not hasattr(self, "_desk")
        desk = open_desk(self, X, y, classes) if is_new else self._desk
        with Threads(n_threads) as threads:
            desk.take(X, y, sample_weight, threads)
        if is_new:
            self._adopt(desk)
        self._show_moment()
        return self

    def _adopt(self, desk: Desk) -> None:
        self._desk = desk
        self._remember(desk.schema)
        self._remember_task(desk.task, desk.classes, Best())

    def _show_moment(self) -> None:
        """The subset as it is now; none before the first rows were used."""
        desk = self._desk
        if desk.stream.n_rows:
            told = self._told(desk.schema, desk.stream.prices)
            self._set_path(drive(iter([desk.step()]), **told))

    def _fit_stream(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """One pass over the blocks; each that changes the subset is a step of the path."""
        refuse_beside(sample_weight)
        first, blocks = first_block(read_blocks(X, y))
        desk = open_desk(self, first[0], first[1], known_classes(self.task, X))
        with (
            Threads(resolve_n_jobs(self.n_jobs)) as threads,
            progress_of(self, 1, 1, X, y) as progress,
        ):
            steps = _trace_stream(desk, chain([first], blocks), threads, progress)
            path = drive(steps, **self._told(desk.schema, desk.stream.prices))
        last = replace(path[-1], model=desk.step().model)
        path = replace(path, steps=(*path.steps[:-1], last))
        self._adopt(desk)
        self._set_path(path)
        return self

    def save_stream(self, file: Any) -> None:
        """Write the state of a stream, so that `resume_stream` can go on from it.

        Parameters
        ----------
        file : path
            An .npz of arrays with a header in JSON: no pickle.
        """
        if not hasattr(self, "_desk"):
            msg = (
                "save_stream needs a stream that was begun. Got a selector without one. Call "
                "partial_fit, or fit with an iterator or a file."
            )
            raise NotFittedError(msg)
        save_desk(self._desk, self, file)

    def resume_stream(self, file: Any) -> Any:
        """Take up a stream where `save_stream` left it; the parameters must be the same.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._adopt(load_desk(self, file))
        self._show_moment()
        return self

    def _remember_task(self, task: str, classes: Any, rule: CuttingRule) -> None:
        self.task_ = task
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_ = classes
        self._own_rule = rule

    def _default_rule(self) -> CuttingRule:
        return self._own_rule

    @property
    def _found(self) -> Found:
        check_is_fitted(self)
        found: Found | None = self.path_[self.selection_.index].model
        if found is None:
            msg = (
                "Only the last step of a stream has scores. Got a cut elsewhere, or a path without "
                "models. Cut at the last step."
            )
            raise AttributeError(msg)
        return found

    @property
    def scores_(self) -> FloatArray:
        """The v of each feature at the chosen step."""
        return self._found.scores

    @property
    def inclusion_(self) -> FloatArray:
        """The s of each feature at the chosen step."""
        return self._found.inclusion

    @property
    def learnability_(self) -> Learnability:
        """The estimate for the selected set."""
        check_is_fitted(self)
        return learnability_of(self.path_[self.selection_.index])


def _trace_stream(
    desk: Desk, blocks: Iterator[Block], threads: Threads, progress: Progress
) -> Iterator[Step]:
    """A step after each block, without its v: a path must not grow by a table's width a block."""
    for X, y, weight in blocks:
        desk.take(X, y, weight, threads)
        progress.round()
        if desk.stream.n_rows:
            yield replace(desk.step(), model=None)
            progress.stop_if_asked()
    desk.flush(threads)
    yield replace(desk.step(), model=None)
