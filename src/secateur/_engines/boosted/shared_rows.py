"""What fits that predict the same rows tell each other: predictions so far."""

from __future__ import annotations

import numpy as np

from secateur._execution.blocks import RowBlock
from secateur.typing import FloatArray, IntArray


def tell_predictions(block: RowBlock) -> FloatArray:
    """The raw predictions of all rows of a block, training or not: (n_outputs, n_rows)."""
    return block.raw


def take_over(block: RowBlock, place: IntArray, raw: FloatArray) -> None:
    """Go on from the predictions of others at some rows of the whole table, which are sorted.

    Also where the fit has yet to begin.
    """
    first = block.first_row
    start, stop = np.searchsorted(place, [first, first + block.columns.n_rows])
    inside, its_raw = place[start:stop] - first, raw[:, start:stop]
    block.raw[:, inside] = its_raw
    if block.offset is not None:
        block.offset[:, inside] = its_raw
