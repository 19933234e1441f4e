"""Naive multitask boosting: Algorithm 1 of Han et al. (2020), with the prices of Eq. 2.

Notation: t task, j feature, k class. Omega_G are the features of all tasks, Omega_t those of one.
"""

from dataclasses import dataclass

import numpy as np
from reference.boosted import FeatureUse, Params, Table, Tree


@dataclass
class TaskFeatureUse:
    """What features cost one task: mu_G if new to all, and mu_t if new to the task."""

    common: FeatureUse
    own: FeatureUse
    mu_group: float
    mu_task: float

    @property
    def used(self):
        return self.own.used

    def price(self, j):
        return self.mu_group * self.common.price(j) + self.mu_task * self.own.price(j)

    def may_use(self, j):
        return bool(self.own.used[j] or self.common.may_use(j))

    def take(self, j):
        self.common.take(j)
        self.own.take(j)

    def parted(self, j, split):
        return self, self


def boost_tasks(
    tables, losses, prices, keep, mu_group, mu_tasks, *, n_rounds, learning_rate, tree_params
):
    """Trees of every round and task, and the first_uses of all and of each.

    tables[t] is the arguments of a Table; tree_params the parameters of the trees, budgets and all.
    """
    tables = [Table(*table) for table in tables]

    def feature_use(max_features=np.inf, cost_budget=np.inf):
        return FeatureUse(keep.copy(), prices, max_features, cost_budget)

    budgets = {name: tree_params.pop(name) for name in ("max_features", "cost_budget")}
    common = feature_use(**{name: np.inf if b is None else b for name, b in budgets.items()})
    feature_uses = [TaskFeatureUse(common, feature_use(), mu_group, mu) for mu in mu_tasks]
    params = Params("agbm", 1.0, **tree_params)
    raws = [
        np.repeat(loss.baseline(table.target, table.w)[:, None], len(table.target), axis=1)
        for table, loss in zip(tables, losses, strict=True)
    ]
    rounds = []
    for _ in range(n_rounds):
        rounds.append([])
        for t, (table, loss) in enumerate(zip(tables, losses, strict=True)):
            g, h = np.empty_like(raws[t]), np.empty_like(raws[t])
            loss.gradients(table.target, raws[t], g, h)
            new, trees = raws[t].copy(), []
            for k in range(loss.n_outputs):
                residual = table.target - raws[t][k]
                tree = Tree(table, params, g[k], h[k], residual, loss.leaf_quantile, loss.max_step)
                nodes, step = tree.grow(feature_uses[t])
                new[k] = raws[t][k] + learning_rate * step
                trees.append(nodes)
            raws[t] = new
            rounds[-1].append(trees)
    return rounds, common.first_uses, [each.own.first_uses for each in feature_uses]
