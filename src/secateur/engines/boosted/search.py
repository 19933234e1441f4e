"""Which split a node takes: the features evaluated, each paying its cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._kernels.splitting import pick_feature
from secateur.engines.boosted.feature_use import FeatureUse
from secateur.engines.boosted.nodes import Candidates, Node, NodeHistograms, Siblings
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

    ``feature`` is -1 for a leaf; ``net_gain`` is what the choice is worth.
    """

    node: Node
    feature: int
    net_gain: float
    is_first_use: bool
    costs: FloatArray
    allowed: BoolArray


class ExactSearch:
    """Evaluates every admissible feature in every node.

    Where a tree is begun with ``only`` some features, all others are left out as if they were not
    for sale.
    """

    def __init__(
        self, histograms: NodeHistograms, feature_use: FeatureUse, divisible: IntArray
    ) -> None:
        self.histograms = histograms
        self.feature_use = feature_use
        self.is_divisible: BoolArray = np.zeros(len(feature_use.used), np.bool_)
        self.is_divisible[divisible] = True
        self.scale = TreeScale(1.0, 0.0, 0.0)
        self.decisions: list[Decision] = []
        self._only: BoolArray | None = None
        self._candidates = Candidates(np.zeros(0, np.bool_), np.zeros(0, np.int64))

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """A new tree, with its own unit of gain."""
        self.scale = scale
        self.decisions = []
        self._only = only
        self.feature_use.begin_tree()
        self._update_candidates()

    def skip_tree(self) -> None:
        """A tree was grown by somebody else; nothing to remember."""

    def _update_candidates(self) -> None:
        """The features that a split may use now; the same object while they are the same."""
        mask = self._candidate_mask()
        if not np.array_equal(mask, self._candidates.mask):
            self._candidates = Candidates(mask, np.flatnonzero(mask))

    def _candidate_mask(self) -> BoolArray:
        """The features that are evaluated in every node."""
        mask: BoolArray = self.feature_use.allowed & self.is_divisible
        return mask if self._only is None else mask & self._only

    def evaluate(self, level: list[Siblings]) -> None:
        """Evaluate what the nodes of some level need."""
        least = 2 * int(self.histograms.least)
        self.histograms.evaluate(
            [
                siblings
                for siblings in level
                if siblings.known is not self._candidates.mask
                and any(node.weight >= least for node in siblings.nodes)
            ],
            self._candidates,
        )

    def _choices(self, siblings: Siblings, node: Node) -> IntArray:  # noqa: ARG002  # others need it
        """The features that a node may choose from, all of them evaluated in it."""
        if siblings.known is not self._candidates.mask:
            # A purchase has changed what is admissible.
            self.evaluate([siblings])
        return self._candidates.features if siblings.listed is None else siblings.listed

    def choose(self, siblings: Siblings, node: Node) -> int | None:
        """The feature that a node splits on at the costs of this moment, or None for a leaf.

        The choice is booked: a new feature is bought.
        """
        choices = self._choices(siblings, node)
        scale, node_costs = self.scale, self.feature_use.at(node.number)
        feature, net_gain = pick_feature(
            choices,
            node.gain,
            node_costs.used,
            node_costs.costs,
            scale.penalty,
            scale.unit,
            scale.floor,
        )
        is_first_use = feature >= 0 and not node_costs.used[feature]
        self.decisions.append(
            Decision(
                node,
                feature,
                net_gain,
                is_first_use,
                node_costs.costs,
                self.feature_use.allowed,
            )
        )
        if is_first_use:
            node_costs.use(feature)
            self._update_candidates()
        return int(feature) if feature >= 0 else None
