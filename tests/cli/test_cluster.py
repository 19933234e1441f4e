"""``secateur select`` on a dask cluster: one that is there, or one that is started for it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from .conftest import QUICK, environment  # noqa: TID252 - beside this file

pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")


def test_one_cluster_at_a_time(run, table):
    done = run("select", table, "-y", "y", "--dask", "tcp://127.0.0.1:1", "--workers", "2")
    assert done.code == 1
    assert "--dask and --workers" in done.err


def test_a_scheduler_that_does_not_answer(run, table, monkeypatch):
    from secateur.cli import select

    monkeypatch.setattr(select, "SECONDS", 0.5)
    start = time.monotonic()
    done = run("select", table, "-y", "y", "--dask", "tcp://127.0.0.1:1")
    assert done.code == 1
    assert "'tcp://127.0.0.1:1'" in done.err
    assert time.monotonic() - start < 30


def test_an_address_that_is_none(run, table, monkeypatch):
    from secateur.cli import select

    monkeypatch.setattr(select, "SECONDS", 0.5)
    done = run("select", table, "-y", "y", "--dask", "no address")
    assert done.code == 1
    assert "'no address'" in done.err


def test_without_dask_the_extra_is_named(run, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run("select", table, "-y", "y", "--workers", "2")
    assert done.code == 1
    assert "secateur[dask]" in done.err


def test_an_archive_is_refused(run, tmp_path, monkeypatch):
    from contextlib import contextmanager

    from secateur.cli import select

    @contextmanager
    def no_executor(*_):
        yield object()

    monkeypatch.setattr(select, "executor_of", no_executor)
    np.savez(tmp_path / "a.npz", X=np.eye(4), y=[0, 1, 0, 1])
    done = run("select", "a.npz", "-y", "y", "--workers", "2", "--out", "r")
    assert done.code == 1
    assert "Got NPZ" in done.err


def chosen(folder):
    document = json.loads((folder / "selection.json").read_text())
    return {key: document[key] for key in ("features", "score", "all_features")}


TASKS = ("--method", "multitask", "--task-column", "colour", "--set", "common_trees=True")


@pytest.mark.slow
@pytest.mark.parametrize("method", [(), TASKS])
def test_workers_choose_what_one_process_chooses(run, table, tmp_path, method):
    result = ("select", table, "-y", "y", *method, *QUICK)
    done = run(*result, "--out", "two", "--workers", 2)
    assert done.code == 0, done.err
    assert "Computing on 2 workers." in done.err
    done = run(*result, "--out", "one", "--memory-limit", "100MB")
    assert done.code == 0, done.err
    assert chosen(tmp_path / "one") == chosen(tmp_path / "two")


@pytest.mark.slow
def test_a_running_cluster_is_used_and_left_running(run, table, tmp_path):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        address = cluster.scheduler_address
        done = run("select", table, "-y", "y", "--out", "r", "--dask", address, *QUICK)
        assert done.code == 0, done.err
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 1


@pytest.mark.slow
def test_ctrl_c_ends_the_workers_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 12)).round(3)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=len(X)) > 0).astype(int)
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack([X, y]), delimiter=",", fmt="%g",
               header=",".join([*"abcdefghijkl", "y"]), comments="")  # fmt: skip
    command = ["select", str(file), "-y", "y", "--workers", "2", "--out", str(tmp_path / "r")]
    process = subprocess.Popen(
        [sys.executable, "-m", "secateur", *command],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    heard = ""
    while "Selecting" not in heard:
        line = process.stderr.readline()
        assert line, heard
        heard += line
    time.sleep(3)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130, rest
    assert "Traceback" not in rest
    # one that has ended, and waits for somebody to ask how, counts as gone
    _, alive = psutil.wait_procs(workers, timeout=15)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]
    assert not (tmp_path / "r").exists()
