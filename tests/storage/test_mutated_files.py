"""One table written in many ways: each file is read as the same numbers and names."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma

import numpy as np
import pytest

from secateur.storage.reading.dataset import Roles, make_dataset
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.read_file import read_file

pytest.importorskip("polars")

MISSING = ("", "NA", "nan", "NULL", "N/A", "?", "-", "none")


def cell(value: float, decimal: str, style: str, missing: str) -> str:
    if np.isnan(value):
        return missing
    text = f"{value:.2f}"
    if style == "exponent":
        text = f"{value:.8e}"
    elif style == "thousands":
        text = f"{value:,.2f}"
        if decimal == ",":
            text = text.replace(",", "~").replace(".", ",").replace("~", ".")
        return text
    elif style == "currency":
        text = f"-${-value:.2f}" if value < 0 else f"${value:.2f}"
    elif style == "plus" and value > 0:
        text = "+" + text
    elif style == "spaces":
        text = f"  {text} "
    return text.replace(".", decimal)


def write(folder, seed):
    """A file, and the numbers and names in it."""
    rng = np.random.default_rng(seed)
    n_rows = rng.choice([12, 20, 30, 60])
    X = (rng.normal(size=(n_rows, 4)) * [1.0, 50.0, 20_000.0, 3.0]).round(2)
    X[rng.random(X.shape) < rng.choice([0.0, 0.15])] = np.nan
    X[:2] = [[1.5, -20.25, 12_345.67, 0.5], [-2.5, 30.75, -23_456.78, -1.25]]
    delimiter, decimal = [(",", "."), (";", "."), (";", ","), ("\t", "."), ("|", ".")][
        rng.integers(5)
    ]
    missing = str(rng.choice(MISSING))
    styles = rng.choice(
        ["plain", "plain", "exponent", "thousands", "currency", "plus", "spaces"], size=4
    )
    names = [["a", "b", "c", "d"], ["2019", "x y", "Größe", "d"], ["0", "1", "2", "y"]][
        rng.integers(3)
    ]
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC][rng.integers(3)]
    out = io.StringIO(newline="")
    end = str(rng.choice(["\n", "\r\n"]))
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    target = np.where(np.arange(n_rows) % 3 == 0, "yes", "no")
    writer.writerow([*names, "label"])
    for row, label in zip(X, target, strict=True):
        cells = [cell(x, decimal, style, missing) for x, style in zip(row, styles, strict=True)]
        writer.writerow([*cells, label])
    text = out.getvalue()
    text = text if rng.random() < 0.5 else text.rstrip("\r\n")
    text = "# exported\n" + text if rng.random() < 0.2 else text
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    content = text.encode(encoding)
    suffix, squeeze = [
        ("", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
    ][rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])]
    file = folder / f"{'tsv' if delimiter == chr(9) else 'table'}.csv{suffix}"
    file.write_bytes(squeeze(content))
    what = (seed, delimiter, decimal, missing, list(styles), names, quoting, end, encoding, suffix)
    return file, X, names, what


def check(folder, seed):
    file, X, names, what = write(folder, seed)
    data = make_dataset(read_file(file, ReadOptions(names=("label",))), Roles(target="label"))
    assert list(data.features.names) == names, (what, data.notes)
    found = np.asarray(data.features.X, dtype=float)
    np.testing.assert_allclose(found, X, rtol=1e-12, err_msg=str(what))
    assert sorted(set(data.y)) == ["no", "yes"], what
    file.unlink()


def test_some_ways_to_write_a_table(tmp_path):
    for seed in range(40):
        check(tmp_path, seed)


@pytest.mark.slow
def test_many_ways_to_write_a_table(tmp_path):
    for seed in range(1_000, 4_000):
        check(tmp_path, seed)
