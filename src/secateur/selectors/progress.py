"""How a fit tells how far it is: scikit-learn's callbacks where there are any, rich otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]  # one or the other
        """Stands in where scikit-learn has no callbacks."""

    def _with_callbacks(method: Any) -> Any:
        return method


__all__ = ["CallbackSupportMixin", "Progress", "listened", "progress_of", "with_callbacks"]

# Who is told how far fits are, in this context only: a fit deep inside of an evaluation is reached
# without a parameter in every function between.
_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """Let scikit-learn end the callbacks of an estimator however its fit ends."""
    return cast("Method", _with_callbacks(method))


class Progress:
    """What a fit calls after each round and after each part, such as one penalty of a grid.

    A callback may ask for an end; the fit then ends like one that was interrupted, but not before
    it has something to keep.
    """

    def __init__(self, estimator: Any, n_rounds: int, bar: Bar | Told | None, context: Any) -> None:
        self._estimator = estimator
        self._n_rounds = n_rounds
        self._bar = bar
        self._context = context
        self._n_parts = 0
        self._is_asked_to_stop = False

    def round(self) -> None:
        """Tell that a round is done."""
        if self._bar is not None:
            self._bar.advance()
        if self._context is not None:
            task = self._context.subcontext(task_name="round")
            task.call_on_fit_task_begin(estimator=self._estimator)
            self._is_asked_to_stop |= bool(task.call_on_fit_task_end(estimator=self._estimator))

    def part(self) -> None:
        """Tell that a part is done, perhaps in fewer rounds than it might have taken."""
        self._n_parts += 1
        if self._bar is not None:
            self._bar.reach(self._n_parts * self._n_rounds)
        self.stop_if_asked()

    def stop_if_asked(self) -> None:
        """End the fit if a callback wants it to."""
        if self._is_asked_to_stop:
            raise KeyboardInterrupt


@contextmanager
def progress_of(estimator: Any, n_parts: int, n_rounds: int, X: Any, y: Any) -> Iterator[Progress]:
    """Progress of a fit of so many parts with at most so many rounds each."""
    with (
        _bar(estimator, n_parts * n_rounds) as bar,
        _callback_context(estimator, X, y) as context,
    ):
        yield Progress(estimator, n_rounds, bar, context)


@contextmanager
def listened(listener: Callable[[float], None]) -> Iterator[None]:
    """Tell a function how far each fit is, from 0 to 1, instead of showing a bar for each."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def _callback_context(estimator: Any, X: Any, y: Any) -> Iterator[Any]:
    if not getattr(estimator, "_skl_callbacks", None):
        yield None
        return
    # private by its name only: scikit-learn documents it for those who write estimators
    context = estimator._init_callback_context(max_subtasks=None)  # noqa: SLF001
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    yield context
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


class Told:
    """Tells a listener the share of rounds that are done."""

    def __init__(self, listener: Callable[[float], None], n_rounds: int) -> None:
        self._listener = listener
        self._n_rounds = n_rounds
        self._done = 0

    def advance(self) -> None:
        """One more round."""
        self.reach(self._done + 1)

    def reach(self, n_rounds: int) -> None:
        """So many rounds in all."""
        self._done = n_rounds
        self._listener(min(1.0, n_rounds / max(1, self._n_rounds)))


class Bar:
    """One bar of rich."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def advance(self) -> None:
        """One more round."""
        self._bar.advance(self._task)

    def reach(self, n_rounds: int) -> None:
        """So many rounds in all."""
        self._bar.update(self._task, completed=n_rounds)


@contextmanager
def _bar(estimator: Any, n_rounds: int) -> Iterator[Bar | Told | None]:
    listener = _LISTENER.get()
    if listener is not None:
        yield Told(listener, n_rounds)
        return
    if not estimator.verbose:
        yield None
        return
    from rich import get_console
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # a bar that is done makes room on a screen; in a log it is all that is left
    with RichProgress(*columns, transient=get_console().is_terminal) as bar:
        yield Bar(bar, bar.add_task(type(estimator).__name__, total=n_rounds))
