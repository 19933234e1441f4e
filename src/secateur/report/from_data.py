"""From the data to `Evidence`: the only module of the report that reads the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import InputError, ParameterError
from secateur.path import Score, Selection, SelectionPath, Step
from secateur.path.comparing import matched_steps
from secateur.report import association
from secateur.report.association import Columns, TargetGroups
from secateur.report.evidence import Evidence, StepEvidence, Substitute
from secateur.report.sentences import MIN_FREQUENCY
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.data.costs import CostModel, FeatureCosts
    from secateur.data.table import Table


MAX_FEATURES = 120
MAX_SUBSTITUTES = 8
MIN_ASSOCIATION = 0.5
MIN_CORRELATION = 0.9  # between an unstable feature and its substitute
# Cells read in the search for correlated columns: in wider tables fewer rows, but at least 400.
MAX_CELLS = 100_000_000
MIN_ROWS = 400
BLOCK = 1024
MAX_RULED = 2000  # a cost rule is evaluated again for each selected feature


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
    selector: Any = None,
) -> Evidence:
    """Gather what a report needs to know of the data.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        The table that the path was computed from.
    y : array-like of shape (n_rows,), (n_rows, n_tasks), or None
        Histograms are drawn by its classes or thirds; of several targets, for all rows together.
    path : SelectionPath
    target_type : {"classification", "regression", "ranking"}
    costs, feature_groups, keep : as for the selectors
        Costs, feature groups, and features that are always selected.
    grid_shape : sequence of int, optional
        One to three axes, where features are the cells of a grid, such as pixels.
    fold_paths : sequence of SelectionPath, default=()
        Paths of the folds, as `HeldOut.fold_paths`: how often is each feature selected?
    all_features, all_features_model : Score and str, optional
        The score of all features and the model behind it, as in `HeldOut`.
    selection : Selection, optional
        The cut; one standard error by default. Its features come first.
    categorical_features : as for the selectors
    sample_limit, random_state : int, default=5000 and 0
        The largest number of rows to sample, and the seed of the sample.
    selector : fitted selector, optional
        Whose SHAP values are shown, where shap is installed and it has boosted trees.

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

    if target_type not in {"classification", "regression", "ranking"}:
        kinds = "'classification', 'regression' or 'ranking'"
        raise ParameterError(f"'target_type' must be {kinds}. Got {target_type!r}.")
    table = read_table(X, categorical_features=categorical_features)
    shape = _checked_shape(table, path, grid_shape)
    cost_model, known_of_costs = _costs(as_costs(costs, feature_groups, keep), path)
    rows = np.arange(table.n_rows)
    if table.n_rows > sample_limit:
        # in random order, so that the first of them are a sample as well
        rng = np.random.default_rng(random_state)
        rows = rng.choice(table.n_rows, sample_limit, replace=False)
    target, sample = _target_groups(y, target_type, table.n_rows), table.take(rows)
    target = TargetGroups(target.names, target.of_row[rows])
    features: IntArray = np.empty(0, np.int64)
    if len(path):  # the selected features by weight, then the others by entry
        step = path[(path.cut() if selection is None else selection).index]
        chosen = step.support[np.argsort(-np.abs(step.weight), kind="stable")]
        order = np.concatenate([chosen, *(each.order for each in path)])
        features = np.array(list(dict.fromkeys(order.tolist()))[:MAX_FEATURES], np.int64)
    return Evidence(
        n_rows=table.n_rows,
        n_sampled=len(rows),
        target_type=target_type,
        target_groups=target.names,
        target_counts=tuple(np.bincount(target.of_row, minlength=len(target.names)).tolist()),
        features=tuple(features.tolist()),
        **_described(sample, features, target),
        shap={} if selector is None else _shap(selector, X),
        substitutes=_most_correlated(sample, features),
        steps=tuple(_step_evidence(path, cost_model, fold_paths, sample, features)),
        grid_shape=shape,
        backdrop=_scaled_means(sample) if shape else (),
        n_folds=len(fold_paths),
        all_features=all_features,
        all_features_model=all_features_model,
        **known_of_costs,
    )


def _shap(selector: Any, X: Any) -> dict[int, float]:
    from secateur.export.plain_models import mean_shap

    sizes = mean_shap(selector, X)
    return dict(zip(np.flatnonzero(selector.support_).tolist(), sizes.tolist(), strict=False))


