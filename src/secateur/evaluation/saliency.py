"""How good a set of features is where the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.exceptions import InputError


def saliency(selected: Any, informative: Any, copies: Any = None) -> float:
    r"""The saliency of a selection (Section 4.3 of Perkins, Lacker and Theiler, JMLR 2003).

    ``n_g / n_r + n_g / n_f - 1``: the share of the informative features that was found, plus the
    share of the found that is informative, less one. 1 if exactly the informative features are
    selected, about 0 if all of them are among many others, -1 if none of them is.

    Parameters
    ----------
    selected : array of int, or mask of bool
        The features that were selected, ``n_f`` of them.
    informative : array of int
        The informative features, ``n_r`` of them.
    copies : array of int, optional
        ``copies[j]`` is the informative feature that feature j is, or is a copy of; -1 for
        others. A feature then counts as found if it or a copy of it is selected, once.

    Examples
    --------
    >>> saliency([0, 1], informative=[0, 1])
    1.0
    >>> saliency([0, 1, 7, 8], informative=[0, 1])
    0.5
    >>> saliency([7], informative=[0, 1])
    -1.0
    """
    chosen = np.asarray(selected)
    chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else np.unique(chosen)
    wanted = np.unique(np.asarray(informative))
    if wanted.size == 0:
        raise InputError(
            "'informative' must name at least one feature. Got none. Give the true features."
        )
    if chosen.size == 0:
        return -1.0
    good = chosen.astype(np.int64)
    if copies is not None:
        good = np.unique(np.asarray(copies, dtype=np.int64)[good])
    n_good = int(np.isin(good, wanted).sum())
    return n_good / wanted.size + n_good / chosen.size - 1.0
