"""What selectors share that find new features by group tests."""

from __future__ import annotations

import warnings
from typing import Any

from secateur._data.binned import BinnedColumns
from secateur._data.memory import require_memory
from secateur._data.weights import are_counts
from secateur._engines.boosted.group_blocks import pool_blocks
from secateur._engines.boosted.group_design import GroupDesign, GroupTesting, largest_group
from secateur._engines.boosted.groups import Groups, pool_groups
from secateur._execution.places import Place
from secateur._kernels.threads import Threads
from secateur.exceptions import GroupTestingWarning
from secateur.selectors.constraints import Constraint, number
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
    """What a search by group tests is told, the automatic parts filled in."""
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
    place: Place | None = None,
) -> Groups:
    """Groups of features and their sums, made where the rows are."""
    told = group_testing(estimator, weight, seed)
    if place is None:
        return pool_groups(columns, weight, told, threads)
    return pool_blocks(place, columns, weight, told)


def check_design(
    told: GroupTesting, n_features: int, n_rows: int, exact: str, stacklevel: int = 5
) -> None:
    """Refuse what does not fit into memory; warn where group testing does not pay.

    ``stacklevel`` leads from here to the line that called ``fit``.
    """
    design = GroupDesign.of(n_features, told)
    require_memory(
        design.n_bytes(n_rows),
        f"The sums of {design.n_groups:,} groups of features",
        "Raise 'leaf_size', lower 'expected_features', or raise 'delta'.",
    )
    if not design.pays:
        warnings.warn(
            f"Group testing does not pay here (Eq. 3 of its paper). Got {design.n_columns:,} "
            f"columns to look at in each node, where an exact search has {n_features:,} features. "
            f"Use {exact}, which is exact, or lower 'expected_features'.",
            GroupTestingWarning,
            stacklevel=stacklevel,
        )
