"""A file read in blocks of rows gives the columns that it gives as a whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secateur.exceptions import InputError
from secateur.storage.reading import columns, formats
from secateur.storage.reading.columns import summarize
from secateur.storage.reading.dialect import NOTHING_SAID, ReadOptions
from secateur.storage.reading.plan import make_plan
from secateur.storage.reading.read_file import open_blocks, read_file

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N_ROWS = 60


def frame():
    """All kinds of columns: words late and early, dates, truth, gaps, numbers as text."""
    rng = np.random.default_rng(0)
    days = [date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 900, N_ROWS)]
    colours = rng.choice(["red", "green", "blue"], N_ROWS).tolist()
    return pl.DataFrame(
        {
            "index": np.arange(N_ROWS),
            "number": [None if i % 7 == 0 else i / 4 for i in range(N_ROWS)],
            "when": days,
            "at": [datetime(2021, 5, 1, 12, i) for i in range(N_ROWS)],  # noqa: DTZ001
            "ok": rng.random(N_ROWS) < 0.5,
            "colour": [None if i == 3 else colour for i, colour in enumerate(colours)],
            "late": [str(i) for i in range(N_ROWS - 4)] + ["b", "c", "d", "e"],
            "stray": [str(i) for i in range(N_ROWS - 1)] + ["oops"],
            "coded": [f"{i % 5:03d}" for i in range(N_ROWS)],
            "person": [f"no {i}" for i in range(N_ROWS)],
            "empty": [None] * N_ROWS,
        },
        schema_overrides={"empty": pl.Float64},
    )


def assert_same(file, n_rows=7, options=NOTHING_SAID):
    """The whole file, and its blocks joined, hold the same and become the same."""
    raw, blocks = read_file(file, options), open_blocks(file, options)
    assert (blocks.names, blocks.notes, blocks.kind) == (raw.names, raw.notes, raw.kind)
    found, asked = summarize(blocks.names, lambda texts: blocks.read(n_rows, texts))
    parts = list(blocks.read(n_rows, asked))
    assert len(parts) > 1 or raw.n_rows <= n_rows
    assert all(part.n_rows <= n_rows for part in parts)
    assert set(found.texts) == set(raw.texts)
    for place, text in raw.texts.items():
        joined = [value for part in parts for value in part.texts[place].to_list()]
        assert joined == text.to_list()
    joined = [part.matrix.toarray() if raw.is_sparse else part.matrix for part in parts]
    whole = raw.matrix.toarray() if raw.is_sparse else raw.matrix
    np.testing.assert_array_equal(np.concatenate(joined), whole)
    for name, side in raw.extra.items():
        np.testing.assert_array_equal(np.concatenate([p.extra[name] for p in parts]), side)
    whole, _ = summarize(raw.names, lambda _: iter([raw]))
    one, other = make_plan(whole, []), make_plan(found, [])
    assert (one.names, one.conversions, one.notes) == (other.names, other.conversions, other.notes)
    return one


def text_of(table, **more):
    return table.write_csv(**more).encode()


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, "": bytes}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".tsv", ".tsv.gz"])
def test_text_in_blocks(tmp_path, suffix):
    separator = "\t" if "tsv" in suffix else ","
    packed = PACK["." + suffix.split(".")[2] if suffix.count(".") > 1 else ""]
    file = tmp_path / f"rows{suffix}"
    file.write_bytes(packed(text_of(frame(), separator=separator)))
    plan = assert_same(file)
    assert "index" not in plan.names  # it only numbers the rows
    assert "person" not in plan.names
    kinds = {plan.names[list(plan.kept).index(p)]: t.kind for p, t in plan.conversions.items()}
    assert kinds["when"] == kinds["at"] == "date"
    assert kinds["ok"] == "boolean"
    assert kinds["colour"] == "category"
    assert kinds["stray"] == "number"


def test_zstd_in_blocks(tmp_path):
    file = tmp_path / "rows.csv.zst"
    file.write_bytes(pa.compress(text_of(frame()), codec="zstd", asbytes=True))
    assert_same(file)


@pytest.mark.parametrize("suffix", [".parquet", ".parquet.gz", ".feather"])
def test_typed_files_in_blocks(tmp_path, suffix):
    rng = np.random.default_rng(1)
    table = frame().with_columns(
        pl.col("colour").cast(pl.Categorical).alias("kind"),
        pl.Series("list", [[1, 2]] * N_ROWS),
        pl.Series("small", rng.integers(0, 9, N_ROWS).astype(np.int8)),
        pl.Series("took", [timedelta(hours=i) for i in range(N_ROWS)]),
    )
    file = tmp_path / f"rows{suffix}"
    stream = io.BytesIO()
    if suffix == ".feather":
        table.write_ipc(stream)
    else:
        table.write_parquet(stream, row_group_size=25)
    file.write_bytes(gzip.compress(stream.getvalue()) if "gz" in suffix else stream.getvalue())
    plan = assert_same(file)
    assert "list" not in plan.names
    assert {"kind", "small", "took", "ok"} <= set(plan.names)


LIBSVM = {
    "from one": "1 1:0.5 4:2\n-1 2:1 # a comment\n1 3:1\n",
    "from zero": "1 0:3 2:1\n2 1:1\n",
    "with queries": "1 qid:1 1:0.5\n2 qid:1 2:1\n3 qid:2 3:1\n",
    "a row without values": "1 1:1\n0\n1 2:4\n",
    "no end of line": "1 1:1\n0 5:2",
}


@pytest.mark.parametrize("text", LIBSVM.values(), ids=LIBSVM)
@pytest.mark.parametrize("suffix", [".svm", ".svm.gz"])
def test_libsvm_in_blocks(tmp_path, text, suffix):
    file = tmp_path / f"rows{suffix}"
    packed = gzip.compress if suffix.endswith(".gz") else bytes
    file.write_bytes(packed(text.encode()))
    assert_same(file, n_rows=1)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_ends_of_lines(tmp_path, encoding, end):
    lines = ["größe;café", *(f"{i},5;{'né' if i % 2 else 'où'}" for i in range(40))]
    file = tmp_path / "rows.csv"
    file.write_bytes(end.join([*lines, ""]).encode(encoding))
    assert_same(file)


def test_an_encoding_shows_far_down(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "CHUNK", 64)  # cut in the middle of letters, too
    lines = ["a,b", *(f"{i},{'ä' * (i % 3)}" for i in range(100))]
    plain = "\n".join(lines).encode()
    for content in (plain, plain + b"\n7,caf\xe9\n"):
        file = tmp_path / "rows.csv"
        file.write_bytes(content)
        assert_same(file)


def test_quotes_with_breaks_and_delimiters(tmp_path):
    cells = ['"two\nlines"', '"a,b"', '"say ""x"""', "plain"]
    lines = ['"odd\nname",b', *(f"{cells[i % 4]},{i}" for i in range(30))]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines) + "\n")
    assert_same(file, n_rows=4)


