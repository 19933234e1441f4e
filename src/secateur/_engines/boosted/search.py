"""Which split a node takes: all features evaluated, each paying its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur._engines.boosted.ledger import Ledger
from secateur._engines.boosted.nodes import Family, Node, NodeHistograms
from secateur._engines.boosted.params import NOISE
from secateur.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class TreeScale:
    """What one tree's gains are measured by.

    ``unit`` divides dSSE (SSE of the root for A-GBM, 2 for GBFS); ``floor`` is the least dSSE that is not noise.
    """

    unit: float
    penalty: float
    sse_root: float

    @property
    def floor(self) -> float:
        return NOISE * self.sse_root


class ExactSearch:
    """Evaluates every admissible feature in every node.

    Other searches differ in what they evaluate, never in what they choose from it.
    """

    def __init__(self, histograms: NodeHistograms, ledger: Ledger, varying: IntArray) -> None:
        self.histograms = histograms
        self.ledger = ledger
        self.is_varying: BoolArray = np.zeros(len(ledger.used), np.bool_)
        self.is_varying[varying] = True
        self.scale = TreeScale(1.0, 0.0, 1.0)

    def begin_tree(self, scale: TreeScale) -> None:
        """A new tree, with its own unit of gain."""
        self.scale = scale

    def begin_level(self, families: Sequence[Family]) -> None:
        """Evaluate what all nodes of a level need, together."""
        self.histograms.evaluate(families, np.flatnonzero(self.ledger.allowed & self.is_varying))

    def choose(self, family: Family, node: Node) -> int | None:
        """The feature that a node splits on at the prices of this moment, or None for a leaf."""
        self.complete(family, node)
        priced = self.priced_gains(node)
        best = int(priced.argmax())
        if not priced[best] > 0.0:
            return None
        ties: IntArray = np.flatnonzero(priced == priced[best])
        already_used = ties[self.ledger.used[ties]]
        return int(already_used[0]) if len(already_used) else best

    def complete(self, family: Family, node: Node) -> None:
        """Evaluate what became admissible only now, because a purchase changed the prices."""
        missing = self.ledger.allowed & self.is_varying & ~node.known
        if missing.any():
            self.histograms.evaluate([family], np.flatnonzero(missing))

    def priced_gains(self, node: Node) -> FloatArray:
        """Gains less prices; minus infinity where a feature may not be used or has only noise."""
        scale = self.scale
        priced = node.gain / scale.unit - scale.penalty * self.ledger.prices
        priced[~(node.known & self.ledger.allowed & (node.gain > scale.floor))] = -np.inf
        return priced
