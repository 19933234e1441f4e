"""The same table comes out of every format, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
import scipy.sparse as sp

from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import kind_of_file
from secateur.storage.reading.read_file import open_blocks, read_file

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NUMBERS = np.array([[1.5, 2.0], [np.nan, -3.0], [0.25, 1e6]])
COLOURS = ["red", None, "blue"]


def frame():
    return pl.DataFrame({"a": NUMBERS[:, 0], "colour": COLOURS, "b": NUMBERS[:, 1]}).fill_nan(None)


def write(folder, suffix, table=None):
    table = frame() if table is None else table
    file = folder / f"table{suffix}"
    if suffix.startswith((".csv", ".tsv")):
        text = table.write_csv(separator="\t" if suffix.startswith(".tsv") else ",")
        file.write_bytes(packed(text.encode(), suffix))
    elif suffix.startswith(".parquet"):
        import io

        stream = io.BytesIO()
        table.write_parquet(stream)
        file.write_bytes(packed(stream.getvalue(), suffix))
    else:
        table.write_ipc(file, compression="uncompressed")
    return file


def written(file, text):
    file.write_text(text)
    return file


def packed(content, suffix):
    if suffix.endswith(".gz"):
        return gzip.compress(content)
    if suffix.endswith(".bz2"):
        return bz2.compress(content)
    if suffix.endswith(".xz"):
        return lzma.compress(content)
    if suffix.endswith(".zst"):
        return pa.compress(content, codec="zstd", asbytes=True)
    return content


SUFFIXES = [
    *(".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".tsv", ".tsv.gz"),
    *(".parquet", ".parquet.gz", ".feather"),
]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_table(tmp_path, suffix):
    raw = read_file(write(tmp_path, suffix))
    assert raw.names == ("a", "colour", "b")
    np.testing.assert_array_equal(raw.matrix[:, [0, 2]], NUMBERS)
    assert raw.texts.keys() == {1}
    assert raw.texts[1].to_list() == COLOURS


def test_the_content_tells_the_format_not_the_name(tmp_path):
    file = write(tmp_path, ".parquet").rename(tmp_path / "table.csv")
    assert read_file(file).kind.format == "parquet"
    file = write(tmp_path, ".csv.gz").rename(tmp_path / "plain.csv")
    assert read_file(file).kind.compression == "gz"


@pytest.mark.parametrize(
    ("suffix", "name", "fact"),
    [
        (".parquet", "t.csv", "Parquet"),
        (".feather", "t.parquet", "Feather"),
        (".csv", "t.csv.gz", "not compressed"),
        (".csv.gz", "t.csv", ".gz"),
        (".csv.xz", "t.csv.gz", ".xz"),
    ],
)
def test_where_name_and_content_disagree_it_is_said(tmp_path, suffix, name, fact):
    file = write(tmp_path, suffix).rename(tmp_path / name)
    raw = read_file(file)
    assert name in raw.notes[0]
    assert fact in raw.notes[0]
    np.testing.assert_array_equal(raw.matrix[:, [0, 2]], NUMBERS)
    assert kind_of_file(file).notes == raw.kind.notes == raw.notes[:1]  # in blocks too


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_where_they_agree_nothing_is_said(tmp_path, suffix):
    file = write(tmp_path, suffix)
    assert read_file(file).kind.notes == ()
    assert read_file(file.rename(tmp_path / "unnamed")).kind.notes == ()


def test_libsvm_keeps_the_numbers_of_its_columns(tmp_path):
    file = tmp_path / "a.libsvm"
    file.write_text("1 1:0.5 4:2\n-1 2:1 # a comment\n")
    raw = read_file(file)
    assert raw.names == ("x1", "x2", "x3", "x4")
    np.testing.assert_array_equal(raw.matrix.toarray(), [[0.5, 0, 0, 2], [0, 1, 0, 0]])
    np.testing.assert_array_equal(raw.extra["label"], [1, -1])


def test_libsvm_from_zero_and_without_a_telling_name(tmp_path):
    file = tmp_path / "rows"
    file.write_text("1 0:3 2:1\n2 1:1\n")
    raw = read_file(file)
    assert raw.kind.format == "libsvm"
    assert raw.names == ("x0", "x1", "x2")


def test_npz_dense_with_names_and_sides(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(file, X=np.eye(3, dtype=np.uint8), y=[0, 1, 1], feature_names=["a", "b", "a"])
    raw = read_file(file)
    assert raw.names == ("a", "b", "a (2)")
    assert raw.matrix.dtype == np.float64
    assert raw.extra.keys() == {"y"}


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_npz_sparse_as_scipy_writes_it(tmp_path, kind):
    table = sp.random(5, 4, density=0.4, random_state=0)
    file = tmp_path / "a.npz"
    sp.save_npz(file, kind(table))
    np.testing.assert_array_equal(read_file(file).matrix.toarray(), table.toarray())


# ---- how text is written ----------------------------------------------------------------------


def text_file(folder, text, name="t.csv", encoding="utf-8"):
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_the_delimiter_is_guessed(tmp_path, delimiter):
    lines = ["first", "second", "third"], ["1", "2", "3"], ["4", "5", "6"]
    raw = read_file(text_file(tmp_path, "\n".join(map(delimiter.join, lines))))
    assert raw.names == ("first", "second", "third")
    np.testing.assert_array_equal(raw.matrix, [[1, 2, 3], [4, 5, 6]])


def test_several_spaces_are_one_delimiter(tmp_path):
    raw = read_file(text_file(tmp_path, "a b\n1   2\n3 4\n"))
    np.testing.assert_array_equal(raw.matrix, [[1, 2], [3, 4]])


def test_a_delimiter_in_quotes_is_text(tmp_path):
    raw = read_file(text_file(tmp_path, 'a,b\n"x, y",1\n"two\nlines",2\n"say ""z""",3\n'))
    assert raw.texts[0].to_list() == ["x, y", "two\nlines", 'say "z"']
    np.testing.assert_array_equal(raw.matrix[:, 1], [1, 2, 3])


