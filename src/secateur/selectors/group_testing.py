"""GT-GBM: A-GBM that finds new features by group tests, for tables with very many features."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.data.memory import require_memory
from secateur.data.weights import are_counts
from secateur.engines.boosted.groups import (
    GroupDesign,
    Groups,
    GroupTesting,
    largest_group,
    sum_groups,
    sum_groups_in_blocks,
)
from secateur.exceptions import GroupTestingWarning
from secateur.execution.local import RowStore
from secateur.selectors.base import warn_caller
from secateur.selectors.boosted import (
    AFTER_PENALTY,
    AGBM_PENALTY,
    ATTRIBUTES,
    CLASSIFICATION,
    COMMON,
    REGRESSION,
    BoostedClassifier,
    BoostedRegressor,
)
from secateur.selectors.boosted_base import CONSTRAINTS, BoostedInput, BoostedSelector
from secateur.selectors.parameters import Constraint, number, store_parameters, with_parameters
from secateur.typing import FloatArray

EXPECTED_FEATURES = 20
"""What "auto" expects where ``max_features`` says nothing."""

GROUP_CONSTRAINTS: dict[str, Constraint] = {
    "expected_features": number(
        1, whole=True, words=("auto",), advice="Use 'auto' for max_features, or 20."
    ),
    "delta": number(0, 1, above=True, below=True, advice="Use 0.1 for a start."),
    "leaf_size": number(1, whole=True, advice="Use 32 for a start, 1 to search to the end."),
    "group_size": number(
        1,
        whole=True,
        or_none=True,
        words=("auto",),
        advice="Use 'auto' to have it chosen by the rows, None for the paper's.",
    ),
}

GROUP_PARAMETERS = """expected_features : int or "auto", default="auto"
    The number of features s that matter, about; "auto" is ``max_features`` if given, 20 otherwise.
    All features are dealt out into s subsets, again and again, and each is searched by itself.
delta : float, default=0.1
    The probability that some of these features never is in a group without another of them
    (Theorem 4.1); the smaller, the more often features are dealt out.
leaf_size : int, default=32
    Halving ends at groups of so many features, which are then searched one by one. Less is quicker
    and takes more memory; 1 is the paper's search to the end.
group_size : int, None or "auto", default="auto"
    The largest groups that are tested: all groups of this size, of which the best of each subset
    are halved on. "auto" is one feature for every 500 rows: sums of more drown in noise. None
    is the paper's: half a subset."""


def group_testing(estimator: Any, weight: FloatArray, seed: int) -> GroupTesting:
    """The settings of group tests, with "auto" replaced."""
    expected = estimator.expected_features
    if expected == "auto":
        expected = estimator.max_features or EXPECTED_FEATURES
    group_size = estimator.group_size
    if group_size == "auto":
        group_size = largest_group(weight.sum() if are_counts(weight) else len(weight))
    return GroupTesting(
        int(expected), float(estimator.delta), int(estimator.leaf_size), group_size, seed
    )


def make_groups(
    estimator: Any,
    columns: BinnedColumns,
    weight: FloatArray,
    seed: int,
    threads: Threads,
    row_store: RowStore | None = None,
) -> Groups:
    """Groups of features and their sums, made where the rows are."""
    settings = group_testing(estimator, weight, seed)
    if row_store is None:
        return sum_groups(columns, weight, settings, threads)
    return sum_groups_in_blocks(row_store, columns, weight, settings)


def check_design(settings: GroupTesting, n_features: int, n_rows: int, exact: str) -> None:
    """Refuse what does not fit into memory; warn where an exact search is cheaper."""
    design = GroupDesign.of(n_features, settings)
    require_memory(
        design.n_bytes(n_rows),
        f"The sums of {design.n_groups:,} groups of features",
        "Raise 'leaf_size', lower 'expected_features', or raise 'delta'.",
    )
    if not design.is_faster:
        warn_caller(
            f"Group testing does not pay here (Eq. 3 of its paper). Got {design.n_columns:,} "
            f"columns to look at in each node, where an exact search has {n_features:,} features. "
            f"Use {exact}, which is exact, or lower 'expected_features'.",
            GroupTestingWarning,
        )


