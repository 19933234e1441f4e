"""Nodes of a growing tree, siblings together, and what is known of their splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from secateur._kernels.scanning import LOW
from secateur.typing import BoolArray, FloatArray, IntArray


@dataclass(slots=True, eq=False)
class Node:
    """A node while its tree grows: what is known of each feature's best split in it.

    ``gain[j]`` is dSSE, ``split[j]`` = (last position of the left side, missing left, packed left
    sum); both are valid where the family knows feature j. ``divisible[j]`` is whether any split of
    the node or below it can use feature j. ``total`` is the packed sum of the rows, ``slot`` the
    place of the histogram in the store, ``left`` the number of the left child, or -1.
    """

    number: int
    depth: int
    total: int
    gain: FloatArray
    split: IntArray
    divisible: BoolArray
    slot: int = -1
    feature: int = -1
    left: int = -1

    @property
    def weight(self) -> int:
        """The integer weight of the rows."""
        return self.total & LOW


@dataclass(slots=True, eq=False)
class Family:
    """The two children of a split, or the root alone: always evaluated together.

    ``known`` are the features evaluated so far, ``listed`` the same without those that no node here
    could be split on, if they were evaluated in one go. ``parent`` is the node that was split, and
    ``inherited`` are the features whose histograms of it are in ``parent_slot``.
    """

    nodes: list[Node]
    known: BoolArray | None = None
    listed: IntArray | None = None
    parent: Node | None = None
    parent_slot: int = -1
    inherited: BoolArray | None = None

    @property
    def smaller(self) -> Node:
        """The lighter of the two, the left one of equals."""
        left, right = self.nodes
        return left if left.weight <= right.weight else right

    @property
    def larger(self) -> Node:
        """The other one."""
        left, right = self.nodes
        return right if left.weight <= right.weight else left


class Offer(NamedTuple):
    """Features to be evaluated, as a mask and as a list; one and the same while nothing changes."""

    mask: BoolArray
    features: IntArray
