"""FeatBoost and IIS as the paper writes them: plain numpy, estimators as arguments.

Lines are those of Algorithm 1. What the paper leaves open is settled as in the library: the first
feature has nothing to improve on; a selected feature is no candidate; ties go to the
cheaper feature, then to the better ranked; losses have a floor, so that no ratio is 0 / 0; features
without importance are no candidates; AdaBoost leaves weights after a round no better than chance.
"""

from __future__ import annotations

import numpy as np

FLOOR = 1e-10


def featboost(
    rank,
    losses,
    errors,
    evaluate,
    weight,
    *,
    m,
    p,
    epsilon,
    weighting,
    n_classes,
    reset,
    repeats="skip",
):
    """The features in order of entry, the score after each, and whether a reset led to it.

    ``rank(weight)`` gives importances, ``losses(features)`` and ``errors(features)`` one number
    per row, ``evaluate(features)`` a cross-validated score. Selected features are no candidates
    ("skip"), end the round where they win, as line 8 has it ("end"), or are added again ("add").
    """
    n = len(weight)
    w0 = np.asarray(weight, float)
    w = w0.copy()  # line 1
    alpha_before = np.ones(n) if weighting == "softmax" else 1.0
    X, accuracy, after_reset = [], [], []
    n_resets = 0
    while len(X) < p and n_resets <= 1:  # line 3
        importance = np.asarray(rank(w))  # line 4
        order = [j for j in np.argsort(-importance, kind="stable").tolist() if importance[j] > 0]
        scores = {x: evaluate([*X, x]) for x in order[:m] if repeats != "skip" or x not in X}  # 5
        best, x = -np.inf, None
        for candidate, score in scores.items():  # line 6
            if score > best + 1e-12:
                best, x = score, candidate
        gain = best - (accuracy[-1] if X else -np.inf)  # line 7
        if x is not None and gain > epsilon and (repeats != "end" or x not in X):  # line 8
            X.append(x)  # line 9
            accuracy.append(best)
            after_reset.append(n_resets > 0)
            if weighting == "softmax":  # lines 10 to 14
                alpha = np.maximum(losses(X), FLOOR)
                w = w * (alpha / alpha_before)
                w = w * (w0.sum() / w.sum())
                alpha_before = alpha
            elif weighting == "adaboost":  # Eq. 4.4
                wrong = np.asarray(errors(X)) > 0
                error = w0[wrong].sum() / w0.sum()
                alpha = np.log((1 - error) / error) + np.log(n_classes - 1) if 0 < error < 1 else 0
                if alpha > 1e-12:  # better than chance
                    w = w * np.where(wrong, np.exp(min(alpha / alpha_before, 20.0)), 1.0)
                    w = w * (w0.sum() / w.sum())
                    alpha_before = alpha
            n_resets = 0  # line 15
        else:
            w = w0.copy()  # line 18
            n_resets += 1 if reset else 2  # line 19
    return X, accuracy, after_reset


def iis(rank, evaluate_alone, evaluate, predict, y, *, m, p, epsilon):
    """Appendix 4.A: features in order of entry, and the score after each."""
    target = np.asarray(y, float)
    X, scores = [], []
    while len(X) < p:
        importance = rank(target)
        order = [j for j in np.argsort(-importance, kind="stable").tolist() if importance[j] > 0]
        order = order[:m]
        if not order:
            break
        alone = [evaluate_alone(j, target) for j in order]
        best = max(alone)
        x = next(j for j, score in zip(order, alone, strict=True) if score >= best - 1e-12)
        if x in X:
            break  # selected twice
        score = evaluate([*X, x])
        if scores and not score - scores[-1] > epsilon:
            break  # performance stopped improving
        X.append(x)
        scores.append(score)
        target = target - predict(X, target)  # Eq. 4.3
    return X, scores


def nearest_neighbours(test, train, k):
    """Places of the k nearest training rows; of equals the earlier ones. Columns in order."""
    distance = np.zeros((len(test), len(train)))
    for column in range(test.shape[1]):
        distance = distance + (test[:, column][:, None] - train[:, column][None, :]) ** 2
    return np.argsort(distance, axis=1, kind="stable")[:, :k]


def vote(labels, weights, n_classes):
    """Shares of the classes among neighbours of shape (n_rows, k)."""
    return np.array(
        [
            np.bincount(row, its_weight, n_classes) / its_weight.sum()
            for row, its_weight in zip(labels, weights, strict=True)
        ]
    )