class _GroupTested(BoostedSelector):
    """A boosted selector whose trees look for new features by group tests."""

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _exact: ClassVar[str]
    _constraints = CONSTRAINTS | GROUP_CONSTRAINTS

    def _problem(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> BoostedInput:
        given = super()._problem(X, y, sample_weight, **more)
        table = given.problem.table
        settings = group_testing(self, given.problem.weight, given.seed)
        n_features = table.n_features - len(table.categories)
        check_design(settings, n_features, table.n_rows, self._exact)
        return given

    def _groups(self, *given: Any) -> Groups | None:
        return make_groups(self, *given)


@with_parameters(
    AGBM_PENALTY, AFTER_PENALTY, GROUP_PARAMETERS, CLASSIFICATION, COMMON, attributes=ATTRIBUTES
)
class GTGBMClassifier(_GroupTested, BoostedClassifier):
    """A-GBM with group tests, for classification and tables with very many features.

    As AGBMClassifier, but a node does not look at every feature. Features are dealt out at
    random into groups; the sum of a group stands for its features, the groups whose sums split best
    are halved on, and only the features of the last ones are searched one by one (Algorithm 2
    of Han, Rao, Sorokina and Subbian, AISTATS 2020). Features in use are always searched.

    Examples
    --------
    >>> from secateur.datasets import make_wide
    >>> made = make_wide(2_000, 1_000, 5, 0)
    >>> selector = GTGBMClassifier(penalty=0.02, expected_features=5, random_state=0)
    >>> selector = selector.fit(made.X, made.y)
    >>> bool(selector.support_[made.relevant].sum() >= 3)
    True
    """

    _exact: ClassVar[str] = "AGBMClassifier"

    def __init__(
        self,
        *,
        penalty: Any = "auto",
        expected_features: Any = "auto",
        delta: float = 0.1,
        leaf_size: int = 32,
        group_size: Any = "auto",
        learning_rate: float = 0.1,
        max_iter: int = 200,
        max_depth: int = 4,
        max_bins: int = 255,
        min_samples_leaf: Any = "auto",
        l2_regularization: float = 0.0,
        leaf: str = "newton",
        subsample: float = 1.0,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        cost_budget: float | None = None,
        cut: Any = None,
        cv: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        categorical_features: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_parameters(self, locals())


@with_parameters(
    AGBM_PENALTY, AFTER_PENALTY, GROUP_PARAMETERS, REGRESSION, COMMON, attributes=ATTRIBUTES
)
class GTGBMRegressor(_GroupTested, BoostedRegressor):
    """A-GBM with group tests, for regression and tables with very many features.

    As AGBMRegressor, but a node does not look at every feature. Features are dealt out at
    random into groups; the sum of a group stands for its features, the groups whose sums split best
    are halved on, and only the features of the last ones are searched one by one (Algorithm 2
    of Han, Rao, Sorokina and Subbian, AISTATS 2020). Features in use are always searched.

    Examples
    --------
    >>> from secateur.datasets import make_wide
    >>> made = make_wide(2_000, 1_000, 5, 0, target_type="regression")
    >>> selector = GTGBMRegressor(penalty=0.02, expected_features=5, random_state=0)
    >>> selector = selector.fit(made.X, made.y)
    >>> bool(selector.support_[made.relevant].sum() >= 3)
    True
    """

    _exact: ClassVar[str] = "AGBMRegressor"

    def __init__(
        self,
        *,
        penalty: Any = "auto",
        loss: str = "squared_error",
        quantile: float | None = None,
        huber_delta: float | None = None,
        expected_features: Any = "auto",
        delta: float = 0.1,
        leaf_size: int = 32,
        group_size: Any = "auto",
        learning_rate: float = 0.1,
        max_iter: int = 200,
        max_depth: int = 4,
        max_bins: int = 255,
        min_samples_leaf: Any = "auto",
        l2_regularization: float = 0.0,
        leaf: str = "newton",
        subsample: float = 1.0,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        cost_budget: float | None = None,
        cut: Any = None,
        cv: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        categorical_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_parameters(self, locals())