def test_names_with_line_breaks_do_not_shift_the_rows(tmp_path):
    raw = read_file(text_file(tmp_path, '"a\nb",c\n1,2\n'))
    assert raw.names == ("a\nb", "c")
    np.testing.assert_array_equal(raw.matrix, [[1, 2]])


def test_without_a_header_columns_are_numbered_and_that_is_said(tmp_path):
    raw = read_file(text_file(tmp_path, "1,red\n2,blue\n"))
    assert raw.names == ("x0", "x1")
    assert raw.n_rows == 2
    assert any("--header" in note for note in raw.notes)


def test_the_user_overrules_the_guesses(tmp_path):
    file = text_file(tmp_path, "1;2\n3;4\n")
    raw = read_file(file, ReadOptions(delimiter=";", header=True))
    assert raw.names == ("1", "2")
    assert raw.n_rows == 1


HEADERS = {
    "years": ("a,2019,2020,y", "1,{},3,{}"),
    "one year": ("a,2019,c,y", "1,{},3,{}"),
    "wavelengths": ("400,402.5,405,kind", "0.{},0.2,0.3,{}"),
    "row names and pandas": (",0,1,2", "r{},0.{},0.2,0.3"),
    "pandas": ("0,1,2,3", "0.{},0.{},0.7,1"),
}


@pytest.mark.parametrize("key", HEADERS)
def test_numbers_may_be_names(tmp_path, key):
    head, line = HEADERS[key]
    lines = [line.format(7 * i % 5, "ab"[i % 2] if "kind" in head else i % 2) for i in range(9)]
    file = written(tmp_path / "t.csv", "\n".join([head, *lines, ""]))
    raw = read_file(file)
    assert raw.names[1:] == tuple(head.split(",")[1:])
    assert raw.n_rows == 9
    assert any("--no-header" in note for note in raw.notes)
    assert read_file(file, ReadOptions(header=False)).n_rows == 10
    np.testing.assert_array_equal(next(open_blocks(file).read()).matrix, raw.matrix)


@pytest.mark.parametrize(
    "lines", ["5.1,3.5,a\n4.9,3.0,b\n4.7,3.2,a\n", "1,x,3\n2,5,x\n3,x,9\n", "1,2,3\n1,2,3\n4,2,9\n"]
)
def test_values_are_not_taken_for_names(tmp_path, lines):
    raw = read_file(written(tmp_path / "t.csv", lines))
    assert raw.names == ("x0", "x1", "x2")
    assert raw.n_rows == 3


def test_the_name_of_the_target_decides_about_the_header(tmp_path):
    file = written(tmp_path / "t.csv", "7,5,6\n1,2,3\n4,5,6\n")
    assert read_file(file).names == ("x0", "x1", "x2")
    assert read_file(file, ReadOptions(names=("5",))).names == ("7", "5", "6")
    assert read_file(file, ReadOptions(header=False, names=("5",))).n_rows == 3


@pytest.mark.parametrize(
    ("top", "names"),
    [
        ("# exported\na,b,c\n", ("a", "b", "c")),
        ("#\n# by, no, one\na,b,c\n", ("a", "b", "c")),
        ("# exported\n", ("x0", "x1", "x2")),
        ("# a,b,c\n", ("a", "b", "c")),
        ("#id,b,c\n", ("#id", "b", "c")),
    ],
)
def test_comments_at_the_top(tmp_path, top, names):
    file = written(tmp_path / "t.csv", f"{top}1,2,3\n4,5,6\n")
    for raw in (read_file(file), next(open_blocks(file).read())):
        assert raw.names == names
        np.testing.assert_array_equal(raw.matrix, [[1, 2, 3], [4, 5, 6]])
    has_comment = "exported" in top or "by" in top
    assert any("comments" in note for note in raw.notes) == has_comment


