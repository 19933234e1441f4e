"""Compare reading of CSV files with polars.read_csv, which does less: it guesses types alone.

./dev bench reading               a wide and a long file, as a table on the console
./dev bench reading --quick       small files, to see that it runs
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from common.command import benchmark
from common.measure import Run, Stopwatch, take_turns
from common.options import Options
from common.table import Section, table

from secateur.storage.reading.read_file import read_file

SHAPES = {"wide": (200, 10_000), "long": (1_000_000, 20)}
LIMIT = 2.0


def write(folder: Path, n_rows: int, n_columns: int) -> Path:
    rng = np.random.default_rng(0)
    file = folder / f"{n_rows}x{n_columns}.csv"
    names = [f"c{j}" for j in range(n_columns)]
    pl.DataFrame(rng.normal(size=(n_rows, n_columns)).round(6), schema=names).write_csv(file)
    return file


def timed(read: Callable[[Path], object], file: Path) -> Run:
    watch = Stopwatch()
    with watch("reading"):
        read(file)
    return Run(watch.stages, 0, lambda _: None)


def run(options: Options) -> Section:
    section, rows = Section("reading"), []
    for name, (full, n_columns) in SHAPES.items():
        n_rows = full // 100 if options.quick and name == "long" else full
        with tempfile.TemporaryDirectory() as folder:
            file = write(Path(folder), n_rows, n_columns)
            readers = {"polars": partial(timed, pl.read_csv), "secateur": partial(timed, read_file)}
            assert np.array_equal(read_file(file).matrix, pl.read_csv(file).to_numpy())
            found = take_turns(
                {who: partial(reader, file) for who, reader in readers.items()},
                2 * options.repeats + 1,
            )
        ours, theirs = found["secateur"].median(), found["polars"].median()
        rows.append([f"{n_rows:,} x {n_columns:,}", theirs, ours, ours / theirs])
        section.aim(f"{name} file, times polars.read_csv", ours / theirs, LIMIT)
    section.add(table(["rows x columns", "polars s", "secateur s", "ratio"], rows))
    return section


if __name__ == "__main__":
    benchmark("reading", {"reading": run}, "Compare reading of CSV files with polars.read_csv.")
