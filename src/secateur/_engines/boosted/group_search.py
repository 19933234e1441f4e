"""Search by group tests: used features exactly, newcomers only where a group of them won."""

from __future__ import annotations

import numpy as np

from secateur._engines.boosted.families import Family, Node
from secateur._engines.boosted.group_tests import GroupTests
from secateur._engines.boosted.ledger import Ledger
from secateur._engines.boosted.nodes import NodeHistograms
from secateur._engines.boosted.search import ExactSearch, TreeScale
from secateur.typing import BoolArray, IntArray


class GroupSearch(ExactSearch):
    """Algorithm 2 of GT-GBM as a search.

    Features in use, and those that no sum can have, are evaluated in every node. Of the others a
    node sees those whose groups won their subsets there; the best of them pays its price.
    """

    def __init__(
        self,
        histograms: NodeHistograms,
        ledger: Ledger,
        divisible: IntArray,
        tests: GroupTests,
        alone: BoolArray,
    ) -> None:
        self._tests = tests
        self._alone = alone
        self._for_sale: BoolArray | None = None
        super().__init__(histograms, ledger, divisible)

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """A new tree, with its own unit of gain."""
        super().begin_tree(scale, only)
        self._tests.begin_tree()

    def skip_tree(self) -> None:
        """A tree was grown by somebody else; the next set of partitions has its turn."""
        self._tests.begin_tree()

    def _offered(self) -> BoolArray:
        """The features that every node evaluates: those in use, and those that no sum has."""
        self._for_sale = None
        mask: BoolArray = super()._offered() & (self.ledger.used | self._alone)
        return mask

    def _choices(self, family: Family, node: Node) -> IntArray:
        """Those, and the newcomers whose groups won in this node."""
        known = super()._choices(family, node)
        newcomers = self._newcomers(family, node)
        if len(newcomers) == 0:
            return known
        self.histograms.evaluate_in(node, newcomers)
        return np.union1d(known, newcomers)

    def _newcomers(self, family: Family, node: Node) -> IntArray:
        if self._for_sale is None:
            ledger = self.ledger
            self._for_sale = ledger.allowed & self.is_divisible & ~ledger.used & ~self._alone
        # A node that cannot be split, or a budget that is spent, needs no tests.
        if node.weight < 2 * self.histograms.least or not self._for_sale.any():
            return np.empty(0, np.int64)
        histograms = self.histograms
        found = self._tests.winners(family, node, histograms.unit, histograms.least)
        histograms.count(self._tests.n_tested, node.weight)
        return found[self._for_sale[found]]
