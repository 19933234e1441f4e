"""A store whose bytes changed is refused; it never gives other rows, targets or weights."""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import secateur
from secateur._kernels.threads import Threads
from secateur.exceptions import StorageError
from secateur.execution.disk import disk_row_store
from secateur.storage import folder as stored_folder
from secateur.storage import open_table as opening
from secateur.storage import writing
from secateur.storage.stored_table import StoredNumbers, StoredTable, numbers_of

N_ROWS = 300
N_PLACES = 12  # of every file


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 100)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 100)


def frame():
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(N_ROWS, 4)).round(2), columns=list("abcd"))
    made.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    made["colour"] = rng.choice(["red", "green", "blue"], N_ROWS)
    made["w"] = rng.integers(1, 4, N_ROWS)
    made["site"] = rng.choice(["x", "y"], N_ROWS)
    made["y"] = rng.choice(["no", "yes"], N_ROWS)
    return made


def opened(kind, cache):
    """A table on disk, whose folder may be one of numbers."""
    X = frame()[list("abcd")].fillna(0.0).to_numpy()
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    if kind == "codes":
        roles = {"weight": "w", "task": "site", "categorical_features": ["colour"]}
        return secateur.open_table(frame(), "y", cache=cache, **roles)
    given = X if kind == "numbers" else sp.csr_array(X)
    table = secateur.open_table(given, X[:, 0], cache=cache)
    return numbers_of(table, lambda *_: None) if "numbers" in kind else table


def content(folder, kind):
    """All that a store holds, read as fits read it."""
    found = []
    if "numbers" in kind:
        numbers = StoredNumbers(folder)
        blocks = [piece.block for piece in numbers.pieces()]
        for block in blocks:
            cells = block.sparse().toarray() if block.is_sparse else block.dense()
            found += [cells] if block.is_sparse else [cells, block.some(np.array([0, 2]))]
        return [numbers.names, *found]
    table = secateur.open_table(folder, memory_limit=10**9)
    assert isinstance(table, StoredTable)
    for held in disk_row_store(table, Threads(1), 1, 1).code_executor().blocks:
        found += list(held.columns.codes)
    mapped = [block.columns(block.map()[0], table.bins).codes for block in table.blocks]
    found += [array for codes in mapped for array in codes]
    known = [table.names, table.target_names, *table.schema.categories.values()]
    return [*known, *found, table.target(), table.weight, table.task, *table.bins.cuts]


def is_same(found, expected):
    pairs = zip(found, expected, strict=True)
    return all(np.array_equal(np.asarray(a, object), np.asarray(b, object)) for a, b in pairs)


