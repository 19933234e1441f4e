"""What fits that predict the same rows tell each other: predictions so far."""

from __future__ import annotations

from secateur._execution.blocks import RowBlock
from secateur.typing import FloatArray, IntArray


def tell_predictions(block: RowBlock) -> FloatArray:
    """The raw predictions of all rows of a block, training or not: (n_outputs, n_rows)."""
    return block.raw


def take_over(block: RowBlock, place: IntArray, raw: FloatArray) -> None:
    """Go on from the predictions of others; also where the fit has yet to begin."""
    block.raw[:, place] = raw
    if block.offset is not None:
        block.offset[:, place] = raw
