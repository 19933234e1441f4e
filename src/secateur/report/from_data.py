"""From the data to `Evidence`: the only module of the report that reads the table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import InputError, ParameterError
from secateur.path import Score, Selection, SelectionPath
from secateur.report.association import (
    Columns,
    TargetGroups,
    association,
    association_with_sparse,
    distribution,
    groups_by_class,
    groups_by_thirds,
    prepare,
)
from secateur.report.evidence import Evidence, StepEvidence
from secateur.report.sentences import fold_supports, frequencies, substitutes
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.data.costs import CostModel, FeatureCosts
    from secateur.data.table import Table


MAX_FEATURES = 120
MAX_SUBSTITUTES = 8
MIN_ASSOCIATION = 0.5
# Cells read in the search for substitutes: in wider tables fewer rows are used, but at least 400.
MAX_CELLS = 100_000_000
MIN_ROWS = 400
BLOCK = 1024
MAX_RULED = 2000
"""A cost rule is evaluated anew for each selected feature: too slow for more features than this."""


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
    """Gather what a report needs to know of the data.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        The table that the path was computed from.
    y : array-like of shape (n_rows,), (n_rows, n_tasks), or None
        Histograms are drawn by its classes, or by its thirds; for all rows together where there
        are several targets.
    path : SelectionPath
    target_type : {"classification", "regression"}
    costs, feature_groups, keep : as for the selectors
        Costs, feature groups, and features that are always selected.
    grid_shape : sequence of int, optional
        One to three axes, where features are the cells of a grid, such as pixels.
    fold_paths : sequence of SelectionPath, default=()
        Paths of the folds, as `HeldOut.fold_paths`: how often is each feature selected?
    all_features : Score, optional
        The score of all features, as `HeldOut.all_features`.
    all_features_model : str, default=""
        The model behind that score.
    selection : Selection, optional
        The cut; one standard error by default. Its features come first.
    categorical_features : as for the selectors
    sample_limit : int, default=5000
        The largest number of rows to sample.
    random_state : int, default=0
        Seed of the sample.

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
            f"'target_type' must be 'classification' or 'regression'. Got {target_type!r}. "
            "Use one of them."
        )
    table = read_table(X, categorical_features=categorical_features)
    shape = _checked_shape(table, path, grid_shape)
    cost_model, labels = _cost_model(as_costs(costs, feature_groups, keep), path)
    rows = _sampled_rows(table.n_rows, sample_limit, random_state)
    described = _described_features(path, selection)
    sample = _Sample(table.take(rows), described)
    target = _target_groups(y, target_type, table.n_rows)
    target = TargetGroups(target.names, target.of_row[rows])
    in_path = _union(step.support for step in path)
    return Evidence(
        n_rows=table.n_rows,
        n_sampled=len(rows),
        target_type=target_type,
        target_groups=target.names,
        target_counts=target.counts,
        features=tuple(described.tolist()),
        distributions=sample.distributions(target),
        association=sample.association(),
        substitutes=sample.correlated(),
        steps=tuple(_step_evidence(path, cost_model, fold_paths, sample)),
        costs=_single_costs(cost_model, in_path),
        groups=_groups_of(cost_model, labels, in_path),
        grid_shape=shape,
        backdrop=sample.means() if shape else (),
        cost_of_all=_cost_of_all(cost_model),
        n_folds=len(fold_paths),
        all_features=all_features,
        all_features_model=all_features_model,
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """The sampled rows, and the features to describe."""

    table: Table
    features: IntArray

    def distributions(self, groups: TargetGroups) -> tuple[Any, ...]:
        values, known = self.table.columns(self.features), self.table.categories
        labels = [known[f].tolist() if f in known else None for f in self.features.tolist()]
        return tuple(distribution(values[:, at], each, groups) for at, each in enumerate(labels))

    def association(self) -> tuple[tuple[float, ...], ...]:
        columns = _prepared(self.table, self.features)
        return tuple(map(tuple, np.round(association(columns, columns), 4).tolist()))

    def correlated(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """For each feature the columns of the whole table most correlated with it."""
        n_rows = max(MIN_ROWS, MAX_CELLS // max(self.table.n_features, 1))
        table = self.table
        if n_rows < table.n_rows:
            table = table.take(np.arange(n_rows))  # rows are in random order
        columns = _prepared(table, self.features)
        best: list[list[tuple[int, float]]] = [[] for _ in self.features]
        for names in _blocks(table.n_features):
            if table.is_sparse:
                block = table.csc[:, names[0] : names[-1] + 1]
                found = association_with_sparse(columns, block)
            else:
                found = association(columns, _prepared(table, names))
            found[self.features[:, None] == names] = np.nan  # no feature replaces itself
            for at, there in zip(*np.nonzero(np.abs(found) >= MIN_ASSOCIATION), strict=True):
                best[at].append((int(names[there]), round(float(found[at, there]), 4)))
            best = [sorted(each, key=_strongest)[:MAX_SUBSTITUTES] for each in best]
        return tuple(map(tuple, best))

    def correlation_with(self, others: IntArray) -> dict[int, dict[int, float]]:
        """For each feature those of `others` that are correlated with it, and how much."""
        columns = _prepared(self.table, self.features)
        found: dict[int, dict[int, float]] = {feature: {} for feature in self.features.tolist()}
        for at in _blocks(len(others)):
            names = others[at]
            values = np.round(association(columns, _prepared(self.table, names)), 4)
            values[self.features[:, None] == names] = np.nan
            for one, other in zip(*np.nonzero(np.abs(values) > MIN_ASSOCIATION), strict=True):
                found[int(self.features[one])][int(names[other])] = float(values[one, other])
        return found

    def means(self) -> tuple[float, ...]:
        """The mean of each column, scaled from 0 to 1."""
        blocks = (self.table.columns(names) for names in _blocks(self.table.n_features))
        mean: FloatArray = np.concatenate([np.nan_to_num(each).mean(axis=0) for each in blocks])
        span = float(np.ptp(mean))
        scaled = (mean - mean.min()) / span if span > 0 else np.zeros_like(mean)
        return tuple(np.round(scaled, 3).tolist())


def _prepared(table: Table, features: IntArray) -> Columns:
    known = table.categories
    return prepare(table.columns(features), [f in known for f in features.tolist()])


def _blocks(n_columns: int) -> Iterator[IntArray]:
    for start in range(0, n_columns, BLOCK):
        yield np.arange(start, min(start + BLOCK, n_columns))


def _strongest(pair: tuple[int, float]) -> tuple[float, int]:
    return -abs(pair[1]), pair[0]


def _described_features(path: SelectionPath, selection: Selection | None) -> IntArray:
    """The selected features by weight, then the others by entry."""
    if len(path) == 0:
        return np.empty(0, dtype=np.int64)
    step = path[(path.cut() if selection is None else selection).index]
    chosen = step.support[np.argsort(-np.abs(step.weight), kind="stable")]
    order = np.concatenate([chosen, *(each.order for each in path)])
    _, first = np.unique(order, return_index=True)
    return order[np.sort(first)][:MAX_FEATURES].astype(np.int64)


def _union(supports: Iterator[IntArray]) -> IntArray:
    return np.unique(np.concatenate([np.empty(0, np.int64), *supports]))


def _sampled_rows(n_rows: int, limit: int, random_state: int) -> IntArray:
    if n_rows <= limit:
        return np.arange(n_rows)
    # in random order, so that the first of them are a sample as well
    return np.random.default_rng(random_state).choice(n_rows, limit, replace=False)


def _target_groups(y: Any, target_type: str, n_rows: int) -> TargetGroups:
    from secateur.data.target import read_target
    from secateur.data.tasks import is_wide

    if y is None or is_wide(y):
        return TargetGroups(("all rows",), np.zeros(n_rows, dtype=np.int64))
    if target_type == "classification":
        target = read_target(y, target_type="classification", n_rows=n_rows)
        assert target.classes is not None  # noqa: S101 - for the type checker
        return groups_by_class(target.values, target.classes.tolist())
    return groups_by_thirds(read_target(y, target_type="regression", n_rows=n_rows).values)


def _cost_model(given: FeatureCosts, path: SelectionPath) -> tuple[CostModel | None, list[str]]:
    from secateur.data.feature_groups import feature_group_labels

    is_plain = given.costs is None and given.feature_groups is None and given.neighbours is None
    if is_plain and given.rule is None:
        return None, []  # no costs were given: each feature costs one
    return given.bind(path.feature_names), feature_group_labels(given.feature_groups)


def _single_costs(cost_model: CostModel | None, features: IntArray) -> dict[int, float]:
    """Costs of features alone; a rule has marginal costs only."""
    if cost_model is None or cost_model.rule is not None:
        return {}
    return {int(feature): float(cost_model.cost[feature]) for feature in features}


def _cost_of_all(cost_model: CostModel | None) -> float:
    if cost_model is None or (cost_model.rule is not None and cost_model.n_features > MAX_RULED):
        return math.nan
    return cost_model.total(np.arange(cost_model.n_features))


def _groups_of(
    cost_model: CostModel | None, labels: list[str], features: IntArray
) -> dict[int, tuple[str, ...]]:
    if cost_model is None or cost_model.feature_groups is None:
        return {}
    groups = cost_model.feature_groups
    members = {
        int(f): tuple(labels[at] for at in groups.indices[groups.indptr[f] : groups.indptr[f + 1]])
        for f in features
    }
    return {feature: names for feature, names in members.items() if names}


def _step_evidence(
    path: SelectionPath,
    cost_model: CostModel | None,
    fold_paths: Sequence[SelectionPath],
    sample: _Sample,
) -> list[StepEvidence]:
    supports = fold_supports(path, fold_paths)
    shares = frequencies(path, supports)
    in_folds = _union(support for of_step in supports for support in of_step)
    correlation = sample.correlation_with(in_folds) if len(in_folds) else {}
    others = substitutes(path, shares, supports, correlation)
    return [
        StepEvidence(
            paid=() if cost_model is None else tuple(cost_model.paid(step.order).tolist()),
            frequency=frequency,
            substitutes=instead,
        )
        for step, frequency, instead in zip(path, shares, others, strict=True)
    ]


def _checked_shape(
    table: Table, path: SelectionPath, grid_shape: Sequence[int] | None
) -> tuple[int, ...]:
    if table.n_features != path.n_features_in:
        raise InputError(
            "X must be the table that the path was computed from. Got "
            f"{table.n_features} columns for a path over {path.n_features_in} features. "
            "Pass the same columns in the same order."
        )
    if grid_shape is None:
        return ()
    shape = tuple(int(length) for length in grid_shape)
    if not 1 <= len(shape) <= 3 or int(np.prod(shape)) != table.n_features:
        raise ParameterError(
            f"'grid_shape' must have one to three axes and {table.n_features} cells, one per "
            f"feature. Got {shape}. Use (28, 28) for images of 28 x 28 pixels."
        )
    return shape
