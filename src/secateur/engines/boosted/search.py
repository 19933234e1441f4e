"""Which split a node takes: the candidate with the largest gain minus its penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._kernels.splitting import pick_feature
from secateur.engines.boosted.feature_use import FeatureUse
from secateur.engines.boosted.nodes import Candidates, Node, NodeHistograms, Siblings
from secateur.engines.boosted.params import TreeScale
from secateur.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The choice of a node, -1 for a leaf, with its costs and allowed features at that moment."""

    node: Node
    feature: int
    gain: float
    is_first_use: bool
    costs: FloatArray
    allowed: BoolArray


class ExactSearch:
    """Evaluates every allowed feature in every node; in drafts, ``only`` some of them."""

    def __init__(
        self, histograms: NodeHistograms, feature_use: FeatureUse, divisible: IntArray
    ) -> None:
        self.histograms = histograms
        self.feature_use = feature_use
        self.is_divisible: BoolArray = np.zeros(len(feature_use.used), np.bool_)
        self.is_divisible[divisible] = True
        self.scale = TreeScale(1.0, 0.0, 0.0, (1.0, 1.0))
        self.decisions: list[Decision] = []
        self._only: BoolArray | None = None
        self._candidates = Candidates(np.zeros(0, np.bool_), np.zeros(0, np.int64))

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """Begin a tree with its own units of gain."""
        self.scale = scale
        self.decisions = []
        self._only = only
        self.feature_use.begin_tree()
        self._update_candidates()

    def skip_tree(self) -> None:
        """A tree was taken over from an earlier fit."""

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
        """Evaluate the candidates in the nodes of a level that can be split."""
        min_weight = 2 * int(self.histograms.min_weight)
        self.histograms.evaluate(
            [
                siblings
                for siblings in level
                if siblings.known is not self._candidates.mask
                and any(node.weight >= min_weight for node in siblings.nodes)
            ],
            self._candidates,
        )

    def _choices(self, siblings: Siblings, node: Node) -> IntArray:  # noqa: ARG002  # group tests
        """The features that a node may be split on, all of them evaluated in it."""
        if siblings.known is not self._candidates.mask:
            # A first use has changed the candidates.
            self.evaluate([siblings])
        return self._candidates.features if siblings.listed is None else siblings.listed

    def choose(self, siblings: Siblings, node: Node) -> int | None:
        """The feature that a node is split on at the current costs, or None for a leaf."""
        choices = self._choices(siblings, node)
        scale, node_costs = self.scale, self.feature_use.at_node(node.number)
        feature, gain = pick_feature(
            choices,
            node.gain,
            node_costs.used,
            node_costs.costs,
            scale.penalty,
            scale.unit,
            scale.floor,
        )
        is_first_use = feature >= 0 and not node_costs.used[feature]
        allowed = self.feature_use.allowed
        self.decisions.append(
            Decision(node, feature, gain, is_first_use, node_costs.costs, allowed)
        )
        if is_first_use:
            node_costs.add(feature)
            self._update_candidates()
        return int(feature) if feature >= 0 else None