KINDS = ["codes", "sparse codes", "numbers", "sparse numbers"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_byte_anywhere_is_found(tmp_path, kind):
    folder = opened(kind, tmp_path / "cache").folder
    expected, rng, messages = content(folder, kind), np.random.default_rng(1), []
    files = sorted(file.name for file in folder.iterdir())
    assert "header.json" in files
    for name in files:
        good = (folder / name).read_bytes()
        for number, place in enumerate(rng.integers(0, len(good), N_PLACES)):
            copy = shutil.copytree(folder, tmp_path / f"{name}{number}")
            bad = bytearray(good)
            bad[place] ^= 1 << int(rng.integers(8))
            (copy / name).write_bytes(bad)
            try:
                assert is_same(content(copy, kind), expected), (name, place)
            except StorageError as error:
                messages.append(str(error))
            shutil.rmtree(copy)
    assert all("Delete the folder" in message for message in messages)
    assert len(messages) >= (len(files) - 1) * N_PLACES


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_cut_or_missing_are_refused(tmp_path, kind):
    folder = opened(kind, tmp_path / "cache").folder
    for name in sorted(file.name for file in folder.iterdir()):
        copy = shutil.copytree(folder, tmp_path / name)
        (copy / name).write_bytes((folder / name).read_bytes()[:-7])
        with pytest.raises(StorageError, match="Delete the folder"):
            content(copy, kind)
        if name != "header.json":
            (copy / name).unlink()
            with pytest.raises(StorageError, match=f"{name} missing"):
                content(copy, kind)


@pytest.mark.parametrize("text", ["[]", "null", "{}", "[" * 10**5, "\xff", '{"kind": 1}'])
def test_a_header_of_another_kind_is_refused(tmp_path, text):
    table = opened("codes", tmp_path)
    (table.folder / "header.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(StorageError, match="Delete the folder"):
        secateur.open_table(table.folder)


def test_a_fit_refuses_what_was_damaged_after_the_table_was_opened(tmp_path):
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    table = secateur.open_table(X, X[:, 0], cache=tmp_path)
    secateur.AGBMRegressor(penalty=0.5, max_iter=2).fit(table)
    file = table.folder / "codes.bin"
    bad = bytearray(file.read_bytes())
    bad[500] ^= 1
    file.write_bytes(bad)
    os.utime(file, (1, 1))  # the time of the last change has a resolution
    with pytest.raises(StorageError, match=r"codes\.bin with another checksum"):
        secateur.AGBMRegressor(penalty=0.5, max_iter=2).fit(table)
    file.unlink()
    with pytest.raises(StorageError, match=r"codes\.bin that cannot be read"):
        secateur.AGBMRegressor(penalty=0.5, max_iter=2).fit(table)


@pytest.mark.parametrize("kind", ["codes", "sparse codes"])
def test_codes_outside_of_their_bins_are_refused_whatever_the_checksums_say(tmp_path, kind):
    folder = opened(kind, tmp_path).folder
    header = json.loads((folder / "header.json").read_text())
    block, file = header["blocks"][1], folder / "codes.bin"
    n_bytes = sum(np.dtype(kind).itemsize * length for kind, length in block["arrays"])
    bad = bytearray(file.read_bytes())
    bad[block["offset"] + n_bytes - 1] = 254  # a code of the last column
    file.write_bytes(bad)
    block["checksum"] = crc32(bad[block["offset"] : block["offset"] + n_bytes])
    del header["checksum"]
    checksum = crc32(json.dumps(header).encode())
    (folder / "header.json").write_text(json.dumps({**header, "checksum": checksum}))
    with pytest.raises(StorageError, match="codes that are in no bin"):
        content(folder, kind)


def test_all_is_on_the_disk_before_a_store_takes_its_name(tmp_path, monkeypatch):
    synced = []

    def fsync(opened):
        synced.append(Path(f"/proc/self/fd/{opened}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    table = opened("codes", tmp_path)
    names = {each.name for each in synced}
    assert names >= {file.name for file in table.folder.iterdir()}
    assert synced[-2].name.endswith(".tmp")
    assert synced[-1] == tmp_path
    synced.clear()
    opened("codes", None)
    assert synced == []  # nobody can look for it after a crash


def test_saved_streams_are_refused_when_damaged(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    selector = secateur.FeatureGradientsSelector(target_type="regression", random_state=0)
    selector.partial_fit(X, X[:, 0]).save_stream(tmp_path / "s.npz")
    good, rng = (tmp_path / "s.npz").read_bytes(), np.random.default_rng(0)
    for place in rng.integers(0, len(good), 200):
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "bad.npz").write_bytes(bad)
        again = secateur.FeatureGradientsSelector(target_type="regression", random_state=0)
        try:
            again.resume_stream(tmp_path / "bad.npz").save_stream(tmp_path / "again.npz")
        except StorageError:
            continue
        with np.load(io.BytesIO(good)) as one, np.load(tmp_path / "again.npz") as other:
            assert is_same(list(one.values()), list(other.values()))


# ---- several processes ------------------------------------------------------------------------


def lock_of(folder):
    return folder.with_name(f".{folder.name}{writing.LOCK}")


def test_what_processes_that_ended_left_is_removed(tmp_path):
    pytest.importorskip("fcntl")
    left, mine = tmp_path / ".left.0123.tmp", tmp_path / ".mine.0123.tmp"
    with writing.lock_beside(tmp_path / "mine", wait=False) as is_free:
        assert is_free
        lock_of(tmp_path / "left").write_bytes(b"")
        other = tmp_path / ".of-another-program.lock"
        other.write_bytes(b"")
        for each in (left, mine):
            each.mkdir()
            (each / "codes.bin").write_bytes(b"1")
        table = opened("codes", tmp_path)
        assert {each.name for each in tmp_path.iterdir()} == {
            mine.name, lock_of(tmp_path / "mine").name, other.name, table.folder.name
        }  # fmt: skip


def test_a_second_process_waits_for_the_first(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    folder, written, waiting, started = tmp_path / "table", [], threading.Event(), threading.Event()
    flock, calls = fcntl.flock, []

    def watched(*given):
        calls.append(given)
        if len(calls) == 3:  # of the first, and of both others
            waiting.set()
        flock(*given)

    def write(part):
        written.append(part)
        started.set()
        assert waiting.wait(60)
        (part / "rows").write_text("1")

    monkeypatch.setattr(fcntl, "flock", watched)
    monkeypatch.setattr(writing, "remove_left", lambda _: None)
    make = functools.partial(writing.write_folder, folder, write, keep=True)
    threads = [threading.Thread(target=make) for _ in range(3)]
    threads[0].start()
    assert started.wait(60)
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written) == 1
    assert [file.name for file in folder.iterdir()] == ["rows"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_is_written_where_the_file_system_has_no_locks(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    folder, theirs = tmp_path / "table", tmp_path / ".table.0123.tmp"
    theirs.mkdir()  # of a process that may be writing it
    writing.write_folder(folder, lambda part: (part / "rows").write_text("1"), keep=True)
    assert sorted(tmp_path.iterdir()) == [theirs, folder]


def test_when_the_first_one_fails_the_next_one_writes(tmp_path):
    folder = tmp_path / "table"

    def fail(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writing.write_folder(folder, fail, keep=True)
    assert list(tmp_path.iterdir()) == []
    writing.write_folder(folder, lambda part: (part / "rows").write_text("1"), keep=True)
    assert (folder / "rows").is_file()


KILLED = """
import os, sys, signal
from pathlib import Path
from secateur.storage.writing import TemporaryFolder, write_folder

def write(part):
    (part / "codes.bin").write_bytes(b"1")
    os.kill(os.getpid(), signal.SIGKILL)

temporary = TemporaryFolder()
write_folder(Path(sys.argv[1]) / "table", write, keep=True)
"""


def test_a_process_that_is_killed_leaves_nothing_for_long(tmp_path, monkeypatch):
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    cache = tmp_path / "cache"
    done = subprocess.run([sys.executable, "-c", KILLED, str(cache)], env=environment, check=False)
    assert done.returncode < 0
    assert len(list(cache.iterdir())) == 2  # the lock and the part
    assert len(list((tmp_path / "tmp").iterdir())) == 2
    monkeypatch.setattr(writing.tempfile, "tempdir", str(tmp_path / "tmp"))
    writing.write_folder(cache / "table", lambda _: writing.TemporaryFolder(), keep=True)
    assert [each.name for each in cache.iterdir()] == ["table"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_checksums_are_computed_once_for_each_process_and_block(tmp_path, monkeypatch):
    folder = opened("codes", tmp_path).folder
    content(folder, "codes")
    calls = []
    monkeypatch.setattr(stored_folder, "crc32", lambda *given: calls.append(given) or crc32(*given))
    content(folder, "codes")
    assert len(calls) == 1  # of the header, which is read again
