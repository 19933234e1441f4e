"""What was tried in a round of forward selection, and what of it is told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """The candidates of a round with their scores, and the winner among them.

    ``rank`` is the winner's place in the ranking, ``gain`` what it adds to the score.
    """

    candidates: IntArray
    scores: FloatArray
    best: int
    folds: FloatArray
    gain: float
    rank: int

    @property
    def feature(self) -> int:
        """The winner."""
        return int(self.candidates[self.best])


def tried_details(tried: Tried) -> dict[str, Any]:
    """Facts for a step; lists become words, since details hold plain values only."""
    return {
        "rank": tried.rank,
        "gain": tried.gain if math.isfinite(tried.gain) else None,
        "n_tried": len(tried.candidates),
        "tried": " ".join(str(int(feature)) for feature in tried.candidates),
        "tried_scores": " ".join(f"{score:.6g}" for score in tried.scores),
    }


def read_tried(details: Mapping[str, Any]) -> tuple[IntArray, FloatArray]:
    """The candidates of a step and their scores, from its details.

    >>> read_tried({"tried": "4 2", "tried_scores": "0.5 0.75"})
    (array([4, 2]), array([0.5 , 0.75]))
    """
    features = np.array(str(details.get("tried", "")).split(), dtype=np.int64)
    return features, np.array(str(details.get("tried_scores", "")).split(), dtype=np.float64)
