"""Random subsets of new features for each tree, biased by the gains that features had before.

The future work of Xu, Huang, Weinberger and Zheng (KDD 2014): "restrict the search to random
subsets of new features", with "the sampling probability of a feature" biased "by its splitting
value from previous iterations".
"""

from __future__ import annotations

import numpy as np

from secateur.typing import BoolArray, FloatArray

FLOOR = 0.1  # of the mean gain: what every feature has at least, so that none is given up


class FeatureSample:
    """Draws features in proportion to their last gain at a root; those in use always take part."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._gain: FloatArray = np.empty(0)

    def draw(self, used: BoolArray, usable: BoolArray, seed: int) -> BoolArray:
        """The features of one tree, as a mask: those in use, and a share of the new ones."""
        if not len(self._gain):
            self._gain = np.full(len(used), np.nan)
        new = np.flatnonzero(usable & ~used)
        gain, is_known = self._gain[new], ~np.isnan(self._gain[new])
        mean = float(gain[is_known].mean()) if is_known.any() else 0.0
        if not mean > 0.0:
            gain, mean = np.ones(len(new)), 1.0
        chance = np.where(np.isnan(gain), mean, gain) + FLOOR * mean
        # the largest log(u) / chance: a draw without replacement (Efraimidis and Spirakis)
        key = np.log(np.random.default_rng(seed).random(len(new))) / chance
        n_drawn = int(np.ceil(self._share * len(new)))
        mask = used.copy()
        mask[new[np.argsort(-key, kind="stable")[:n_drawn]]] = True
        return mask

    def note(self, gain: FloatArray) -> None:
        """The gains of the features that were looked at in the root; -1 for others."""
        self._gain = np.where(gain >= 0.0, gain, self._gain)
