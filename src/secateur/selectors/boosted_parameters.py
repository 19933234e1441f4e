"""The parameters of the boosted selectors: documentation, defaults and constraints in one place."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from secateur.selectors.parameters import SelectorParameters, number, one_of, with_constructor


@with_constructor
class GBFSPenalty:
    """The gain of GBFS.

    Parameters
    ----------
    penalty : float, "auto" or sequence of float, default="auto"
        The penalty of a new feature, times its cost, in units of the loss summed over rows; >= 0.
        Whole weights count rows; others are divided by their mean.
        "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own. Where there are too few rows for folds (see ``cv``), "auto"
        is one value from the middle of the grid.
    """

    penalty: Any = "auto"

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "gbfs"
    _max_penalty: ClassVar[float] = np.inf


@with_constructor
class AGBMPenalty:
    """The gain of A-GBM.

    Parameters
    ----------
    penalty : float, "auto" or sequence of float, default="auto"
        The penalty of a new feature, times its cost, as a share of the squared error at the root of
        a tree; from 0 to below 1. 0.01 selects what explains at least one part in a hundred.
        "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own. Where there are too few rows for folds (see ``cv``), "auto"
        is one value from the middle of the grid.
    """

    penalty: Any = "auto"

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _max_penalty: ClassVar[float] = 1.0


@with_constructor
class TaskParameters:
    """What tasks pay for features.

    Parameters
    ----------
    group_penalty : float, "auto" or sequence of float, default="auto"
        What a feature that no task uses yet costs, times its cost, as a share of the squared error
        at the root of a tree; from 0, which makes the tasks independent, to below 1.
        "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own. Where there are too few rows for folds (see ``cv``), "auto"
        is one value from the middle of the grid.
    task_penalty : float, dict, sequence or "auto", default="auto"
        What a feature that is new to a task costs that task, whoever else uses it; one number, or
        one per task: a dict by task, or a sequence in the order of ``tasks_``. "auto" is as much
        as the group penalty. With 0 all tasks have one common set.
    common_trees : bool or "auto", default="auto"
        Whether a round is one tree for the rows of all tasks, which may ask for the task, instead
        of one tree for each. A node of it pays for every task that can come to it: what a feature
        new to the task costs, by the task's share of the rows. "auto" tries both, where the group
        penalty is "auto" too and rows of several tasks with the same classes come stacked; trees
        in common are kept where held-out rows find those of the tasks clearly worse. Else it is
        False. ``common_trees_`` says what was kept.
    search : {"exact", "group_testing"}, default="exact"
        Whether nodes look at every feature, or find new ones by group tests as GT-GBM does; the
        next four parameters are those of group tests.
    """

    group_penalty: Any = "auto"
    task_penalty: Any = "auto"
    common_trees: Any = one_of(
        True, False, "auto", advice="Use True to begin rounds with a tree for all."
    ).default("auto")
    search: str = one_of(
        "exact", "group_testing", advice="Use 'exact' to look at every feature."
    ).default("exact")

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _max_penalty: ClassVar[float] = 1.0


@with_constructor
class GroupTestingParameters:
    """How new features are found by group tests.

    Parameters
    ----------
    expected_features : int or "auto", default="auto"
        The number of features s that matter, about; "auto" is ``max_features`` if given, 20
        otherwise. All features are dealt out into s subsets, again and again, and each is searched
        by itself.
    delta : float, default=0.1
        The probability that some of these features never is in a group without another of them
        (Theorem 4.1); the smaller, the more often features are dealt out.
    leaf_size : int or "auto", default="auto"
        Halving ends at groups of so many features, which are then searched one by one. Less takes
        more memory; 1 is the paper's search to the end. "auto" is chosen with the group size, 32
        where that is given.
    group_size : int, None or "auto", default="auto"
        The largest groups that are tested: all groups of this size, of which the best of each
        subset are halved on. "auto" is the size with the fewest columns to look at in a node, at
        most one feature for every 500 rows: sums of more drown in noise. If that is not clearly
        fewer than there are features, all are searched, as without group tests. None is the
        paper's: half a subset.
    """

    expected_features: Any = number(
        1, whole=True, words=("auto",), advice="Use 'auto' for max_features, or 20."
    ).default("auto")
    delta: float = number(0, 1, above=True, below=True).default(0.1)
    leaf_size: Any = number(
        1, whole=True, words=("auto",), advice="Use 'auto', or 1 to search to the end."
    ).default("auto")
    group_size: Any = number(
        1,
        whole=True,
        or_none=True,
        words=("auto",),
        advice="Use 'auto' to have it chosen, None for the paper's.",
    ).default("auto")


@with_constructor
class ClassificationParameters:
    """The weights of classes.

    Parameters
    ----------
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, times those of the rows.
    """

    class_weight: Any = None


@with_constructor
class RegressionParameters:
    """The loss of regression.

    Parameters
    ----------
    loss : str, default="squared_error"
        Also "absolute_error", "huber", "poisson" and "quantile".
    quantile : float, default=None
        The level, for ``loss="quantile"``.
    huber_delta : float, default=None
        Where the Huber loss turns linear; None takes the 0.9 quantile of the distances to the
        median.
    """

    loss: str = one_of(
        "squared_error",
        "absolute_error",
        "huber",
        "poisson",
        "quantile",
        advice="Use 'squared_error' for the mean.",
    ).default("squared_error")
    quantile: float | None = number(
        0, 1, above=True, below=True, or_none=True, advice="Use 0.5 for the median."
    ).default(None)
    huber_delta: float | None = number(
        0, above=True, below=True, or_none=True, advice="Use None to have it chosen from y."
    ).default(None)


@with_constructor
class BoostedParameters(SelectorParameters):
    """Trees, folds and early stopping.

    Parameters
    ----------
    learning_rate : float, default=0.1
    max_iter : int, default=200
        The largest number of rounds; each has one tree, or one per class if there are more than
        two.
    max_depth : int, default=4
    max_bins : int, default=255
        Bins per feature; columns with fewer distinct values have a bin for each.
    min_samples_leaf : "auto" or number, default="auto"
        The smallest number of rows in a leaf; "auto" is 1 to 20, one for every 50 rows.
    l2_regularization : float, default=0.0
        Added to the curvature of a leaf, a sum over rows. Whole weights count rows; others are
        divided by their mean.
    leaf : {"newton", "mean"}, default="newton"
        The value of a leaf: a Newton step, or the mean gradient as in the papers.
    subsample : float, default=1.0
        The share of rows that each tree sees.
    early_stopping : bool or "auto", default="auto"
        With a single penalty: hold rows out and stop when their loss no longer falls; "auto" does
        so above 10,000 rows.
    validation_fraction : float, default=0.1
        The share of rows that early stopping holds out.
    n_iter_no_change : int, default=10
        Rounds without a lower loss on held-out rows after which a fit stops.
    categorical_features : None, "from_dtype", list or mask, default=None
        Columns of categories; those of a category type are always taken as such.

    Attributes
    ----------
    path_ : SelectionPath
        Supports, costs and scores: a step is one penalty of a grid, or one support of a single
        fit.
    feature_importances_ : array of float, shape (n_features_in_,)
    n_iter_ : int
        Rounds of the chosen model.
    """

    learning_rate: float = number(0, above=True, below=True).default(0.1)
    max_iter: int = number(1, whole=True).default(200)
    max_depth: int = number(1, 16, whole=True).default(4)
    max_bins: int = number(2, 255, whole=True, advice="Use 255 for the finest bins.").default(255)
    min_samples_leaf: Any = number(
        1, below=True, words=("auto",), advice="Use 'auto' for 1 to 20, by number of rows."
    ).default("auto")
    l2_regularization: float = number(0, below=True, advice="Use 0 for none.").default(0.0)
    leaf: Literal["newton", "mean"] = one_of(
        "newton", "mean", advice="Use 'newton' for a Newton step."
    ).default("newton")
    subsample: float = number(0, 1, above=True, advice="Use 1 for all rows.").default(1.0)
    early_stopping: Any = one_of(
        True, False, "auto", advice="Use 'auto' to stop early on long tables."
    ).default("auto")
    validation_fraction: float = number(
        0, 1, above=True, below=True, advice="Use 0.1 for one row in ten."
    ).default(0.1)
    n_iter_no_change: int = number(1, whole=True).default(10)
    categorical_features: Any = None