@pytest.mark.parametrize("chunk", [50, 300])
def test_chunks_of_text_may_end_anywhere(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(formats, "CHUNK", chunk)
    file = tmp_path / "rows.csv"
    irregular = b'\n\n"two\n\nlines, quoted",1,2020-01-01' + b",1" * 8 + b"\n"
    file.write_bytes(text_of(frame()) + irregular + text_of(frame(), include_header=False))
    assert_same(file)


def test_several_spaces_are_one_delimiter(tmp_path):
    spaces = tmp_path / "rows.txt"
    spaces.write_text(
        "a b c\n" + "".join(f"{i}  {i / 2} {'x' if i > 20 else i}\n" for i in range(30))
    )
    assert_same(spaces, n_rows=4)


def test_what_the_user_says_holds_for_blocks(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes("1|é\n2|b\n3|b\n".encode("latin-1"))
    assert_same(file, 2, ReadOptions(delimiter="|", header=False, encoding="latin-1"))


CELL = st.one_of(
    st.sampled_from(["", "NA", "nan", "1", "-2.5", "1e3", " 7 ", "inf", "red", "blue", "true"]),
    st.sampled_from(["2020-01-31", "31.12.2021", "01/02/2003", "a,b", 'q"q', "x\ny", "007"]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1)
    ),
    n_rows=st.integers(1, 5),
)
def test_any_table_in_blocks(tmp_path, cells, n_rows):
    file = tmp_path / "rows.csv"
    names = [f"c{j}" for j in range(len(cells[0]))]
    table = pl.DataFrame([["k", *row] for row in cells], schema=["k", *names], orient="row")
    file.write_bytes(table.write_csv(quote_style="always").encode())
    assert_same(file, n_rows)


def test_very_many_texts_name_rows_in_blocks_too(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "MAX_COUNTED", 25)
    lines = ["person,kind,y", *(f"p{i},k{i % 24},{i % 2}" for i in range(400))]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines) + "\n")
    blocks = open_blocks(file)
    found, _ = summarize(blocks.names, lambda texts: blocks.read(30, texts))
    plan = make_plan(found, [2])
    assert plan.names == ("kind",)
    assert len(plan.conversions[1].values) == 24


BROKEN = {
    "a,b\n1,2\n1,2,3\n": "must have 2 cells in every line. Got 3 in line 3",
    "a,b\n": "must have rows",
    'a,b\n1,"x\n2,3\n4,5\n': "must close the quotes that it opens",
}


@pytest.mark.parametrize("text", BROKEN)
def test_broken_text_is_refused_in_the_same_words(tmp_path, text):
    file = tmp_path / "rows.csv"
    file.write_text(text)
    with pytest.raises(InputError) as whole:
        read_file(file)
    with pytest.raises(InputError) as in_blocks:
        list(open_blocks(file).read(2))
    assert BROKEN[text] in str(whole.value)
    assert str(in_blocks.value) == str(whole.value)


@pytest.mark.parametrize("cut", [20, 60])
def test_files_that_break_off_are_refused(tmp_path, cut):
    packed = gzip.compress(text_of(frame()))
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(packed[: len(packed) - cut])
    with pytest.raises(InputError, match="whole gz file"):
        list(open_blocks(file).read(5))
    stream = io.BytesIO()
    frame().write_parquet(stream)
    half = tmp_path / "rows.parquet"
    half.write_bytes(stream.getvalue()[:-cut])
    with pytest.raises(InputError, match="whole parquet file"):
        open_blocks(half)


def test_an_archive_is_not_read_in_blocks(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2))
    with pytest.raises(InputError, match="Got NPZ"):
        open_blocks(tmp_path / "a.npz")
