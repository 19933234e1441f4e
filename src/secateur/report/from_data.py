"""From the data to `Evidence`: here, and in `looking`, a report meets the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import InputError, ParameterError
from secateur.path import Score, Selection, SelectionPath
from secateur.report.answers import fold_supports, frequencies, stand_ins
from secateur.report.association import (
    Groups,
    alike,
    alike_sparse,
    best_of,
    distribution,
    groups_of_classes,
    groups_of_numbers,
    one_group,
    prepare,
)
from secateur.report.evidence import Distribution, Evidence, StepEvidence
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.data.costs import CostModel, FeatureCosts
    from secateur.data.table import Table


MOST_SUBSTITUTES = 8
MIN_ASSOCIATION = 0.5
# Cells read in the search for substitutes: beyond, fewer rows are looked at.
MOST_CELLS = 100_000_000
FEWEST_ROWS = 400
BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Looked:
    """What the sampled rows say, feature by feature as told."""

    distributions: tuple[Distribution, ...]
    association: tuple[tuple[float, ...], ...]
    substitutes: tuple[tuple[tuple[int, float], ...], ...]


def look(table: Table, rows: IntArray, told: IntArray, groups: Groups) -> Looked:
    """What the sampled rows say of the features told of."""
    sample = table.take(rows)
    values = sample.columns(told)
    labels = {feature: known.tolist() for feature, known in table.categories.items()}
    distributions = tuple(
        distribution(values[:, at], labels.get(int(feature)), groups)
        for at, feature in enumerate(told)
    )
    columns = prepare(values, [int(feature) in labels for feature in told])
    strength = np.round(alike(columns, columns), 4)
    fewer = _fewer_rows(len(rows), table.n_features)
    return Looked(
        distributions,
        tuple(map(tuple, strength.tolist())),
        _substitutes(sample if fewer == len(rows) else sample.take(np.arange(fewer)), told),
    )


def _substitutes(sample: Table, told: IntArray) -> tuple[tuple[tuple[int, float], ...], ...]:
    """For each feature the columns most like it, of all the table, block by block."""
    labels = sample.categories
    columns = prepare(sample.columns(told), [int(feature) in labels for feature in told])
    best: list[list[tuple[int, float]]] = [[] for _ in told]
    for start in range(0, sample.n_features, BLOCK):
        stop = min(start + BLOCK, sample.n_features)
        names = np.arange(start, stop)
        if sample.is_sparse:
            strength = alike_sparse(columns, sample.csc[:, start:stop])
        else:
            block = sample.block(start, stop)
            strength = alike(
                columns, prepare(block, [name in labels for name in range(start, stop)])
            )
        strength[told[:, None] == names] = np.nan  # nobody replaces itself
        is_strong = np.abs(strength) >= MIN_ASSOCIATION
        for at in np.flatnonzero(is_strong.any(axis=1)):
            there = is_strong[at]
            best[at] += best_of(strength[at, there], names[there], MOST_SUBSTITUTES)
    return tuple(
        tuple(sorted(each, key=lambda pair: (-abs(pair[1]), pair[0]))[:MOST_SUBSTITUTES])
        for each in best
    )


def strongly_alike(
    table: Table, rows: IntArray, some: IntArray, others: IntArray, least: float
) -> dict[int, dict[int, float]]:
    """For each of some features those of the others that are more alike than `least`."""
    sample, labels = table.take(rows), table.categories
    columns = prepare(sample.columns(some), [int(feature) in labels for feature in some])
    found: dict[int, dict[int, float]] = {int(feature): {} for feature in some}
    for start in range(0, len(others), BLOCK):
        part = others[start : start + BLOCK]
        there = prepare(sample.columns(part), [int(feature) in labels for feature in part])
        strength = np.round(alike(columns, there), 4)
        strength[some[:, None] == part] = np.nan  # nobody replaces itself
        for at, other in zip(*np.nonzero(np.abs(strength) > least), strict=True):
            found[int(some[at])][int(part[other])] = float(strength[at, other])
    return found


def _fewer_rows(n_rows: int, n_features: int) -> int:
    return min(n_rows, max(FEWEST_ROWS, MOST_CELLS // max(n_features, 1)))


def backdrop(table: Table, rows: IntArray, shape: tuple[int, ...]) -> tuple[float, ...]:
    """The mean of each cell of the grid, scaled from 0 to 1."""
    if not shape:
        return ()
    sample = table.take(rows)
    starts = range(0, table.n_features, BLOCK)
    blocks = (sample.block(start, min(start + BLOCK, table.n_features)) for start in starts)
    mean: FloatArray = np.concatenate([np.nan_to_num(each).mean(axis=0) for each in blocks])
    low, high = float(mean.min()), float(mean.max())
    scaled = (mean - low) / (high - low) if high > low else np.zeros_like(mean)
    return tuple(np.round(scaled, 3).tolist())


MOST_FEATURES = 120
MOST_RULED = 2000


def gather_evidence(
    X: Any,
    y: Any,
    path: SelectionPath,
    *,
    target_type: str,
    costs: Any = None,
    feature_groups: Any = None,
    keep: Any = None,
    grid_shape: Sequence[int] | None = None,
    fold_paths: Sequence[SelectionPath] = (),
    all_features: Score | None = None,
    all_features_model: str = "",
    selection: Selection | None = None,
    categorical_features: Any = "from_dtype",
    sample_limit: int = 5000,
    random_state: int = 0,
) -> Evidence:
    """Gather what a report wants to know of the data.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        The table that the path was made from.
    y : array-like of shape (n_rows,), (n_rows, n_tasks), or None
        Distributions are told by its classes, or by its thirds; all rows together for several
        targets.
    path : SelectionPath
    target_type : {"classification", "regression"}
    costs, feature_groups, keep : optional
        As given to the selector: `FeatureCosts`, numbers, a dict; groups; features that are free.
    grid_shape : sequence of int, optional
        The shape of the grid whose cells the features are, as (28, 28).
    fold_paths : sequence of SelectionPath, default=()
        The paths of the folds, for how often each feature was chosen.
    all_features : Score, optional
        How well all features together do.
    all_features_model : str, default=""
        Which model that is.
    selection : Selection, optional
        Whose features come first; ``path.cut()`` by default.
    categorical_features : optional
        As for the selectors.
    sample_limit : int, default=5000
        Most rows that are looked at.
    random_state : int, default=0
        For the choice of these rows.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> from secateur import AGBMClassifier
    >>> from secateur.datasets import make_nonlinear_pair
    >>> problem = make_nonlinear_pair(n_rows=200, random_state=0)
    >>> model = AGBMClassifier(penalty=0.01, max_iter=5, random_state=0).fit(problem.X, problem.y)
    >>> evidence = gather_evidence(problem.X, problem.y, model.path_, target_type="classification")
    >>> evidence.n_rows, evidence.target_groups
    (200, ('0', '1'))
    """
    from secateur.data.costs import as_costs
    from secateur.data.frames import read_table

    if target_type not in {"classification", "regression"}:
        raise ParameterError(
            f"'target_type' must be 'classification' or 'regression'. Got {target_type!r}. Use "
            "one of them."
        )
    table = read_table(X, categorical_features=categorical_features)
    _check_width(table, path)
    shape = _checked_shape(grid_shape, path.n_features_in)
    told = _features_told(path, selection)
    rows = _sampled(table.n_rows, sample_limit, random_state)
    target = _target_groups(y, target_type, table.n_rows)
    here = Groups(target.names, target.of_row[rows])
    looked = look(table, rows, told, here)
    cost_model, labels = _cost_model(as_costs(costs, feature_groups, keep), path)
    in_path = _features_of(path)
    return Evidence(
        n_rows=table.n_rows,
        n_sampled=len(rows),
        target_type=target_type,
        target_groups=here.names,
        target_counts=here.counts,
        features=tuple(told.tolist()),
        distributions=looked.distributions,
        association=looked.association,
        substitutes=looked.substitutes,
        steps=tuple(_step_evidence(path, cost_model, fold_paths, (table, rows, told))),
        costs=_costs_alone(cost_model, in_path),
        groups=_groups_of(cost_model, labels, in_path),
        grid_shape=shape,
        backdrop=backdrop(table, rows, shape),
        cost_of_all=_cost_of_all(cost_model),
        n_folds=len(fold_paths),
        all_features=all_features,
        all_features_model=all_features_model,
    )


def _features_told(path: SelectionPath, selection: Selection | None) -> IntArray:
    """The features worth a look: those chosen by weight, then the others by entry."""
    if len(path) == 0:
        return np.empty(0, dtype=np.int64)
    step = path[(path.cut() if selection is None else selection).index]
    chosen = step.support[np.argsort(-np.abs(step.weight), kind="stable")]
    order = np.concatenate([chosen, *(each.order for each in path)])
    _, first = np.unique(order, return_index=True)
    return order[np.sort(first)][:MOST_FEATURES].astype(np.int64)


def _features_of(path: SelectionPath) -> IntArray:
    """All features that any step uses, sorted."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *(step.support for step in path)]))


