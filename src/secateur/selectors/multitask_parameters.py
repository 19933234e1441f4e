"""What the parameters of the multitask selectors may be, and how several scores become one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from secateur._data.tasks import is_wide, labelled_rows, read_keys, rows_by_key
from secateur._data.vectors import as_array
from secateur._data.weights import read_weights
from secateur.selectors.constraints import Constraint, one_of
from secateur.selectors.group_testing_base import GROUP_CONSTRAINTS, GROUP_PARAMETERS
from secateur.typing import AnyArray, FloatArray

TASK_CONSTRAINTS: dict[str, Constraint] = GROUP_CONSTRAINTS | {
    "common_trees": one_of(
        True, False, "auto", advice="Use True to begin rounds with a tree for all."
    ),
    "search": one_of("exact", "group_testing", advice="Use 'exact' to look at every feature."),
}

MULTITASK = f"""task_penalty : float, dict, sequence or "auto", default="auto"
    What a feature that is new to a task costs that task, whoever else uses it; one number, or one
    per task: a dict by task, or a sequence in the order of ``tasks_``. "auto" is as much
    as the group penalty. With 0 all tasks have one common set.
common_trees : bool or "auto", default="auto"
    Whether a round is one tree for the rows of all tasks, which may ask for the task, instead of
    one tree for each. A node of it pays for every task that can come to it: what a feature new to
    the task costs, by the task's share of the rows. "auto" tries both, where the group penalty is
    "auto" too and rows of several tasks with the same classes come stacked; trees in common are
    kept where held-out rows find those of the tasks clearly worse. Else it is False.
    ``common_trees_`` tells what was kept.
search : {{"exact", "group_testing"}}, default="exact"
    Whether nodes look at every feature, or find new ones by group tests as GT-GBM does; the next
    four parameters are those of group tests.
{GROUP_PARAMETERS}"""

GROUP_PENALTY = """group_penalty : float, "auto" or sequence of float, default="auto"
    What a feature that no task uses yet costs, times its price, as a share of the squared error at
    the root of a tree; from 0, which makes the tasks independent, to below 1."""


def mean_score(
    score: Callable[..., float], predicted: AnyArray, y: Any, sample_weight: Any, task: Any
) -> float:
    """The score of each task, and of these the mean by the weight of its rows.

    Parameters
    ----------
    score : callable of (y_true, y_pred, sample_weight)
    predicted : array of shape (n_rows,) or (n_rows, n_tasks)
    y, sample_weight, task : as in ``fit``
    """
    weight = read_weights(sample_weight, len(predicted))
    parts = list(_parts(predicted, y, weight, task))
    scores = [score(true, found, sample_weight=w) for true, found, w in parts]
    return float(np.average(scores, weights=[w.sum() for _, _, w in parts]))


def _parts(
    predicted: AnyArray, y: Any, weight: FloatArray, task: Any
) -> Iterator[tuple[AnyArray, AnyArray, FloatArray]]:
    """True values, predictions and weights of each task."""
    n_rows = len(predicted)
    if is_wide(y):
        for t, (_, rows, labels) in enumerate(labelled_rows(y, n_rows)):
            yield labels, predicted[rows, t], weight[rows]
        return
    given = as_array(y, "y").ravel()
    is_one = task is None or np.isscalar(task)
    for rows in rows_by_key([0] * n_rows if is_one else read_keys(task, n_rows)).values():
        yield given[rows], predicted[rows], weight[rows]
