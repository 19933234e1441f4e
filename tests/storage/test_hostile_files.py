"""Files that cannot be read are refused in a sentence that says what to do."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.exceptions import InputError, OutOfMemoryError, SecateurError
from secateur.storage.reading import formats
from secateur.storage.reading.csv import CsvFile
from secateur.storage.reading.dataset import Roles, make_dataset
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import kind_of_name
from secateur.storage.reading.read_file import read_file

pytest.importorskip("polars")
pytest.importorskip("pyarrow")


def a_file(folder, content, name="t.csv"):
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


REFUSED = [
    ("t.csv", "", "empty"),
    ("t.csv", "\n \n\n", "empty"),
    ("t.csv", '""', "empty"),
    ("t.csv", "a,b\n", "nothing below"),
    ("t.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n", "2 in line 3"),
    ("t.csv", "a,b,c\n1,2,3\n4,5,6,7\n", "4 in line 3"),
    ("t.csv", b"a,b\n\x00\x01\x02,\xff\n", "must be text"),
    ("t.csv", b"\xff\xfea\x00,", "utf-16"),
    ("t.csv.gz", b"\x1f\x8b\x08\x00broken", "whole gz"),
    ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-12], "whole gz"),
    ("t.csv.bz2", b"BZh91AY&SY" + b"\x00" * 30, "whole bz2"),
    ("t.csv.xz", b"\xfd7zXZ\x00" + b"\x01" * 30, "whole xz"),
    ("t.csv.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 30, "whole zst"),
    ("t.parquet", b"PAR1 and then nonsense PAR1", "parquet"),
    ("t.parquet", b"a,b\n1,2\n", r"parquet file. Got text. Call it \.csv"),
    ("t.parquet", b"", "parquet"),
    ("t.parquet", b"\x00\x01\x02", "parquet"),
    (
        "t.csv",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600,
        "Excel workbook. Save it as CSV",
    ),
    ("t.csv", b"\x89HDF\r\n\x1a\n" + b"\x00" * 60, "HDF5"),
    ("t.csv", b"SQLite format 3\x00" + b"\x00" * 60, "SQLite database"),
    ("t.csv", b"%PDF-1.7 ...", "PDF"),
    ("t.npz", b"\x93NUMPY\x01\x00v\x00{", "savez"),
    ("t.csv", "\n<!DOCTYPE html>\n<html><body>Sign in, please</body></html>", "a web page"),
    ("t.csv.gz", gzip.compress(b"<html></html>", mtime=0), "a web page"),
    ("t.csv", '{"a": [1, 2], "y": [0, 1]}', "JSON"),
    ("t.json", '[\n {"a": 1}, {"a": 2}]', "JSON"),
    ("path.json", '{\n"format": "secateur.path"}', "secateur cut"),
    ("t.feather", b"ARROW1\x00\x00nonsense", "feather"),
    ("t.npz", b"nonsense", "npz"),
    ("t.npz", b"PK\x03\x04nonsense", "NPZ"),
    ("t.libsvm", "1 2:x\n", "LIBSVM"),
    ("t.libsvm", "1\n-1\n", "labels only"),
    ("t.libsvm", "", "empty"),
]


@pytest.mark.parametrize(("name", "content", "reason"), REFUSED)
def test_what_cannot_be_read_is_refused(tmp_path, name, content, reason):
    with pytest.raises(InputError, match=reason) as caught:
        read_file(a_file(tmp_path, content, name))
    assert str(tmp_path) not in str(caught.value)
    assert "Got" in str(caught.value)


def test_the_line_of_a_ragged_row_is_named_in_wide_tables_too(tmp_path):
    head = ",".join(f"c{j}" for j in range(3000))
    good = ",".join(["1"] * 3000)
    with pytest.raises(InputError, match="2999 in line 3"):
        read_file(a_file(tmp_path, f"{head}\n{good}\n{good[:-2]}\n"))


def test_a_ragged_row_is_not_taken_for_a_part_of_another_line(tmp_path):
    rows = "".join(f"{i},1\n" for i in range(10, 50))
    with pytest.raises(InputError, match="1 in line 42"):
        read_file(a_file(tmp_path, f"a,b\n{rows}1\n2,3\n"))


def test_no_file_and_a_folder(tmp_path):
    a_file(tmp_path, "a,b\n1,2\n", "sales.csv")
    with pytest.raises(InputError, match=r"Did you mean 'sales\.csv'"):
        read_file(tmp_path / "sale.csv")
    with pytest.raises(InputError, match="folder"):
        read_file(tmp_path)


def test_a_link_that_leads_nowhere(tmp_path):
    (tmp_path / "t.csv").symlink_to("lost.csv")
    with pytest.raises(InputError, match=r"link.*'lost\.csv'"):
        read_file(tmp_path / "t.csv")


def test_an_array_of_another_length_is_named(tmp_path):
    X = np.arange(12.0).reshape(6, 2)
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(5), column=np.arange(6)[:, None])
    with pytest.raises(InputError, match=r"'y'.*6 rows.*\(5,\)"):
        read_file(tmp_path / "t.npz", ReadOptions(names=("y",)))
    assert list(read_file(tmp_path / "t.npz", ReadOptions(names=("column",))).extra) == ["column"]


def test_a_target_of_two_columns_is_refused(tmp_path):
    file = a_file(tmp_path, "a,y,b,y\n1,2,3,4\n5,6,7,8\n")
    with pytest.raises(InputError, match=r"'y'.*2 columns"):
        read_file(file, ReadOptions(names=("y",)))
    assert "y (2)" in read_file(file).names


def test_objects_are_never_unpickled(tmp_path):
    file = tmp_path / "t.npz"
    np.savez(file, X=np.array([[object()]], dtype=object), y=[1])
    with pytest.raises(InputError, match="plain arrays"):
        read_file(file)


def zipped(**parts):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv", "t.npz"])
def test_the_message_for_excel_says_save_as_csv(tmp_path, name):
    content = zipped(xl__workbook_xml="<workbook/>")
    with pytest.raises(InputError, match=r"Got an Excel workbook\. Save it as CSV"):
        read_file(a_file(tmp_path, content, name))


@pytest.mark.parametrize("name", ["t.zip", "t.csv", "t.csv.zip"])
def test_the_message_for_an_archive_says_unpack(tmp_path, name):
    with pytest.raises(InputError, match=r"an archive with 't\.csv'\. Unpack it"):
        read_file(a_file(tmp_path, zipped(t_csv="a,b\n1,2\n"), name))


def test_a_small_file_that_holds_a_very_large_one_is_left_before_memory_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "available_memory", lambda: 1_000_000)
    file = a_file(tmp_path, gzip.compress(b"0" * 20_000_000), "t.csv.gz")
    with pytest.raises(OutOfMemoryError, match="does not fit"):
        read_file(file)


@pytest.mark.parametrize(("cell", "what"), [(b"a" * 900, "cell"), (b"a," * 3000, "line")])
def test_a_cell_or_line_without_end_is_refused_while_reading(tmp_path, monkeypatch, cell, what):
    monkeypatch.setattr(formats, "CHUNK", 100)
    monkeypatch.setattr(formats, "MAX_CELL", 500)
    monkeypatch.setattr(formats, "MAX_LINE", 5000)
    for name, content in (
        ("t.csv", cell),
        ("t.csv.gz", gzip.compress(cell)),
        ("q.csv", b'"' + cell),
    ):
        with pytest.raises(InputError, match=f"{name}.* {what} of more"):
            read_file(
                a_file(tmp_path, b"a,y\n1,2\n" + content if name == "q.csv" else content, name)
            )
    whole = b"a,y\n" + b"12,34\n" * 3000
    assert read_file(a_file(tmp_path, whole)).n_rows == 3000


def test_reading_is_listened_to(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "CHUNK", 1 << 18)
    file, shares = a_file(tmp_path, "a,y\n" + "12,34\n" * 200_000), []
    with formats.reading_listened(shares.append):
        read_file(file)
    assert shares[-1] == 1
    assert len(set(shares)) > 3


def test_arrays_that_do_not_fit_are_left_before_memory_ends(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 1000)))
    monkeypatch.setattr("secateur.data.memory.available_memory", lambda *_: 2_000_000)
    with pytest.raises(OutOfMemoryError, match=r"t\.npz"):
        read_file(tmp_path / "t.npz")


def test_a_sparse_matrix_whose_parts_do_not_fit(tmp_path):
    file = tmp_path / "t.npz"
    np.savez(file, data=[1.0], indices=[99], indptr=[0, 1], shape=[1, 3], y=[1])
    with pytest.raises(InputError, match="do not"):
        read_file(file)


def test_a_quote_that_is_not_closed(tmp_path):
    lines = "\n".join(f"{i},{i}" for i in range(50_000))
    with pytest.raises(InputError, match=r"quotes|cells"):
        read_file(a_file(tmp_path, f'a,b\n1,"2\n{lines}\n'))


def test_doubled_and_empty_names_get_names_of_their_own(tmp_path):
    raw = read_file(a_file(tmp_path, "a,a,,a (2)\n1,2,3,4\n"))
    assert len(set(raw.names)) == 4
    assert raw.names[0] == "a"
    assert any("share the name 'a'" in note for note in raw.notes)


# ---- a little fuzzing -------------------------------------------------------------------------

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
NAMES = ("t.csv", "t.tsv", "t.libsvm", "t.parquet", "t.npz", "t.csv.gz", "t")


def read_or_refuse(file):
    """A table, or a refusal of ours: nothing else may come out."""
    said = "Got"
    try:
        raw = read_file(file)
        make_dataset(raw, Roles(raw.names[-1]))
    except SecateurError as error:
        said = str(error)
    assert "Got" in said


@settings(max_examples=60)
@given(name=st.sampled_from(NAMES), content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, name, content):
    read_or_refuse(a_file(tmp_path_factory.mktemp("f"), content, name))


@settings(max_examples=60)
@given(rows=st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=6))
def test_any_text_is_read_or_refused(tmp_path_factory, rows):
    text = "\n".join(",".join(row) for row in rows)
    read_or_refuse(a_file(tmp_path_factory.mktemp("f"), text))


@settings(max_examples=40)
@given(
    table=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=2, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t"]),
)
def test_cells_come_back_as_the_csv_module_wrote_them(tmp_path_factory, table, delimiter):
    import csv

    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows([["a", "b", "c"], *table])
    file = a_file(tmp_path_factory.mktemp("f"), stream.getvalue())
    options = ReadOptions(delimiter, header=True, encoding="utf-8")
    opened = CsvFile.open(file, kind_of_name("t.csv"), options)
    cells = [list(row) for frame in opened.cells() for row in frame.fill_null("").iter_rows()]
    assert cells == table
