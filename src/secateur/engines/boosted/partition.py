"""Rows of a block to the two sides of the splits of a level, each side in the order it had."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secateur._kernels.partition import split_dense, split_run
from secateur.engines.boosted.trees import WordArray
from secateur.execution.blocks import ROWS_PER_THREAD, RowBlock

MANY_ROWS = 1 << 17
"""A node of so many rows is parted by all threads together."""


class RowSplit(NamedTuple):
    """A node to be parted: its number, its left child's (the right one follows), the question."""

    node: int
    left: int
    feature: int
    words: WordArray


def partition(block: RowBlock, splits: list[RowSplit]) -> None:
    """Part the rows of the nodes, each into its two children."""
    for split in splits:
        block.codes_of(split.feature)
    n_rows = {split.node: np.ptp(block.bounds[split.node]) for split in splits}
    large = [split for split in splits if n_rows[split.node] >= MANY_ROWS]
    for split in large:
        _part_together(block, split)
    small = [split for split in splits if n_rows[split.node] < MANY_ROWS]

    def part(first: int, last: int) -> None:
        for split in small[first:last]:
            start, stop = block.bounds[split.node]
            room = block.spare[start:stop]
            codes = block.codes_of(split.feature)
            middle = split_dense(codes, split.words, block.order, start, stop, room)
            _note_children(block, split, middle)

    busy = len(block.order) > ROWS_PER_THREAD
    block.threads.run(part, len(small), 1 if busy else max(1, len(small)))


def _part_together(block: RowBlock, split: RowSplit) -> None:
    """Part the rows of one node by all threads, each a run of them; their order stays."""
    start, stop = block.bounds[split.node]
    order, spare = block.order, block.spare
    codes = block.codes_of(split.feature)
    runs: list[tuple[int, int, int]] = []

    def part(first: int, last: int) -> None:
        a, b = start + first, start + last
        runs.append((a, b, split_run(codes, split.words, order, a, b, spare[a:b])))

    block.threads.run(part, stop - start, ROWS_PER_THREAD)
    middle = start
    for a, _, end in sorted(runs):
        order[middle : middle + end - a] = order[a:end]
        middle += end - a
    _note_children(block, split, middle)
    for a, b, end in sorted(runs):
        order[middle : middle + b - end] = spare[a : a + b - end]
        middle += b - end


def _note_children(block: RowBlock, split: RowSplit, middle: int) -> None:
    start, stop = block.bounds[split.node]
    block.bounds[split.left] = (start, middle)
    block.bounds[split.left + 1] = (middle, stop)
