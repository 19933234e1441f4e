"""Naive default of several tasks: three ways, each along its grid, of which held-out rows keep one.

The ways are trees of each task's own (Eq. 2), and trees in common in which the task costs once,
or splits by task have a penalty. All are evaluated on the same rows; what loses more than the
best by more than a standard error of the difference, row by row, is out; of the others the first is
kept.
"""

from dataclasses import dataclass

import numpy as np
from reference.boosted import MISSING, FeatureUse, Params, Table, Tree
from reference.common_trees import boost_common, categories
from reference.multitask import boost_tasks

N_PENALTIES, TOP, BOTTOM, GRID_PATIENCE = 8, 0.25, 0.002, 2


@dataclass
class Tasks:
    """Rows of several tasks.

    tables[t] and whole are (codes, n_bins, is_categorical, target, weight), each with bins of its
    own; rows_of[t] are the places of a task's rows in the whole; train and test are such places.
    """

    tables: list
    whole: tuple
    rows_of: list
    loss: object
    unit: list
    prices: object
    keep: np.ndarray
    train: np.ndarray
    test: np.ndarray
    n_rounds: int
    rate: float
    patience: int
    params: dict
    limits: dict

    def parts(self, rows):
        """Of each task, which of its rows are among some."""
        return [np.flatnonzero(np.isin(its, rows)) for its in self.rows_of]

    @property
    def validation_rows(self):
        """The validation rows, task after task."""
        parts = self.parts(self.test)
        return [its[part] for its, part in zip(self.rows_of, parts, strict=True)]

    @property
    def weight(self):
        return self.whole[4][np.concatenate(self.validation_rows)]


def leaf(nodes, row, is_categorical):
    """The value that a row comes to."""
    node = nodes[0]
    while node.feature >= 0:
        code = row[node.feature]
        if code == MISSING:
            is_left = node.missing_left
        elif is_categorical[node.feature]:
            is_left = code in node.left_set
        else:
            is_left = code <= node.bin
        node = nodes[node.left if is_left else node.right]
    return node.value


def raws(rounds, baseline, codes, is_categorical, rate):
    """The raw predictions of some rows, after each round."""
    raw, found = np.repeat(baseline[:, None], len(codes), axis=1), []
    for trees in rounds:
        for k, nodes in enumerate(trees):
            raw[k] += [rate * leaf(nodes, row, is_categorical) for row in codes]
        found.append(raw.copy())
    return found


# ---- the ways ------------------------------------------------------------------------------------


def own_penalty(group):
    """A task's own penalty is that of the group; together they are at most 0.999."""
    return min(group, max(0.0, 0.999 - group))


def own_trees(tasks, penalty, n_rounds):
    """Eq. 2: held-out losses of each round, and the features of each task after the last."""
    trained = [
        (codes[part], n_bins, kinds, target[part], weight[part])
        for (codes, n_bins, kinds, target, weight), part in zip(
            tasks.tables, tasks.parts(tasks.train), strict=True
        )
    ]
    rounds, everyone, used = boost_tasks(
        trained,
        [tasks.loss] * len(trained),
        tasks.prices,
        tasks.keep,
        penalty,
        [own_penalty(penalty)] * len(trained),
        n_rounds=n_rounds,
        learning_rate=tasks.rate,
        tree_params={**tasks.params, **tasks.limits},
    )
    losses = []
    for t, part in enumerate(tasks.parts(tasks.test)):
        codes, _, kinds, target, _ = tasks.tables[t]
        baseline = tasks.loss.baseline(trained[t][3], trained[t][4])
        own = [trees[t] for trees in rounds]
        raw = raws(own, baseline, codes[part], kinds, tasks.rate)
        losses.append([tasks.loss.pointwise(target[part], each) / tasks.unit[t] for each in raw])
    kept = set(np.flatnonzero(tasks.keep).tolist())
    if own_penalty(penalty) == 0:  # then a task has the features of all
        used = [everyone] * len(used)
    return [np.concatenate(each) for each in zip(*losses, strict=True)], [
        kept | set(its) for its in used
    ]


