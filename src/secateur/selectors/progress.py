"""Progress of a fit: callbacks of scikit-learn, a progress bar, or a listener."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from secateur.path import SelectionPath, StopReason

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]  # one or the other
        """Replaces that of scikit-learn where it has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave a method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Progress", "listened", "progress_of", "with_callbacks"]

# A context variable, so that the functions between a command and its fits need no parameter.
_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)

Show = Callable[[int, int], None]  # of how many rounds are done, and of how many


class Progress:
    """Reports parts of a fit, such as penalties, and their rounds; callbacks may ask to stop."""

    def __init__(self, estimator: Any, show: Show | None, context: Any) -> None:
        self._estimator = estimator
        self._show = show
        self._context = context
        self._n_rounds = self._total = 1
        self._n_done = self._n_parts = 0
        self.is_asked_to_stop = False

    def expect(self, n_parts: int, n_rounds: int) -> None:
        """Announce the number of parts, and the largest number of rounds of each."""
        self._n_rounds, self._total = n_rounds, max(1, n_parts * n_rounds)
        self._reach(0)

    def round(self) -> None:
        """A round is done."""
        self._reach(self._n_done + 1)
        if self._context is not None:
            task = self._context.subcontext(task_name="round")
            task.call_on_fit_task_begin(estimator=self._estimator)
            self.is_asked_to_stop |= bool(task.call_on_fit_task_end(estimator=self._estimator))

    def part(self, _: Any = None) -> None:
        """A part is done, perhaps in fewer rounds than expected."""
        self._n_parts += 1
        self._reach(self._n_parts * self._n_rounds)
        self.stop_if_asked()

    def within(self, share: float) -> None:
        """So much of the current part is done, from 0 to 1."""
        self._reach(int((self._n_parts + min(share, 1.0)) * self._n_rounds))

    def _reach(self, n_done: int) -> None:
        self._n_done = n_done
        if self._show is not None:
            self._show(n_done, self._total)

    def finish(self, path: SelectionPath) -> None:
        """The fit is done, perhaps in fewer parts than expected, unless it was interrupted."""
        if path.stop_reason is not StopReason.INTERRUPTED:
            self._reach(self._total)

    def round_or_stop(self, _: Any = None) -> None:
        """A round is done that was a step of the path, after which the fit may end."""
        self.round()
        self.stop_if_asked()

    def stop_if_asked(self, _: Any = None) -> None:
        """End the fit if a callback has asked for it."""
        if self.is_asked_to_stop:
            raise KeyboardInterrupt


@contextmanager
def progress_of(estimator: Any, X: Any, y: Any) -> Iterator[Progress]:
    """The progress of one fit."""
    with _shown(estimator) as show:
        if not getattr(estimator, "_skl_callbacks", None):
            yield Progress(estimator, show, None)
            return
        # private by its name only: scikit-learn documents it for those who write estimators
        context = estimator._init_callback_context(max_subtasks=None)  # noqa: SLF001
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        yield Progress(estimator, show, context)
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


@contextmanager
def listened(listener: Callable[[float], None]) -> Iterator[None]:
    """Call a function with the share of each fit that is done, instead of showing bars."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def _shown(estimator: Any) -> Iterator[Show | None]:
    """The listener if there is one, a progress bar of rich if wanted, or nothing."""
    listener = _LISTENER.get()
    if listener is not None or not estimator.verbose:
        yield listener and (lambda n_done, total: listener(min(1.0, n_done / total)))
        return
    from rich import get_console
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # on a terminal a finished bar is removed; in a log it is kept
    with Bar(*columns, transient=get_console().is_terminal) as bar:
        task = bar.add_task(type(estimator).__name__, total=None, visible=False)
        yield lambda n_done, total: bar.update(task, completed=n_done, total=total, visible=True)
