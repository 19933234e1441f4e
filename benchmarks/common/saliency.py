"""The saliency of a selection, where the informative features are known."""

from __future__ import annotations

from typing import Any

import numpy as np


def saliency(selected: Any, informative: Any, copies: Any = None) -> float:
    """The saliency of a selection (Section 4.3 of Perkins, Lacker and Theiler, JMLR 2003).

    Recall plus precision, less one: 1 if exactly the informative features are selected, about 0 if
    they are among many others, -1 if none of them is. ``copies[j]`` is the informative feature that
    feature j is, or is a copy of; -1 for others. A feature is found, once, if it or a copy is.
    """
    chosen = np.asarray(selected)
    chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else np.unique(chosen)
    wanted = set(np.asarray(informative).tolist())
    if not wanted:
        raise ValueError(
            "'informative' must name at least one feature. Got none. Give the true features."
        )
    if chosen.size == 0:
        return -1.0
    found = chosen if copies is None else np.asarray(copies)[chosen]
    n_good = len(wanted & set(found.tolist()))
    return n_good / len(wanted) + n_good / chosen.size - 1.0