def _sampled(n_rows: int, limit: int, random_state: int) -> IntArray:
    if n_rows <= limit:
        return np.arange(n_rows)
    # In random order, so that the first of them are a sample as well.
    return np.random.default_rng(random_state).choice(n_rows, limit, replace=False)


def _target_groups(y: Any, target_type: str, n_rows: int) -> Groups:
    from secateur.data.target import read_target
    from secateur.data.tasks import is_wide

    if y is None or is_wide(y):
        return one_group(n_rows)
    if target_type == "classification":
        target = read_target(y, target_type="classification", n_rows=n_rows)
        assert target.classes is not None  # noqa: S101 - tells the type checker what the type says
        return groups_of_classes(target.values, target.classes.tolist())
    return groups_of_numbers(read_target(y, target_type="regression", n_rows=n_rows).values)


def _cost_model(given: FeatureCosts, path: SelectionPath) -> tuple[CostModel | None, list[str]]:
    from secateur.data.feature_groups import feature_group_labels

    is_plain = given.costs is None and given.feature_groups is None and given.neighbours is None
    if is_plain and given.rule is None:
        return None, []  # each costs one: nobody asked
    return given.bind(path.feature_names), feature_group_labels(given.feature_groups)


def _costs_alone(cost_model: CostModel | None, features: IntArray) -> dict[int, float]:
    """What features cost alone; a rule knows costs beside others only."""
    if cost_model is None or cost_model.rule is not None:
        return {}
    return {int(feature): float(cost_model.cost[feature]) for feature in features}