def _checked_shape(
    table: Table, path: SelectionPath, grid_shape: Sequence[int] | None
) -> tuple[int, ...]:
    if table.n_features != path.n_features_in:
        raise InputError(
            f"X must be the table of the path. Got {table.n_features} columns for a path over "
            f"{path.n_features_in} features. Pass the same columns in the same order."
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


def _target_groups(y: Any, target_type: Any, n_rows: int) -> TargetGroups:
    from secateur.data.target import read_target
    from secateur.data.tasks import is_wide

    if y is None or is_wide(y):
        return TargetGroups(("all rows",), np.zeros(n_rows, dtype=np.int64))
    target = read_target(y, target_type=target_type, n_rows=n_rows)
    if target.classes is None:
        return association.groups_by_thirds(target.values)
    return association.groups_by_class(target.values, target.classes.tolist())


def _prepared(table: Table, features: IntArray) -> Columns:
    known = table.categories
    return association.prepare(table.columns(features), [f in known for f in features.tolist()])


def _described(table: Table, features: IntArray, groups: TargetGroups) -> dict[str, Any]:
    """The distributions of features and their association, as fields of `Evidence`."""
    values, known = table.columns(features), table.categories
    labels = [known[f].tolist() if f in known else None for f in features.tolist()]
    pairs = zip(values.T, labels, strict=True)
    columns = _prepared(table, features)
    between = np.round(association.association(columns, columns), 4)
    return {
        "distributions": tuple(association.distribution(*pair, groups) for pair in pairs),
        "association": tuple(map(tuple, between.tolist())),
    }


def _correlated(
    table: Table, features: IntArray, others: IntArray
) -> Iterator[list[tuple[int, int, float]]]:
    """For blocks of `others`: position of the feature, correlated column, correlation."""
    columns = _prepared(table, features)
    for start in range(0, len(others), BLOCK):
        names = others[start : start + BLOCK]
        if table.is_sparse:
            found = association.association_with_sparse(columns, table.csc[:, names])
        else:
            found = association.association(columns, _prepared(table, names))
        found[features[:, None] == names] = np.nan  # no feature replaces itself
        pairs = zip(*np.nonzero(np.abs(found) >= MIN_ASSOCIATION), strict=True)
        yield [(int(at), int(names[to]), round(float(found[at, to]), 4)) for at, to in pairs]


def _most_correlated(table: Table, features: IntArray) -> tuple[tuple[tuple[int, float], ...], ...]:
    """For each feature the columns of the whole table most correlated with it."""
    n_rows = max(MIN_ROWS, MAX_CELLS // max(table.n_features, 1))
    if n_rows < table.n_rows:
        table = table.take(np.arange(n_rows))  # rows are in random order
    best: list[list[tuple[int, float]]] = [[] for _ in features]
    for pairs in _correlated(table, features, np.arange(table.n_features)):
        for at, other, r in pairs:
            best[at].append((other, r))
        for each in best:
            each.sort(key=lambda pair: (-abs(pair[1]), pair[0]))
            del each[MAX_SUBSTITUTES:]
    return tuple(map(tuple, best))


def _scaled_means(table: Table) -> tuple[float, ...]:
    starts = range(0, table.n_features, BLOCK)
    blocks = (table.block(start, start + BLOCK) for start in starts)
    mean: FloatArray = np.concatenate([np.nan_to_num(each).mean(axis=0) for each in blocks])
    span = float(np.ptp(mean))
    scaled = (mean - mean.min()) / span if span > 0 else np.zeros_like(mean)
    return tuple(np.round(scaled, 3).tolist())


def _costs(given: FeatureCosts, path: SelectionPath) -> tuple[CostModel | None, dict[str, Any]]:
    """The costs, and the fields of `Evidence` on them; nothing where none were given."""
    parts = (given.costs, given.feature_groups, given.neighbours, given.rule)
    if all(part is None for part in parts):
        return None, {}  # each feature costs one
    model = given.bind(path.feature_names)
    known: dict[str, Any] = {}
    features = sorted({feature for step in path for feature in step.support.tolist()})
    if model.rule is None:  # a rule has marginal costs only
        known["costs"] = {feature: float(model.cost[feature]) for feature in features}
    if model.rule is None or model.n_features <= MAX_RULED:
        known["cost_of_all"] = model.total(np.arange(model.n_features))
    groups = model.feature_groups
    if groups is not None:
        labels = np.array(model.group_labels, dtype=object)
        of_feature = [groups.indices[groups.indptr[f] : groups.indptr[f + 1]] for f in features]
        members = {f: tuple(labels[at]) for f, at in zip(features, of_feature, strict=True)}
        known["groups"] = {feature: names for feature, names in members.items() if names}
    return model, known


def _step_evidence(
    path: SelectionPath,
    cost_model: CostModel | None,
    fold_paths: Sequence[SelectionPath],
    table: Table,
    features: IntArray,
) -> Iterator[StepEvidence]:
    # a fold without steps selected nothing
    folds = [(fold, matched_steps(path, fold)) for fold in fold_paths if len(fold)]
    nothing = [np.empty(0, np.int64)] * (len(fold_paths) - len(folds))
    supports = [
        [*(fold[match[index]].support for fold, match in folds), *nothing]
        for index in range(len(path))
    ]
    found = {f for of_step in supports for support in of_step for f in support.tolist()}
    in_folds = np.array(sorted(found), np.int64)
    correlation: dict[int, dict[int, float]] = {feature: {} for feature in features.tolist()}
    for pairs in _correlated(table, features, in_folds):
        for at, other, r in pairs:
            correlation[int(features[at])][other] = r
    for step, of_folds in zip(path, supports, strict=True):
        paid = () if cost_model is None else tuple(cost_model.paid(step.order).tolist())
        hits = [np.isin(step.order, support) for support in of_folds]
        frequency = tuple(np.mean(hits, axis=0).tolist()) if hits else ()
        others = substitutes(step, frequency, of_folds, correlation)
        yield StepEvidence(paid, frequency, others)


def substitutes(
    step: Step,
    frequency: Sequence[float],
    supports: Sequence[IntArray],
    correlation: Mapping[int, Mapping[int, float]],
) -> tuple[Substitute, ...]:
    """The correlated features that most folds selected in place of the unstable ones of a step."""
    selected, folds = set(step.support.tolist()), [set(support.tolist()) for support in supports]
    found = []
    for feature, share in zip(step.order.tolist(), frequency, strict=False):
        known = correlation.get(feature, {}) if share < MIN_FREQUENCY else {}
        without = [fold for fold in folds if feature not in fold]
        others = [
            Substitute(feature, other, r, sum(other in fold for fold in without))
            for other, r in known.items()
            if other not in selected and abs(r) > MIN_CORRELATION
        ]
        others = [each for each in others if each.n_folds]
        others.sort(key=lambda each: (-each.n_folds, -abs(each.correlation), each.other))
        found += others[:1]
    return tuple(found)
