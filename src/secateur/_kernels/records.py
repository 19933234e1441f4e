"""Codes of binned values, and the two formats of binned columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

N_CODES = 256  # distinct values of one uint8 code
MISSING = 255  # the code of a missing value; values themselves have the codes 0 .. 254
MAX_BINS = 255  # the largest number of bins of a column


class DenseCodes(NamedTuple):
    """Codes of every cell, feature-major: ``codes[j, i]`` of feature j and row i."""

    codes: npt.NDArray[np.uint8]


class SparseCodes(NamedTuple):
    """Codes of the stored cells alone; all others have the column's ``zero_code``.

    Stored twice: by column for splits, and by row for histograms. There a cell is its position in
    a node's histogram, ``row_bins`` = offset of its feature + its bin.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint8]
    zero_code: npt.NDArray[np.uint8]
    row_start: npt.NDArray[np.int64]
    row_bins: npt.NDArray[np.uint32]
