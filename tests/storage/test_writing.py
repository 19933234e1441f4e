"""A reduced file has some columns of the first, each cell as it was written."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.read_file import read_file, reduced_file

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")


def reduced(file, columns):
    raw = read_file(file)
    name, content = reduced_file(file, raw, columns, ReadOptions())
    return content, name


def test_cells_of_text_stay_as_they_were_written(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('id,"a;b",c,a\n0012;1,1.50,"x;y",7\n0013,2e3,NA,8\n')
    content, name = reduced(file, [0, 3, 1])
    assert name == "t.selected.csv"
    assert content.decode() == "id,a;b,a\n0012;1,1.50,7\n0013,2e3,8\n"


def test_compression_and_line_ends_stay(tmp_path):
    file = tmp_path / "t.tsv.gz"
    file.write_bytes(gzip.compress(b"a\tb\r\n1\t2\r\n3\t4\r\n"))
    content, name = reduced(file, [1])
    assert name == "t.selected.tsv.gz"
    assert gzip.decompress(content) == b"b\r\n2\r\n4\r\n"


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_types_of_columns_stay(tmp_path, suffix):
    table = pl.DataFrame({"l": [[1], [2]], "a": [1, 2], "b": ["x", "y"], "c": [True, None]})
    file = tmp_path / f"t.{suffix}"
    table.write_parquet(file) if suffix == "parquet" else table.write_ipc(file)
    raw = read_file(file)
    assert raw.names == ("a", "b", "c")
    content, _ = reduced(file, [0, 2])
    (tmp_path / f"u.{suffix}").write_bytes(content)
    read = pl.read_parquet if suffix == "parquet" else pl.read_ipc
    assert read(tmp_path / f"u.{suffix}").equals(table.select("a", "c"))


def test_libsvm_keeps_labels_and_numbers(tmp_path):
    file = tmp_path / "t.libsvm"
    file.write_text("1 1:0.5 4:2\n-1 2:1 3:5\n")
    content, _ = reduced(file, [1, 3])
    lines = [line for line in content.decode().splitlines() if not line.startswith("#")]
    assert lines == ["1 4:2", "-1 2:1"]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_npz_keeps_its_other_arrays(tmp_path, is_sparse):
    X = np.arange(12, dtype=np.uint8).reshape(3, 4)
    file = tmp_path / "t.npz"
    if is_sparse:
        parts = sp.csr_matrix(X)
        np.savez(
            file,
            data=parts.data,
            indices=parts.indices,
            indptr=parts.indptr,
            shape=X.shape,
            y=[0, 1, 2],
        )
    else:
        np.savez(file, X=X, y=[0, 1, 2])
    content, _ = reduced(file, [0, 3])
    (tmp_path / "u.npz").write_bytes(content)
    raw = read_file(tmp_path / "u.npz")
    dense = raw.matrix.toarray() if is_sparse else raw.matrix
    np.testing.assert_array_equal(dense, X[:, [0, 3]])
    np.testing.assert_array_equal(raw.extra["y"], [0, 1, 2])
    assert raw.names == ("x0", "x3")
