"""How a fit tells how far it is: scikit-learn's callbacks where there are any, rich otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:  # type: ignore[no-redef]
        """Leave the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "progress_of", "with_callbacks"]

Tick = Callable[[], None]


@contextmanager
def progress_of(estimator: Any, n_rounds: int, X: Any, y: Any) -> Iterator[Tick]:
    """Gives a function to be called after each round; shows a bar if ``verbose``."""
    ticks: list[Tick] = []
    if hasattr(estimator, "_init_callback_context") and getattr(estimator, "_skl_callbacks", None):
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        ticks.append(lambda: _tell_callbacks(estimator, context))
    else:
        context = None
    with _bar(estimator, n_rounds) as advance:
        if advance is not None:
            ticks.append(advance)
        yield lambda: [tick() for tick in ticks] and None
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


def _tell_callbacks(estimator: Any, context: Any) -> None:
    """One round as a task of scikit-learn's; a callback that asks to stop is an interruption."""
    task = context.subcontext(task_name="round")
    task.call_on_fit_task_begin(estimator=estimator)
    if task.call_on_fit_task_end(estimator=estimator):
        raise KeyboardInterrupt


@contextmanager
def _bar(estimator: Any, n_rounds: int) -> Iterator[Tick | None]:
    if not estimator.verbose:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task(type(estimator).__name__, total=n_rounds)
        yield lambda: bar.advance(task)
