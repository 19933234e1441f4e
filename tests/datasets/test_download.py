"""Sets are downloaded from a server on this machine, checked, kept, and read again without it."""

from __future__ import annotations

import bz2
import functools
import gzip
import http.server
import io
import re
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from secateur.datasets import download, fetch
from secateur.exceptions import DownloadError, ParameterError

rng = np.random.default_rng(0)
X = rng.integers(0, 255, (30, 9)).astype(np.uint8)
X[rng.random(X.shape) < 0.5] = 0
y = rng.integers(1, 4, 30).astype(np.uint8)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Give a function that puts files on a server and their set into the table."""
    site = tmp_path / "site"
    site.mkdir()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=site)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("SECATEUR_DATA", str(tmp_path / "kept"))

    def add(contents, kind, sha256=None):
        urls = []
        for number, content in enumerate(contents):
            (site / str(number)).write_bytes(content)
            urls.append(f"http://127.0.0.1:{server.server_port}/{number}")
        entry = {
            "source": "here", "licence": "MIT", "urls": urls, "format": kind, "note": "",
            "sha256": download.checksum(X, y) if sha256 is None else sha256, "n_features": 9,
        }  # fmt: skip
        monkeypatch.setattr(download, "known_sets", lambda: {"toy": entry})
        return site

    yield add
    server.shutdown()
    server.server_close()


def bytes_of(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.tobytes())


def text_below_names(columns):
    table, names = np.column_stack([columns, y]), ",".join(map(str, range(columns.shape[1] + 1)))
    return bytes_of(lambda out: np.savetxt(out, table, delimiter=",", header=names, comments=""))


def sparse_text(rows):
    cells = ([b"%d:%d" % (j + 1, row[j]) for j in np.flatnonzero(row)] for row in rows)
    return b"".join(b" ".join(row) + b" \n" for row in cells)


sparse = sp.csr_matrix(X.astype(float))
FORMATS = {
    "mat": [bytes_of(lambda out: savemat(out, {"X": X, "Y": y[:, None]}))],
    "csv": [bytes_of(lambda out: np.savetxt(out, np.column_stack([X, y]), delimiter=","))],
    "svmlight": [
        bytes_of(lambda out: dump_svmlight_file(sparse[:20], y[:20], out)),
        bytes_of(lambda out: dump_svmlight_file(sparse[20:], y[20:], out)),
    ],
    "csv with names": [text_below_names(X[:, :4]), text_below_names(X[:, 4:])],
    "rows and labels": [
        sparse_text(X[:20]), b"".join(b"%d\n" % each for each in y[:20]),
        sparse_text(X[20:]), b"".join(b"%d\n" % each for each in y[20:]),
    ],
    "idx": [
        idx(X[:20].reshape(20, 3, 3)), idx(y[:20]), idx(X[20:].reshape(10, 3, 3)), idx(y[20:]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", [*FORMATS, "packed svmlight"])
def test_a_set_is_downloaded_once_and_kept(serve, kind):
    contents = FORMATS[kind.removeprefix("packed ")]
    if kind.startswith("packed"):
        contents, kind = [bz2.compress(part) for part in contents], "svmlight"
    wanted = sparse if kind in {"svmlight", "rows and labels"} else X
    site = serve(contents, kind, download.checksum(wanted, y))
    found = fetch("toy")
    assert (found.name, found.source, found.licence) == ("toy", "here", "MIT")
    for file in site.iterdir():
        file.unlink()
    for each in (found, fetch("toy")):
        dense = each.X.toarray() if sp.issparse(each.X) else each.X
        assert dense.dtype == np.float64
        np.testing.assert_array_equal(dense, X)
        np.testing.assert_array_equal(each.y, y)


def test_a_sparse_matlab_file_stays_sparse(serve):
    content = bytes_of(lambda out: savemat(out, {"x": sparse, "y": y[:, None]}))
    serve([content], "mat", download.checksum(sparse, y))
    assert (sparse != fetch("toy").X).nnz == 0


def test_sparse_columns_at_the_end_may_be_empty(serve):
    few = X.copy()
    few[:, 7:] = 0
    labels = b"".join(b"%d\n" % each for each in y)
    contents, short = [sparse_text(few), labels], sp.csr_matrix(few[:, :7].astype(float))
    serve(contents, "rows and labels", download.checksum(short, y))
    found = fetch("toy")
    assert found.X.shape == (30, 9)
    np.testing.assert_array_equal(found.X.toarray(), few)


def test_other_contents_are_refused_and_not_kept(serve, tmp_path):
    other = y.copy()
    other[0] += 1
    content = bytes_of(lambda out: savemat(out, {"X": X, "Y": other[:, None]}))
    serve([content], "mat")
    with pytest.raises(DownloadError, match=r"must have the checksum .* Got .* table of 30 x 9"):
        fetch("toy")
    assert not (tmp_path / "kept").exists()


def test_a_file_of_another_kind_is_refused(serve):
    serve([b"<html>moved</html>"], "mat")
    with pytest.raises(DownloadError, match=r"not what was expected \(mat\).*has moved"):
        fetch("toy")


def test_no_answer_says_what_to_do(serve):
    site = serve(FORMATS["mat"], "mat")
    (site / "0").unlink()
    with pytest.raises(DownloadError, match=r"could not be downloaded.*404.*Or put toy.npz"):
        fetch("toy")


def test_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("SECATEUR_DATA", str(tmp_path))
    assert download.data_folder() == tmp_path
    monkeypatch.delenv("SECATEUR_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert download.data_folder() == tmp_path / "secateur" / "data"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert download.data_folder() == tmp_path / "local" / "secateur" / "data"


def test_unknown_names_and_sets_without_a_download(tmp_path):
    with pytest.raises(ParameterError, match="Did you mean 'madelon'"):
        fetch("madelom")
    with pytest.raises(DownloadError, match=r"no converter for MATLAB.*MALSAR.*Or put school.npz"):
        fetch("school", folder=tmp_path)


def test_the_table_is_complete():
    for name, entry in download.known_sets().items():
        assert entry["source"], name
        assert entry["licence"], name
        assert entry["n_rows"] * entry["n_features"] > 0
        assert re.fullmatch("[0-9a-f]{64}", entry["sha256"])
        assert bool(entry["urls"]) == (entry["format"] in download.CONVERTERS)
        assert bool(entry["urls"]) != bool(entry["note"]), name
        assert all(url.startswith("https://") for url in entry["urls"])


@pytest.mark.data
@pytest.mark.parametrize("name", ["BASEHOCK", "colon", "dexter", "mfeat", "spambase"])
def test_checksums_are_those_of_the_sets_that_benchmarks_use(load_set, name):
    entry = download.known_sets()[name]
    arrays = load_set(name)
    table = download.table_of(arrays)
    assert table.shape == (entry["n_rows"], entry["n_features"])
    assert download.checksum(table, arrays["y"]) == entry["sha256"]


def test_sets_of_the_papers_pages_are_in_the_table():
    # what the pages read; the rest are sets of other benchmarks
    pages = {"uspst", "spambase", "Isolet", "mnist", "adult_a9a", "PCMAC", "colon_continuous",
             "leukemia", "arcene", "kddcup99_10pct", "kddcup99_corrected_test", "landmine",
             "flight_delay_100k", "lightgbm_lambdarank", "dexter", "BASEHOCK", "mfeat",
             "news20_multiclass_test", "colon", "warpPIE10P", "warpAR10P", "madelon", "RELATHE",
             "TOX_171", "ORL", "orlraws10P", "pixraw10P", "COIL20"}  # fmt: skip
    assert pages <= set(download.known_sets())
