"""A selector from the options of a command, and the rows that judge it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secateur.exceptions import ParameterError

if TYPE_CHECKING:
    from secateur.files.dataset import Dataset

TIME_FOLDS = 5

WIDE = 1000
"""From so many columns on the bins of short tables are made coarser: all time goes into them."""

ROWS_PER_BIN = 6
FEWEST_BINS, MOST_BINS = 32, 255


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants of the selection."""

    method: str = "agbm"
    max_features: int | None = None
    budget: float | None = None
    penalty: float | None = None
    cut: str | None = None
    settings: tuple[str, ...] = field(default=())


def build_selector(wish: Wish, dataset: Dataset, costs: Any, seed: int, jobs: int | None) -> Any:
    """The selector that was wished for, not fitted.

    Limits are parameters where the method has them; otherwise the path is cut by them.
    """
    from secateur.cli.methods import parameters_of, read_settings, selector_class

    kind = selector_class(wish.method, dataset.task)
    _check_tasks(wish.method, kind, dataset)
    known = parameters_of(kind)
    chosen: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, "costs": costs}
    chosen["cut"] = read_cut(wish.cut)
    if "task" in known:
        chosen["task"] = dataset.task
    if dataset.time is not None:
        chosen["cv"] = _time_splitter(TIME_FOLDS)
    if "max_bins" in known and not dataset.is_stored:
        bins = coarse_bins(*dataset.features.X.shape)
        chosen |= {} if bins is None else {"max_bins": bins}
    chosen |= _limits(wish, known, kind.__name__)
    if dataset.is_stored and wish.max_features is not None and "n_features" in known:
        # a stream has no grid of penalties whose path could be cut: it is steered to that size
        chosen |= {"n_features": wish.max_features, "cut": read_cut(wish.cut)}
    chosen |= read_settings(wish.settings, kind)
    return kind(**{name: value for name, value in chosen.items() if name in known})


def coarse_bins(n_rows: int, n_columns: int) -> int | None:
    """Bins for columns of a short and wide table, about six rows in each; None for other tables.

    Values of a few rows do not tell finer thresholds apart, and a search takes as long as there are
    bins.

    >>> coarse_bins(300, 2000), coarse_bins(60, 2000), coarse_bins(300, 200)
    (50, 32, None)
    """
    if n_columns < WIDE or n_rows >= ROWS_PER_BIN * MOST_BINS:
        return None
    return max(FEWEST_BINS, n_rows // ROWS_PER_BIN)


def told_of_bins(selector: Any, wish: Wish) -> list[str]:
    """What to say where the bins were made coarser."""
    bins = getattr(selector, "max_bins", MOST_BINS)
    if bins >= MOST_BINS or any(setting.startswith("max_bins") for setting in wish.settings):
        return []
    told = (
        f"There are few rows for many columns: at most {bins} bins for each (--set max_bins="
        f"{MOST_BINS} for all that there can be, which takes longer)."
    )
    return [told]


def _check_tasks(method: str, kind: type, dataset: Dataset) -> None:
    from secateur.evaluation.tasks import knows_tasks

    if knows_tasks(kind) and dataset.tasks is None:
        raise ParameterError(
            f"{method!r} must know the task of each row. Got no --task-column. Name the column "
            "that tells tasks apart, or use --method agbm for one task."
        )
    if dataset.tasks is not None and not knows_tasks(kind):
        raise ParameterError(
            f"{method!r} does one task. Got --task-column. Use --method multitask, or leave the "
            "column out with --drop."
        )


def read_cut(text: str | None) -> Any:
    """A cutting rule as it stands on the command line: one-se, best, elbow, or a number.

    >>> read_cut("one-se"), read_cut("12")
    ('one_se', 12)
    """
    if text is None:
        return None
    name = text.replace("-", "_")
    if name in {"one_se", "best", "elbow"}:
        return name
    if name.isdigit() and int(name) > 0:
        return int(name)
    raise ParameterError(
        f"'--cut' must be one-se, best, elbow or a number of features. Got {text!r}. Use one-se "
        "for the fewest features that are as good as the best."
    )


def judging_folds(dataset: Dataset, cv: int | None) -> Any:
    """The folds: as many as wanted, later rows judging earlier ones where there is time."""
    if dataset.time is None:
        return cv
    return list(_time_splitter(cv or TIME_FOLDS).split(dataset.y))


def _time_splitter(n_folds: int) -> Any:
    from sklearn.model_selection import TimeSeriesSplit

    return TimeSeriesSplit(n_folds)


def _limits(wish: Wish, known: dict[str, Any], name: str) -> dict[str, Any]:
    """Each limit in the words of the method."""
    from secateur.path import AtMost, WithinBudget

    found: dict[str, Any] = {}
    if wish.max_features is not None:
        if "max_features" in known:
            found["max_features"] = wish.max_features
        else:
            found["cut"] = AtMost(wish.max_features)
    if wish.budget is not None:
        if "cost_budget" in known:
            found["cost_budget"] = wish.budget
        else:
            found["cut"] = WithinBudget(wish.budget)
    if wish.penalty is not None:
        parameter = next((p for p in ("penalty", "l1", "group_penalty") if p in known), None)
        if parameter is None:
            raise ParameterError(
                f"{name} has no penalty. Got --penalty {wish.penalty:g}. Use --max-features or "
                "--budget."
            )
        found[parameter] = wish.penalty
    if "cut" in found and wish.cut is not None:
        raise ParameterError(
            f"{name} can be cut by one rule only. Got --cut beside a limit. Use one of them."
        )
    return found