def _cost_of_all(cost_model: CostModel | None) -> float:
    # A rule is asked anew for each feature bought: too dear for a table of very many.
    if cost_model is None or (cost_model.rule is not None and cost_model.n_features > MOST_RULED):
        return math.nan
    return cost_model.total(np.arange(cost_model.n_features))


def _groups_of(
    cost_model: CostModel | None, labels: list[str], features: IntArray
) -> dict[int, tuple[str, ...]]:
    if cost_model is None or cost_model.feature_groups is None:
        return {}
    groups = cost_model.feature_groups
    members = {
        int(f): tuple(
            labels[bag] for bag in groups.indices[groups.indptr[f] : groups.indptr[f + 1]]
        )
        for f in features
    }
    return {feature: names for feature, names in members.items() if names}


def _step_evidence(
    path: SelectionPath,
    cost_model: CostModel | None,
    fold_paths: Sequence[SelectionPath],
    looked_at: tuple[Table, IntArray, IntArray],
) -> list[StepEvidence]:
    """What is known of each step; `looked_at` are the table, rows of it, and features told of."""
    supports = fold_supports(path, fold_paths)
    shares = frequencies(path, supports)
    elsewhere = np.unique(
        np.concatenate([np.empty(0, np.int64), *(s for f in supports for s in f)])
    )
    alike = strongly_alike(*looked_at, elsewhere, MIN_ASSOCIATION) if len(elsewhere) else {}
    others = stand_ins(path, shares, supports, alike)
    return [
        StepEvidence(
            paid=() if cost_model is None else tuple(cost_model.paid(step.order).tolist()),
            frequency=found,
            stand_ins=instead,
        )
        for step, found, instead in zip(path, shares, others, strict=True)
    ]


def _check_width(table: Table, path: SelectionPath) -> None:
    if table.n_features != path.n_features_in:
        raise InputError(
            "X must be the table that the path was made from. Got "
            f"{table.n_features} columns for a path over {path.n_features_in} features. "
            "Pass the same columns in the same order."
        )


def _checked_shape(grid_shape: Sequence[int] | None, n_features: int) -> tuple[int, ...]:
    if grid_shape is None:
        return ()
    shape = tuple(int(length) for length in grid_shape)
    if not 1 <= len(shape) <= 3 or int(np.prod(shape)) != n_features:
        raise ParameterError(
            f"'grid_shape' must have one to three axes and {n_features} cells, one per feature. "
            f"Got {shape}. Use (28, 28) for images of 28 x 28 pixels."
        )
    return shape
