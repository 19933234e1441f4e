"""GT-GBM: A-GBM that finds new features by group tests, for tables with very many features."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from secateur._engines.boosted.groups import Groups
from secateur.selectors.boosted import BoostedClassifier, BoostedRegressor
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.boosted_doc import with_parameters
from secateur.selectors.boosted_input import BoostedJob
from secateur.selectors.boosted_parameters import CONSTRAINTS, LOSS_CONSTRAINTS
from secateur.selectors.group_testing_base import (
    GROUP_CONSTRAINTS,
    GROUP_PARAMETERS,
    check_design,
    group_testing,
    make_groups,
)


class _GroupTested(BoostedSelector):
    """A boosted selector whose trees look for new features by group tests."""

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _exact: ClassVar[str]
    _own_parameters: ClassVar[str] = GROUP_PARAMETERS

    def _read(self, *given: Any) -> BoostedJob:
        job = super()._read(*given)
        table = job.problem.table
        told = group_testing(self, job.problem.weight, job.seed)
        n_features = table.n_features - len(table.categories)
        check_design(told, n_features, table.n_rows, self._exact)
        return job

    def _groups(self, *given: Any) -> Groups | None:
        columns, job, threads, place = given
        return make_groups(self, columns, job.problem.weight, job.seed, threads, place)


@with_parameters
class GTGBMClassifier(_GroupTested, BoostedClassifier):
    """A-GBM with group tests, for classes and tables with very many features.

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
    _constraints = CONSTRAINTS | GROUP_CONSTRAINTS

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
        groups: Any = None,
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
        super().__init__(
            penalty=penalty,
            learning_rate=learning_rate,
            max_iter=max_iter,
            max_depth=max_depth,
            max_bins=max_bins,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            leaf=leaf,
            subsample=subsample,
            costs=costs,
            groups=groups,
            keep=keep,
            max_features=max_features,
            cost_budget=cost_budget,
            cut=cut,
            cv=cv,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            categorical_features=categorical_features,
            class_weight=class_weight,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.expected_features = expected_features
        self.delta = delta
        self.leaf_size = leaf_size
        self.group_size = group_size


@with_parameters
class GTGBMRegressor(_GroupTested, BoostedRegressor):
    """A-GBM with group tests, for numbers and tables with very many features.

    As AGBMRegressor, but a node does not look at every feature. Features are dealt out at
    random into groups; the sum of a group stands for its features, the groups whose sums split best
    are halved on, and only the features of the last ones are searched one by one (Algorithm 2
    of Han, Rao, Sorokina and Subbian, AISTATS 2020). Features in use are always searched.

    Examples
    --------
    >>> from secateur.datasets import make_wide
    >>> made = make_wide(2_000, 1_000, 5, 0, task="regression")
    >>> selector = GTGBMRegressor(penalty=0.02, expected_features=5, random_state=0)
    >>> selector = selector.fit(made.X, made.y)
    >>> bool(selector.support_[made.relevant].sum() >= 3)
    True
    """

    _exact: ClassVar[str] = "AGBMRegressor"
    _constraints = CONSTRAINTS | LOSS_CONSTRAINTS | GROUP_CONSTRAINTS

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
        groups: Any = None,
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
        super().__init__(
            penalty=penalty,
            loss=loss,
            quantile=quantile,
            huber_delta=huber_delta,
            learning_rate=learning_rate,
            max_iter=max_iter,
            max_depth=max_depth,
            max_bins=max_bins,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            leaf=leaf,
            subsample=subsample,
            costs=costs,
            groups=groups,
            keep=keep,
            max_features=max_features,
            cost_budget=cost_budget,
            cut=cut,
            cv=cv,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.expected_features = expected_features
        self.delta = delta
        self.leaf_size = leaf_size
        self.group_size = group_size
