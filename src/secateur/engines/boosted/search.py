"""Which split a node takes: the features evaluated, each paying its price."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._kernels.splitting import pick_feature
from secateur.engines.boosted.feature_use import Ledger
from secateur.engines.boosted.nodes import Family, Node, NodeHistograms, Offer
from secateur.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class TreeScale:
    """What one tree's gains are measured by.

    ``unit`` divides dSSE (SSE of the root for A-GBM, 2 for GBFS); ``floor`` is the least dSSE that
    is not rounding.
    """

    unit: float
    penalty: float
    floor: float


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What a node was found to do, and what was for sale at that moment.

    ``feature`` is -1 for a leaf; ``priced_gain`` is what the choice is worth.
    """

    node: Node
    feature: int
    priced_gain: float
    is_purchase: bool
    prices: FloatArray
    allowed: BoolArray


class ExactSearch:
    """Evaluates every admissible feature in every node.

    Where a tree is begun with ``only`` some features, all others are left out as if they were not
    for sale.
    """

    def __init__(self, histograms: NodeHistograms, ledger: Ledger, divisible: IntArray) -> None:
        self.histograms = histograms
        self.ledger = ledger
        self.is_divisible: BoolArray = np.zeros(len(ledger.used), np.bool_)
        self.is_divisible[divisible] = True
        self.scale = TreeScale(1.0, 0.0, 0.0)
        self.decisions: list[Decision] = []
        self._only: BoolArray | None = None
        self._offer = Offer(np.zeros(0, np.bool_), np.zeros(0, np.int64))

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """A new tree, with its own unit of gain."""
        self.scale = scale
        self.decisions = []
        self._only = only
        self.ledger.begin_tree()
        self._renew_offer()

    def skip_tree(self) -> None:
        """A tree was grown by somebody else; nothing to remember."""

    def _renew_offer(self) -> None:
        """The features that a split may use now; the same object while they are the same."""
        mask = self._offered()
        if not np.array_equal(mask, self._offer.mask):
            self._offer = Offer(mask, np.flatnonzero(mask))

    def _offered(self) -> BoolArray:
        """The features that are evaluated in every node."""
        mask: BoolArray = self.ledger.allowed & self.is_divisible
        return mask if self._only is None else mask & self._only

    def evaluate(self, families: list[Family]) -> None:
        """Evaluate what the nodes of some families need."""
        least = 2 * int(self.histograms.least)
        self.histograms.evaluate(
            [
                family
                for family in families
                if family.known is not self._offer.mask
                and any(node.weight >= least for node in family.nodes)
            ],
            self._offer,
        )

    def _choices(self, family: Family, node: Node) -> IntArray:  # noqa: ARG002  # others need it
        """The features that a node may choose from, all of them evaluated in it."""
        if family.known is not self._offer.mask:
            # A purchase has changed what is admissible.
            self.evaluate([family])
        return self._offer.features if family.listed is None else family.listed

    def choose(self, family: Family, node: Node) -> int | None:
        """The feature that a node splits on at the prices of this moment, or None for a leaf.

        The choice is booked: a new feature is bought.
        """
        choices = self._choices(family, node)
        scale, purse = self.scale, self.ledger.at(node.number)
        feature, priced_gain = pick_feature(
            choices,
            node.gain,
            purse.used,
            purse.prices,
            scale.penalty,
            scale.unit,
            scale.floor,
        )
        is_purchase = feature >= 0 and not purse.used[feature]
        self.decisions.append(
            Decision(node, feature, priced_gain, is_purchase, purse.prices, self.ledger.allowed)
        )
        if is_purchase:
            purse.use(feature)
            self._renew_offer()
        return int(feature) if feature >= 0 else None