def test_decimal_commas_are_read_and_said(tmp_path):
    raw = read_file(text_file(tmp_path, "a;b\n1,5;x\n-2,25;y\n"))
    np.testing.assert_array_equal(raw.matrix[:, 0], [1.5, -2.25])
    assert any("decimal commas" in note for note in raw.notes)


def test_row_names_of_r_get_a_column(tmp_path):
    raw = read_file(text_file(tmp_path, "a,b\nr1,1,2\nr2,3,4\n"))
    assert raw.names == ("column 1", "a", "b")
    assert raw.texts.keys() == {0}


def test_missing_values_in_their_many_spellings(tmp_path):
    raw = read_file(text_file(tmp_path, "a,b\n1,NA\nn/a,2\n?, nan\n,NULL\n4,5\n"))
    np.testing.assert_array_equal(raw.matrix[:, 0], [1, np.nan, np.nan, np.nan, 4])
    np.testing.assert_array_equal(raw.matrix[:, 1], [np.nan, 2, np.nan, np.nan, 5])
    assert not raw.texts


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems(tmp_path, end):
    raw = read_file(text_file(tmp_path, end.join(["a,b", "1,2", "3,4", ""])))
    np.testing.assert_array_equal(raw.matrix, [[1, 2], [3, 4]])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    raw = read_file(text_file(tmp_path, "größe,café\n1,né\n2,où\n", encoding=encoding))
    assert raw.names == ("größe", "café")
    assert raw.texts[1].to_list() == ["né", "où"]
    assert any("Windows-1252" in note for note in raw.notes) == (encoding == "cp1252")


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("cp1251", "город,температура,цель"),
        ("koi8-r", "город,температура,цель"),
        ("cp1253", "πόλη,θερμοκρασία,στόχος"),
        ("cp932", "都市,気温,目的"),
        ("gb18030", "城市,温度,目标"),
        ("euc_kr", "도시,온도,목표"),
    ],
)
def test_other_encodings_are_guessed_and_said(tmp_path, encoding, names):
    words = names.split(",")
    lines = [names, *(f"{words[i % 3]},{i},{words[i % 2]}" for i in range(40))]
    raw = read_file(text_file(tmp_path, "\n".join(lines), encoding=encoding))
    assert raw.names == tuple(words)
    assert any("Line 1 " in note and "--encoding" in note for note in raw.notes)


# ---- irregular lines --------------------------------------------------------------------------


def test_blank_lines_are_left_out_and_cells_stay(tmp_path):
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(30, 12)).round(3).astype(object)
    cells[3, 2], cells[4, 2], cells[5, 5], cells[6, 11] = "", "NA", "oops", ""
    cells[:, 7] = rng.choice(["red", "blue", '5" pipe'], 30)
    lines = [",".join(f"c{j}" for j in range(12)), *(",".join(map(str, row)) for row in cells)]
    regular = read_file(text_file(tmp_path, "\n".join(lines).replace('"', "'")))
    irregular = read_file(text_file(tmp_path, "\n \n" + "\n\n".join(lines) + "\n\n\n"))
    np.testing.assert_array_equal(irregular.matrix, regular.matrix)
    assert irregular.texts.keys() == regular.texts.keys() == {5, 7}
    for place, text in irregular.texts.items():
        assert [v and v.replace('"', "'") for v in text] == regular.texts[place].to_list()


def test_a_quote_within_a_cell_is_text(tmp_path):
    raw = read_file(text_file(tmp_path, 'size,n\n5" pipe,1\n"6"" pipe",2\n7" pipe,3\n'))
    assert raw.texts[0].to_list() == ['5" pipe', '6" pipe', '7" pipe']
    np.testing.assert_array_equal(raw.matrix[:, 1], [1, 2, 3])


# ---- wide tables ------------------------------------------------------------------------------


def test_a_hundred_thousand_columns_take_no_data_frame(tmp_path):
    n_columns = 100_000
    lines = [",".join(f"c{j}" for j in range(n_columns))]
    lines += [",".join([str(row)] * n_columns) for row in range(3)]
    raw = read_file(text_file(tmp_path, "\n".join(lines)))
    assert raw.matrix.shape == (3, n_columns)
    np.testing.assert_array_equal(raw.matrix[:, -1], [0, 1, 2])
