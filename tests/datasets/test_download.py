"""Sets are downloaded from a server on this machine, checked, kept, and read again without it."""

from __future__ import annotations

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
            "sha256": download.checksum(X, y) if sha256 is None else sha256,
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


sparse = sp.csr_matrix(X.astype(float))
FORMATS = {
    "mat": [bytes_of(lambda out: savemat(out, {"X": X, "Y": y[:, None]}))],
    "csv": [bytes_of(lambda out: np.savetxt(out, np.column_stack([X, y]), delimiter=","))],
    "svmlight": [
        bytes_of(lambda out: dump_svmlight_file(sparse[:20], y[:20], out)),
        bytes_of(lambda out: dump_svmlight_file(sparse[20:], y[20:], out)),
    ],
    "idx": [
        idx(X[:20].reshape(20, 3, 3)), idx(y[:20]), idx(X[20:].reshape(10, 3, 3)), idx(y[20:]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", FORMATS)
def test_a_set_is_downloaded_once_and_kept(serve, kind):
    wanted = sparse if kind == "svmlight" else X
    site = serve(FORMATS[kind], kind, download.checksum(wanted, y))
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
    with pytest.raises(DownloadError, match=r"no converter.*MALSAR.*Or put school.npz"):
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
@pytest.mark.parametrize("name", ["BASEHOCK", "colon", "spambase"])
def test_checksums_are_those_of_the_sets_that_benchmarks_use(load_set, name):
    entry = download.known_sets()[name]
    arrays = load_set(name)
    table = download.table_of(arrays)
    assert table.shape == (entry["n_rows"], entry["n_features"])
    assert download.checksum(table, arrays["y"]) == entry["sha256"]
