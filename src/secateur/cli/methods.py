"""Selectors by short names, as ``agbm`` for AGBMClassifier, built from the options of a command."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from sklearn.model_selection import TimeSeriesSplit

from secateur.cli.options import MethodOptions, ValidationOptions
from secateur.data.costs import FeatureCosts
from secateur.data.target import TargetType
from secateur.exceptions import ParameterError, similar_to
from secateur.model_selection.encoding import costs_of_encoded
from secateur.model_selection.methods import TARGET_TYPES, plain_name, selector_classes
from secateur.model_selection.rows import knows_tasks
from secateur.storage.reading.dataset import Dataset

TIME_FOLDS = 5

# from this many columns on, short tables get coarser bins: nearly all time goes into them
WIDE = 1000
ROWS_PER_BIN = 6
MIN_BINS, MAX_BINS = 32, 255


def build_selector(
    options: MethodOptions, dataset: Dataset, costs: Any, validation: ValidationOptions
) -> Any:
    """The selector, not fitted."""
    method = options.method or "auto"
    kind: Any = selector_class(method, dataset.target_type)
    known = list(inspect.signature(kind).parameters)
    _check(method, options, knows_tasks(kind), known, dataset)
    if dataset.is_encoded:
        columns = (dataset.features.sources, dataset.plan.names)
        costs = costs_of_encoded(costs or FeatureCosts(), *columns)
    given = {"costs": costs, "cut": read_cut(options.cut), "target_type": dataset.target_type}
    given |= {"random_state": validation.seed, "n_jobs": validation.jobs}
    if dataset.time is not None:
        given["cv"] = TimeSeriesSplit(TIME_FOLDS)
    if not dataset.is_stored and (bins := coarse_bins(*dataset.features.X.shape)) is not None:
        given["max_bins"] = bins
        given["candidates"] = _with_bins(dataset, bins)
    limits: dict[str, Any] = {"max_features": options.max_features, "cost_budget": options.budget}
    limits |= {"time_limit": options.time_limit, "for_model": options.for_model}
    if "for_model" in known:
        limits["scoring"] = validation.scoring
    if options.penalty is not None:
        penalties = [name for name in ("penalty", "l1", "group_penalty") if name in known]
        if not penalties:
            instead = f"Got --penalty {options.penalty:g}. Use --max-features or --budget."
            raise ParameterError(f"{kind.__name__} has no penalty. {instead}")
        limits[penalties[0]] = options.penalty
    given |= {name: value for name, value in limits.items() if value is not None}
    if dataset.is_stored and options.max_features is not None and "n_features" in known:
        # a stream has no grid of penalties with subsets of all sizes: it has a number to aim at
        given["n_features"] = options.max_features
    given |= read_settings(options.settings or (), kind)
    return kind(**{name: value for name, value in given.items() if name in known})


def _check(
    method: str, options: MethodOptions, is_for_tasks: bool, known: list[str], dataset: Dataset
) -> None:
    """Raise for a method without what is asked of it."""
    if is_for_tasks != (dataset.tasks is not None):
        what = "is for one task. Got --task-column. Use --method multitask, or --drop it."
        if dataset.tasks is None:
            what = "needs the task of each row. Got no --task-column. Name it, or use agbm."
        raise ParameterError(f"{method!r} {what}")
    if options.for_model is not None and "for_model" not in known:
        raise ParameterError(
            f"'--for-model' is for --method auto, which scores methods by that model. Got it with "
            f"--method {method}. Leave one of them out."
        )


def _with_bins(dataset: Dataset, bins: int) -> dict[str, Any]:
    """The candidates of AutoSelector, with the bins of A-GBM."""
    from secateur.selectors.auto import default_candidates

    names = default_candidates(*dataset.features.X.shape)
    agbm: Any = selector_class("agbm", dataset.target_type)
    return {name: name for name in names} | {"agbm": agbm(max_bins=bins)}


def selector_class(method: str, target_type: TargetType) -> type:
    """The class of a method for a type of target."""
    by_type = _classes(method)
    if target_type not in by_type:
        raise ParameterError(
            f"'--method' must be one for {target_type}. Got {method!r}. Use one of "
            f"{', '.join(sorted(selector_classes(target_type)))}, or another --target-type."
        )
    return by_type[target_type]


def has_parameter(method: str, name: str) -> bool:
    """Whether a method has a parameter, for every type of target."""
    return all(name in inspect.signature(kind).parameters for kind in _classes(method).values())


def fits_stored(method: str, *, on_cluster: bool = False) -> bool:
    """Whether a method fits on tables on disk, here or on a cluster."""
    places = [getattr(kind, "_fits_on_disk", ()) for kind in _classes(method).values()]
    return all(("cluster" if on_cluster else "here") in each for each in places)


def check_stored(method: str, *, on_cluster: bool) -> None:
    """Raise for a method that does not fit on tables on disk."""
    if not fits_stored(method, on_cluster=on_cluster):
        able = [name for name in _names() if fits_stored(name, on_cluster=on_cluster)]
        raise ParameterError(
            f"For a table on disk '--method' must be one of {', '.join(able)}. Got {method!r}. Use "
            "one of these, raise --memory-limit, or leave --dask and --workers out."
        )


def _classes(method: str) -> dict[TargetType, type]:
    """The class of a method for each type of target that it can predict."""
    name = plain_name(method)
    known = {each: selector_classes(each) for each in TARGET_TYPES}
    found = {each: classes[name] for each, classes in known.items() if name in classes}
    if not found:
        names = _names()
        raise ParameterError(
            f"'--method' must be in {', '.join(names)}. Got {method!r}.{similar_to(method, names)}"
        )
    return found


def _names() -> list[str]:
    return sorted({name for kind in TARGET_TYPES for name in selector_classes(kind)})


def read_cut(text: str | None) -> Any:
    """A cutting rule of the command line: one-se, best, elbow, or a number.

    >>> read_cut("one-se"), read_cut("12")
    ('one_se', 12)
    """
    name = None if text is None else text.replace("-", "_")
    if name is None or name in {"one_se", "near_best", "best", "elbow"}:
        return name
    if name.isdigit() and int(name) > 0:
        return int(name)
    raise ParameterError(
        f"'--cut' must be one-se, best, elbow or a number of features. Got {text!r}. Use one-se "
        "for the fewest features within one standard error of the best score."
    )


def folds_of(dataset: Dataset, cv: int | None) -> Any:
    """The folds: a number, or those that test on later rows where there is a time column."""
    if dataset.time is None:
        return cv
    return list(TimeSeriesSplit(cv or TIME_FOLDS).split(dataset.y))


def coarse_bins(n_rows: int, n_columns: int) -> int | None:
    """Bins for columns of a short and wide table, about six rows in each; None for other tables.

    Few rows do not support finer thresholds, and the time of a search grows with the bins.

    >>> coarse_bins(300, 2000), coarse_bins(60, 2000), coarse_bins(300, 200)
    (50, 32, None)
    """
    if n_columns < WIDE or n_rows >= ROWS_PER_BIN * MAX_BINS:
        return None
    return max(MIN_BINS, n_rows // ROWS_PER_BIN)


def notes_on_bins(selector: Any, options: MethodOptions) -> list[str]:
    """A note where the bins were made coarser."""
    candidates = getattr(selector, "candidates", None)
    trees = candidates.get("agbm") if isinstance(candidates, dict) else selector
    bins = getattr(trees, "max_bins", MAX_BINS)
    if bins >= MAX_BINS or any(each.startswith("max_bins") for each in options.settings or ()):
        return []
    finer = f"--set max_bins={MAX_BINS} for finer ones, which takes longer"
    return [f"Few rows and many columns: at most {bins} bins per feature ({finer})."]


def read_settings(settings: Sequence[str], selector: type) -> dict[str, Any]:
    """Parameters given as ``name=value``; values as in Python, or text."""
    known, found = list(inspect.signature(selector).parameters), {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or name not in known:
            raise ParameterError(
                f"'--set' must be name=value with a parameter of {selector.__name__}. Got "
                f"{setting!r}.{similar_to(name, known)} There are {', '.join(sorted(known))}."
            )
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            words = {"true": True, "false": False, "none": None}
            found[name] = words.get(text.lower(), text)
    return found
