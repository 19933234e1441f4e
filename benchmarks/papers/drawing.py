"""Pictures of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np


@contextmanager
def subplots(
    picture: Path,
    n_rows: int,
    n_columns: int,
    *,
    width: float = 4.0,
    height: float = 3.0,
    **more: Any,
) -> Iterator[Any]:
    """The axes of a picture, row by row; it is written at the end."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (width * n_columns, height * n_rows)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **more
    )
    try:
        yield np.ravel(axes)
        figure.savefig(picture, dpi=90)
    finally:
        plt.close(figure)