def common_trees(task_split_penalty):
    """One model of all tasks: the same of it."""

    def way(tasks, penalty, n_rounds):
        codes, _, kinds, target, weight = tasks.whole
        params = {"n_rounds": n_rounds, "learning_rate": tasks.rate, **tasks.params, **tasks.limits}
        fit, sets = boost_common(
            tasks.whole,
            tasks.rows_of,
            tasks.loss,
            tasks.prices,
            tasks.keep,
            penalty,
            [own_penalty(penalty)] * len(tasks.rows_of),
            tasks.train,
            task_split_penalty=task_split_penalty,
            params=params,
        )
        baseline = tasks.loss.baseline(target[tasks.train], weight[tasks.train])
        losses = []
        for t, code in enumerate(categories(tasks.rows_of)):
            rows = tasks.validation_rows[t]
            row_codes = np.column_stack([codes[rows], np.full(len(rows), code)])
            raw = raws(fit.rounds, baseline, row_codes, np.append(kinds, True), tasks.rate)
            losses.append([tasks.loss.pointwise(target[rows], r) / tasks.unit[t] for r in raw])
        return [np.concatenate(each) for each in zip(*losses, strict=True)], sets

    return way


# ---- a grid, and the choice ----------------------------------------------------------------------


def best_gain(table, tasks):
    """What one split explains at the start, for features of middling price."""
    table = Table(*table)
    raw = np.repeat(tasks.loss.baseline(table.target, table.w)[:, None], len(table.w), axis=1)
    g, h = np.empty_like(raw), np.empty_like(raw)
    tasks.loss.gradients(table.target, raw, g, h)
    tree = Tree(table, Params("agbm", 0.0, **tasks.params), g[0], h[0], table.target - raw[0], None)
    free = FeatureUse(tasks.keep.copy(), tasks.prices, np.inf, np.inf)
    found = tree.choose(np.arange(len(table.w)), free) if tree.has_signal else None
    asked = np.array([free.price(j) for j in range(len(tasks.keep))])
    typical = asked[asked > 0].mean() if (asked > 0).any() else 1.0
    return 0.0 if found is None else found[3] / tree.sse_root / typical


def penalties(tasks, top):
    """A grid, after a penalty so high that nothing is selected."""
    if top <= 0:
        return [0.0]
    asked = tasks.prices(tasks.keep)
    asked = asked[asked > 0] if (asked > 0).any() else np.ones(1)
    none = min(40 * asked.mean() / asked.min() * TOP * top, 0.999 / min(1.0, asked.min()))
    return [none, *np.geomspace(TOP * top, BOTTOM * top, N_PENALTIES)]


def follow(tasks, way, top):
    """(penalty, rounds, held-out losses, features of each task), penalty after penalty."""
    steps, best_means = [], []
    for penalty in penalties(tasks, top):
        curve, _ = way(tasks, penalty, tasks.n_rounds)
        means = [np.average(losses, weights=tasks.weight) for losses in curve]
        best = 0
        for k, mean in enumerate(means):
            if mean < means[best]:
                best = k
            elif k - best >= tasks.patience:
                break
        steps.append((penalty, best + 1, curve[best], way(tasks, penalty, best + 1)[1]))
        if best_means or any(steps[-1][3]):  # patience begins with the first features
            best_means.append(min([means[best], *best_means[-1:]]))
        if len(best_means) > GRID_PATIENCE and best_means[-1] >= best_means[-1 - GRID_PATIENCE]:
            break
    return steps


def choose(held_losses, weight):
    """Which of some models is kept, given the losses of the same rows by each."""
    means = [np.average(losses, weights=weight) for losses in held_losses]
    best = int(np.argmin(means))
    for number, losses in enumerate(held_losses):
        d = losses - held_losses[best]
        # whole weights count rows: two rows say more than one row that counts twice
        heavy = weight if np.all(weight == np.floor(weight)) else weight**2
        spread = np.sqrt(np.sum(heavy * (d - np.average(d, weights=weight)) ** 2)) / weight.sum()
        if number == best or means[number] - means[best] <= spread:
            return number
    raise AssertionError("the best is near itself")


def default(tasks):
    """The number of the way that is kept, and the steps of each."""
    each = np.median([best_gain(table, tasks) for table in tasks.tables])
    everyone = best_gain(tasks.whole, tasks)
    paths = [
        follow(tasks, own_trees, each),
        follow(tasks, common_trees(0.0), everyone),
        follow(tasks, common_trees(1.0), everyone),
    ]

    def mean(step):
        union = set().union(*step[3])
        return np.average(step[2], weights=tasks.weight), len(union)

    best = [min(steps, key=mean) for steps in paths]
    return choose([step[2] for step in best], tasks.weight), paths
