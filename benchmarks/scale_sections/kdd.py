"""KDD Cup 99 in the size and shape of the paper: 4,898,431 rows, 122 columns of numbers.

The 10 percent file is drawn from with replacement. Its categories become columns of 0 and 1; the
full file has three services more than these two files, whose columns are empty here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common.data import ROOT
from common.measure import say

N_ROWS = 4_898_431
N_COLUMNS = 122
AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class Files:
    """Where the rows are: arrays for those who want them in memory, Parquet for the store."""

    folder: Path
    n_rows: int

    @property
    def parquet(self) -> Path:
        return self.folder / "train.parquet"


def prepare(folder: Path, n_rows: int) -> Files | None:
    """Write the files; None where the data set is not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = [_load(name) for name in ("kddcup99_10pct", "kddcup99_corrected_test")]
    if parts[0] is None or parts[1] is None:
        return None
    (X, y), (X_test, y_test) = parts
    say(f"writing {n_rows:,} rows")
    rows = np.random.default_rng(0).integers(0, len(y), n_rows)
    whole = np.lib.format.open_memmap(
        folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_rows, N_COLUMNS)
    )
    names = [f"c{j}" for j in range(N_COLUMNS)]
    writer = None
    for start in range(0, n_rows, AT_ONCE):
        part = X[rows[start : start + AT_ONCE]]
        whole[start : start + AT_ONCE] = part
        table = pa.table(
            {**dict(zip(names, part.T, strict=True)), "y": y[rows[start : start + AT_ONCE]]}
        )
        writer = writer or pq.ParquetWriter(folder / "train.parquet", table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    whole.flush()
    np.save(folder / "y.npy", y[rows])
    np.save(folder / "X_test.npy", X_test)
    np.save(folder / "y_test.npy", y_test)
    return Files(folder, n_rows)


def _load(name: str) -> tuple[Any, Any] | None:
    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    file = folder / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as stored:
        X, sets = stored["X"], stored["categorical"]
        columns = [X[:, ~sets]]
        for j, feature in enumerate(stored["feature_names"]):
            if sets[j]:
                n = len(stored[f"categories_{feature}"])
                columns.append(X[:, j, None] == np.arange(n))
        made = np.concatenate(columns, axis=1).astype(np.float32)
        y = (stored["y_names"][stored["y"]] != "normal").astype(np.int64)
    empty = np.zeros((len(made), N_COLUMNS - made.shape[1]), np.float32)
    return np.concatenate([made, empty], axis=1), y
