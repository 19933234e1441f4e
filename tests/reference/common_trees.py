"""Naive trees that several tasks have in common: one table, whose last column is the task.

What docs/multitask.md says, and no more. A split by task costs a penalty each time; or, where there
is none, what a feature that is new to all costs, once. A split of a node on feature j costs what is
new to all, and for every task that may come to the node what is new to that task, by its share of
the rows:

    mu_G [j in no Omega_t]  +  sum over t in the node of  share_t mu_t [j not in Omega_t]

Notation: t task, j feature. Omega_t are the features of task t.
"""

from dataclasses import dataclass, replace

import numpy as np
from reference.boosted import FeatureUse, boost


@dataclass
class NodeFeatureUse:
    """What features cost a node, to which some tasks may come (``here``)."""

    common: FeatureUse
    own: list  # a FeatureUse for each task
    mu_group: float
    mu_tasks: list
    shares: list
    codes: list  # the category of each task
    task_split_penalty: float
    here: list
    has_entered: list  # whether there was a split by task: one answer for all nodes

    @property
    def column(self):
        return len(self.common.used)

    @property
    def used(self):
        everyone = np.all([self.own[t].used for t in self.here], axis=0)
        return np.append(everyone, False)

    @property
    def first_uses(self):
        return self.common.first_uses

    @property
    def spent(self):
        return self.common.spent

    def price(self, j):
        if j == self.column:
            is_free = self.task_split_penalty > 0 or self.has_entered[0]
            return self.task_split_penalty if is_free else self.mu_group
        total = self.mu_group * self.common.price(j)
        for t in self.here:
            total += self.shares[t] * self.mu_tasks[t] * self.own[t].price(j)
        return total

    def may_use(self, j):
        return self.task_split_penalty < 1 if j == self.column else self.common.may_use(j)

    def take(self, j):
        if j == self.column:
            self.has_entered[0] = True
            return
        self.common.take(j)
        for t in self.here:
            self.own[t].take(j)

    def parted(self, j, split):
        if j != self.column:
            return self, self
        left = [t for t in self.here if self.codes[t] in split.left_set]
        right = [t for t in self.here if self.codes[t] not in split.left_set]
        return replace(self, here=left), replace(self, here=right)


def categories(rows_of):
    """The category of each task: large tasks first, the earlier of equals; 255 at the most."""
    order = sorted(range(len(rows_of)), key=lambda t: (-len(rows_of[t]), t))
    return [min(order.index(t), 254) for t in range(len(rows_of))]


def boost_common(
    table, rows_of, loss, prices, keep, mu_group, mu_tasks, train, *, task_split_penalty, params
):
    """Boosted trees of all tasks, and the features of each.

    table is (codes, n_bins, is_categorical, target, weight) of all rows, rows_of[t] are those of
    task t, train those that train; task_split_penalty is a share of T / n; params are those of the
    trees.
    """
    codes, n_bins, is_categorical, target, weight = table
    params = dict(params)
    of_task, task = categories(rows_of), np.zeros(len(target), int)
    for t, rows in enumerate(rows_of):
        task[rows] = of_task[t]
    trains = np.isin(np.arange(len(target)), train)
    rows_that_train = [[i for i in rows if trains[i]] for rows in rows_of]
    counted = [weight[rows].sum() for rows in rows_that_train]
    # Whole weights count rows; others are relative, as if scaled to a mean of one.
    n_rows = sum(counted) if np.all(weight[train] == np.floor(weight[train])) else len(train)
    budgets = [params.pop(name) for name in ("max_features", "cost_budget")]
    limits = [np.inf if budget is None else budget for budget in budgets]

    def feature_use(*limits):
        return FeatureUse(keep.copy(), prices, *limits)

    node = NodeFeatureUse(
        feature_use(*limits),
        [feature_use(np.inf, np.inf) for _ in rows_of],
        mu_group,
        mu_tasks,
        [w / sum(counted) for w in counted],
        of_task,
        task_split_penalty * len(rows_of) / n_rows,
        list(range(len(rows_of))),
        [False],
    )
    fit = boost(
        np.column_stack([codes, task])[train],
        np.append(n_bins, task.max() + 1),
        np.append(is_categorical, True),
        target[train],
        weight[train],
        loss,
        penalty=1.0,
        feature_use=node,
        **params,
    )
    everyone = set(np.flatnonzero(node.common.used).tolist())
    sets = [
        everyone if mu == 0 else set(np.flatnonzero(own.used).tolist())
        for own, mu in zip(node.own, mu_tasks, strict=True)
    ]
    return fit, sets
