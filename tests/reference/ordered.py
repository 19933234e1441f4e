"""The order of features by correlations, from its definition: one column after the other."""

from __future__ import annotations

import numpy as np


def correlation(one, other, weight):
    """The weighted correlation of two columns; 0 where one is constant."""
    share = weight / weight.sum()
    one, other = one - share @ one, other - share @ other
    scale = np.sqrt((share @ one**2) * (share @ other**2))
    return share @ (one * other) / scale if scale > 1e-12 else 0.0


def closeness(codes, gradient, weight):
    """The larger sum of squared correlations with the gradients: of codes, of their squares."""
    found = []
    for column in codes.astype(float):
        centred = column - np.average(column, weights=weight)
        found.append(
            max(
                sum(correlation(values, g, weight) ** 2 for g in gradient)
                for values in (centred, centred**2)
            )
        )
    return np.array(found)


def entries(close, cost, codes, weight):
    """Features in turn: the largest closeness / cost * (1 - r)^0.5, r that with one before."""
    left, order, worth = [j for j in range(len(close)) if close[j] > 0.0], [], []
    while left:
        values = []
        for j in left:
            r = [abs(correlation(codes[j] * 1.0, codes[k] * 1.0, weight)) for k in order]
            values.append(close[j] / cost[j] * np.sqrt(max(0.0, 1.0 - max(r, default=0.0))))
        best = int(np.argmax(values))
        if values[best] <= 1e-7:
            break
        order.append(left.pop(best))
        worth.append(values[best])
    return order, worth


def held_out(codes, target, weight, fold_of, n_closest):
    """The correlation of a target with sums of columns that are closest to it in other folds."""
    predicted, n_outputs = np.zeros(target.shape), len(target)
    for fold in np.unique(fold_of):
        train = fold_of != fold
        known = weight[train] / weight[train].sum()
        r = np.array(
            [[correlation(c[train] * 1.0, g[train], known) for g in target] for c in codes]
        )
        best = np.argsort(-(r**2).sum(axis=1), kind="stable")[:n_closest]
        for j in best:
            mean = known @ codes[j][train]
            deviation = np.sqrt(known @ (codes[j][train] - mean) ** 2)
            value = (codes[j][~train] - mean) / deviation if deviation > 0.0 else 0.0
            for q in range(n_outputs):
                predicted[q][~train] += r[j, q] * value
    share = weight / weight.sum()
    centred = [(g - share @ g) / np.sqrt(share @ (g - share @ g) ** 2) for g in target]
    return (share * centred * predicted).sum() / np.sqrt((share * predicted**2).sum())


def p_value(codes, gradient, weight, orders, fold_of, n_closest, n_predicting):
    """The p-value of the smallest of three, for permutations that are given; the first is none."""
    found = []
    for order in orders:
        target = gradient[:, order]
        close = np.sort(closeness(codes, target, weight))[::-1]
        of_folds = held_out(codes, target, weight, fold_of, n_predicting)
        found.append((close[0], close[:n_closest].sum(), of_folds))
    statistics = np.round(np.array(found), 9)
    shares = np.array([(statistics >= own).mean(axis=0) for own in statistics])
    least = shares.min(axis=1)
    return (least <= least[0]).mean()
