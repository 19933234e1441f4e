"""How far a model is trusted: as far as the other rows that judge it bear it out.

A model whose columns were chosen on the rows that trained it is too sure of itself. How much too
sure cannot be told from these rows, only from others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.typing import FloatArray

SHARES: FloatArray = np.concatenate([[0.0], 2.0 ** (np.arange(-10, 1) / 2.0)])
"""Ways from the constant, 0, to what the model says, 1, that are tried."""


def trusted(ladders: Sequence[FloatArray], weights: Sequence[FloatArray]) -> list[FloatArray]:
    """The loss of each row where the model is trusted as far as the other rows advise.

    A row is judged at the share that loses least on all rows but itself, those of all folds
    together: a fold that was predicted badly and with confidence lowers the trust in all of them,
    and no row has a say in how it is judged.

    Parameters
    ----------
    ladders : sequence of arrays of shape (n_shares, n_rows)
        Of each fold, the losses of its rows at each share, from the least trust to the most.
    weights : sequence of arrays of shape (n_rows,)

    Returns
    -------
    losses : list of arrays of shape (n_rows,)
        Of each fold.

    Examples
    --------
    A model that is always sure, and wrong for two rows in ten, is worse than the constant; with an
    eighth of the trust it is better.

    >>> margin = np.repeat([8.0, -8.0], [8, 2])
    >>> ladder = np.logaddexp(0.0, -np.outer([0.0, 0.125, 1.0], margin))
    >>> ladder.mean(axis=1).round(3)
    array([0.693, 0.513, 1.6  ])
    >>> (losses,) = trusted([ladder], [np.ones(10)])
    >>> round(float(losses.mean()), 3)
    0.513
    """
    ladder, weight = np.concatenate(ladders, axis=1), np.concatenate(weights)
    lost = ladder * weight
    share = np.argmin(lost.sum(axis=1, keepdims=True) - lost, axis=0)
    losses = ladder[share, np.arange(ladder.shape[1])]
    return np.split(losses, np.cumsum([each.shape[1] for each in ladders])[:-1])
