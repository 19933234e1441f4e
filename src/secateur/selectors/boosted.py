"""Boosted trees with feature costs: GBFS, A-GBM and GT-GBM, for classification and regression."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.data.memory import require_memory
from secateur.data.target import Target, are_counts
from secateur.engines.boosted.group_design import GroupDesign, GroupTesting, largest_group
from secateur.engines.boosted.groups import Groups, sum_groups
from secateur.exceptions import GroupTestingWarning
from secateur.execution.blocks import RowStore
from secateur.losses import Loss
from secateur.selectors.base import warn_caller
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.inputs import BoostedInput
from secateur.selectors.parameters import (
    ClassificationParameters,
    ExactThresholds,
    RegressionParameters,
    number,
    one_of,
    with_constructor,
)
from secateur.selectors.prediction import PredictsClasses, PredictsValues
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray

EXPECTED_FEATURES = 20  # what "auto" expects where ``max_features`` says nothing


@with_constructor
class GBFSPenalty:
    """The gain of GBFS.

    Parameters
    ----------
    penalty : float, "auto" or sequence of float, default="auto"
        The penalty of a new feature, times its cost, in units of the loss summed over rows; >= 0.
        Whole weights count rows; others are divided by their mean.
        "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own.
    """

    penalty: Any = "auto"

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "gbfs"
    _max_penalty: ClassVar[float] = np.inf


@with_constructor
class GBFSOptions(ExactThresholds):
    """What GBFS has of its paper besides.

    Parameters
    ----------
    init : {"constant", "zero"}, default="constant"
        Where predictions begin: at the best constant, or at 0 as in Algorithm 1, line 2. From 0 the
        first trees learn the mean.
    feature_subsample : float, default=1.0
        The share of the features not in use that each tree may use, drawn at random in proportion
        to the gain that they had when they were last looked at (future work of the paper); those
        in use always take part.
    """

    init: str = one_of("constant", "zero").default("constant")
    feature_subsample: float = number(0, 1, above=True, advice="Use 1 for all.").default(1.0)

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        loss: Loss = super()._loss(target, weight)  # type: ignore[misc]  # a selector's
        loss.starts_at_zero = self.init == "zero"
        return loss


@with_constructor
class AGBMPenalty:
    """The gain of A-GBM.

    Parameters
    ----------
    penalty : float, "auto" or sequence of float, default="auto"
        The penalty of a new feature, times its cost, as a share of the squared error at the root of
        a tree; from 0 to below 1. 0.01 selects what explains at least one part in a hundred.
        "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own.
    """

    penalty: Any = "auto"

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _max_penalty: ClassVar[float] = 1.0


@with_constructor
class GroupTestedSelector(BoostedSelector):
    """A boosted selector whose trees look for new features by group tests.

    Parameters
    ----------
    expected_features : int or "auto", default="auto"
        The number of features s that matter, about; "auto" is ``max_features`` if given, 20
        otherwise. All features are divided at random into s subsets, several times.
    delta : float, default=0.1
        The probability that some of these features never is in a group without another of them
        (Theorem 4.1); the smaller, the more often features are divided.
    leaf_size : int or "auto", default="auto"
        Halving ends at groups of so many features, which are then searched one by one. Less takes
        more memory; 1 is the paper's. "auto" is chosen with the group size, 32 where that is given.
    group_size : int, None or "auto", default="auto"
        The largest groups that are tested: all groups of this size, of which the best of each
        subset are halved again. "auto" is the size with the fewest columns to search in a node, at
        most one feature for every 500 rows: sums of more are mostly noise. If that is not clearly
        fewer than there are features, all are searched, as without group tests. None is the
        paper's: half a subset.
    """

    expected_features: Any = number(1, whole=True, words=("auto",)).default("auto")
    delta: float = number(0, 1, above=True, below=True).default(0.1)
    leaf_size: Any = number(1, whole=True, words=("auto",)).default("auto")
    group_size: Any = number(1, whole=True, or_none=True, words=("auto",)).default("auto")

    _exact: ClassVar[str]  # what searches exactly instead

    def _problem(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> BoostedInput:
        given = super()._problem(X, y, sample_weight, **more)
        self._check_design(given, given.problem.n_rows)
        return given

    def _check_design(self, given: BoostedInput, n_rows: int) -> None:
        """Refuse what does not fit into memory; warn where group tests do not pay."""
        design = self._design(given)
        require_memory(
            design.n_groups * n_rows,
            f"The sums of {design.n_groups:,} groups of features",
            "Raise 'leaf_size', lower 'expected_features', or raise 'delta'.",
        )
        if not design.is_faster:
            n_columns = self._design(given, GroupDesign.best).n_columns
            other = f"Use {self._exact}, which is exact, or group_size='auto',"
            stored = f"about {design.row_cells:,.0f} stored cells of a row in "
            read = f"{stored if design.is_sparse else ''}{design.n_features:,} features"
            done = f"All are searched, as by {self._exact}; to test groups, give 'group_size'"
            warn_caller(
                f"Group testing is not faster here (Eq. 3 of its paper). Got {n_columns:,} columns "
                f"to look at in each node, where an exact search has {read}. "
                f"{other if design.has_tests else done} or lower 'expected_features'.",
                GroupTestingWarning,
            )

    def _design(
        self,
        given: BoostedInput,
        make: Callable[[int, GroupTesting], GroupDesign] = GroupDesign.of,
    ) -> GroupDesign:
        # all columns but categories are taken to vary
        table = given.problem.table
        n_features = table.n_features - len(table.categories)
        return make(n_features, self._group_testing(self._design_weight(given), given))

    def _remember(self, given: Any) -> None:
        super()._remember(given)
        self.design_ = self._design(given)

    def _design_weight(self, given: Any) -> FloatArray:
        """The weights of the rows that the group size depends on."""
        return given.problem.weight

    def _group_testing(self, weight: FloatArray, given: BoostedInput) -> GroupTesting:
        expected, group_size, largest = self.expected_features, self.group_size, None
        if expected == "auto":
            expected = self.max_features or EXPECTED_FEATURES
        if group_size == "auto":
            largest = largest_group(weight.sum() if are_counts(weight) else len(weight))
            group_size = None
        leaf_size = None if self.leaf_size == "auto" else int(self.leaf_size)
        sizes = (leaf_size, group_size, given.seed, largest, row_cells(given.problem.table))
        return GroupTesting(int(expected), float(self.delta), *sizes)

    def _groups(
        self,
        columns: BinnedColumns,
        weight: FloatArray,
        given: BoostedInput,
        threads: Threads,
        row_store: RowStore | None,
    ) -> Groups | None:
        """Groups of features and their sums, made where the rows are; None for an exact search."""
        settings = self._group_testing(weight, given)
        return sum_groups(columns, weight, settings, threads, row_store)


def row_cells(table: Any) -> float:
    """The cells that a row of a sparse table stores, about; infinite for other tables."""
    if not table.is_sparse:
        return math.inf
    if isinstance(table, StoredTable):
        return sum(block.n_cells for block in table.blocks) / table.n_stored
    return float(table.csc.nnz / table.n_rows)


class BoostedClassifier(PredictsClasses, BoostedSelector, ClassificationParameters):
    """Boosted trees with feature costs, for classification: one tree per round, or per class."""


class BoostedRegressor(PredictsValues, BoostedSelector, RegressionParameters):
    """Boosted trees with feature costs, for regression."""


@with_constructor
class GBFSClassifier(GBFSOptions, BoostedClassifier, GBFSPenalty):
    """Gradient boosted feature selection for classification.

    A split on a new feature must reduce half the squared error of the gradients by more than the
    penalty (Eq. 14 of Xu, Huang, Weinberger and Zheng, KDD 2014). The penalty is in units of the
    loss; see AGBMClassifier for a penalty without units.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = GBFSClassifier(penalty=2.0, random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() < 15)
    True
    """


@with_constructor
class GBFSRegressor(GBFSOptions, BoostedRegressor, GBFSPenalty):
    """Gradient boosted feature selection for regression.

    The gain of a split is that of GBFSClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = GBFSRegressor(max_features=3, random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() <= 3)
    True
    """


@with_constructor
class AGBMClassifier(ExactThresholds, BoostedClassifier, AGBMPenalty):
    """Boosted trees with a scaled penalty for new features, for classification.

    A split on a new feature must reduce the squared error of the gradients by more than the
    penalty, as a share of the tree's own (A-GBM of Han, Rao, Sorokina and Subbian, AISTATS 2020):
    the penalty has no units and means the same in every round.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AGBMClassifier(random_state=0).fit(X, y)
    >>> selector.transform(X).shape[1] == selector.support_.sum()
    np.True_
    """


@with_constructor
class AGBMRegressor(ExactThresholds, BoostedRegressor, AGBMPenalty):
    """Boosted trees with a scaled penalty for new features, for regression.

    The gain of a split is that of AGBMClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = AGBMRegressor(penalty=0.02, random_state=0).fit(X, y)
    >>> bool(selector.score(X, y) > 0.4)
    True
    """


@with_constructor
class GTGBMClassifier(GroupTestedSelector, BoostedClassifier, AGBMPenalty):
    """A-GBM with group tests, for classification and tables with very many features.

    As AGBMClassifier, but a node does not look at every feature. Features are put into random
    groups; a group is searched by the sum of its features, the groups whose sums split best are
    halved again, and only the features of the last ones are searched one by one (Algorithm 2 of
    Han, Rao, Sorokina and Subbian, AISTATS 2020). Features in use are always searched.

    Examples
    --------
    >>> from secateur.datasets import make_wide
    >>> problem = make_wide(2_000, 1_000, 5, 0)
    >>> selector = GTGBMClassifier(penalty=0.02, expected_features=5, random_state=0)
    >>> selector = selector.fit(problem.X, problem.y)
    >>> bool(selector.support_[problem.relevant].sum() >= 3)
    True
    """

    _exact: ClassVar[str] = "AGBMClassifier"


@with_constructor
class GTGBMRegressor(GroupTestedSelector, BoostedRegressor, AGBMPenalty):
    """A-GBM with group tests, for regression and tables with very many features.

    As AGBMRegressor, with the group tests of GTGBMClassifier.

    Examples
    --------
    >>> from secateur.datasets import make_wide
    >>> problem = make_wide(2_000, 1_000, 5, 0, target_type="regression")
    >>> selector = GTGBMRegressor(penalty=0.02, expected_features=5, random_state=0)
    >>> selector = selector.fit(problem.X, problem.y)
    >>> bool(selector.support_[problem.relevant].sum() >= 3)
    True
    """

    _exact: ClassVar[str] = "AGBMRegressor"
