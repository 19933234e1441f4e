"""Processes that are killed at random moments: the next run ends as if nothing had happened.

Each job writes into a folder of its own. It is killed (SIGKILL) after a random part of the time
that it needs, then started again; the results and the names of the files must be those of a run
that was left alone. SECATEUR_KILLS sets how many are killed (50 by default).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]
N_KILLS = int(os.environ.get("SECATEUR_KILLS", "50"))

QUICK = ["--cv", "2", "--set", "max_iter=5", "--set", "cv=2", "--set", "learning_rate=0.4"]
SELECT = ["-m", "secateur", "select", "table.csv", "--target", "y", "--out", "result", *QUICK]
COMPARE = [
    *("-m", "secateur", "compare", "table.csv", "--target", "y", "--out", "result", "--cv", "2"),
    *("--methods", "f_classif,grafting,random", "--sizes", "1,2", "--resume"),
]
OPEN_TABLE = [
    "-c",
    """
import json, secateur
from pathlib import Path
table = secateur.open_table("table.csv", "y", cache="cache")
model = secateur.AGBMClassifier(penalty=0.01, max_iter=5, random_state=0).fit(table)
Path("result.json").write_text(json.dumps([model.support_.tolist(), table.n_rows]))
""",
]
CLUSTER = [
    "-c",
    """
import json, secateur
from pathlib import Path
from distributed import Client, LocalCluster
if __name__ == "__main__":
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            executor = secateur.DaskExecutor(client)
            table = secateur.open_table("table.csv", "y", cache="cache", executor=executor)
            model = secateur.AGBMClassifier(penalty=0.01, max_iter=5, random_state=0).fit(table)
    Path("result.json").write_text(json.dumps(model.support_.tolist()))
""",
]


def write_table(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 6)).round(4)
    y = np.where(X[:, 0] - X[:, 2] + 0.2 * rng.normal(size=len(X)) > 0, "yes", "no")
    lines = [",".join([*map(str, row), label]) for row, label in zip(X, y, strict=True)]
    (folder / "table.csv").write_text("\n".join(["a,b,c,d,e,f,y", *lines]) + "\n")


def begin(command: list[str], folder: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join(str(Path(part).resolve()) for part in sys.path if part)
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # workers are killed with their parent
    )


def run(command: list[str], folder: Path) -> float:
    """Seconds of a run that is left alone."""
    started = time.monotonic()
    process = begin(command, folder)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    return time.monotonic() - started


def clear_temporary(folder: Path) -> None:
    """Empty the system's folder of temporary files."""
    shutil.rmtree(folder / "tmp")
    (folder / "tmp").mkdir()


def facts(folder: Path) -> Any:
    """Names of all files, and the results that do not depend on time."""
    names = (str(file.relative_to(folder)) for file in folder.rglob("*"))
    names = (name for name in names if "dask-scratch-space" not in name)  # dask's own
    files = sorted(re.sub("[0-9a-f]{32}", "fingerprint", name) for name in names)
    features = folder / "result" / "features.txt"
    result = folder / "result.json"
    comparison = folder / "result" / "comparison.json"
    trials = []
    if comparison.is_file():
        trials = [
            (trial["method"], trial["fold"], trial["subsets"])
            for trial in json.loads(comparison.read_text())["trials"]
        ]
    texts = [file.read_text() for file in (features, result) if file.is_file()]
    return files, texts, trials


@pytest.mark.parametrize(
    "command", [SELECT, COMPARE, OPEN_TABLE, CLUSTER], ids=["select", "compare", "store", "cluster"]
)
def test_a_killed_process_costs_nothing_but_time(command, tmp_path):
    if command is CLUSTER:
        pytest.importorskip("distributed")
    whole = tmp_path / "whole"
    for folder in (whole, whole / "tmp"):
        folder.mkdir()
    write_table(whole)
    run(command, whole)  # compiles
    expected = facts(whole)
    assert any(expected[1:])
    again = tmp_path / "again"
    (again / "tmp").mkdir(parents=True)
    write_table(again)
    seconds = run(command, again)
    n_killed, rng = 0, np.random.default_rng(os.getpid())
    for number in range(4 * N_KILLS):
        folder = tmp_path / f"run{number}"
        (folder / "tmp").mkdir(parents=True)
        write_table(folder)
        started, process = time.monotonic(), begin(command, folder)
        try:
            process.communicate(timeout=seconds * rng.uniform(0.2, 1.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            n_killed += 1
        else:
            seconds = time.monotonic() - started  # the machine has less to do than before
            shutil.rmtree(folder)
            continue
        clear_temporary(folder)
        if facts(folder) != expected:  # else it was killed after its last work
            run(command, folder)
            clear_temporary(folder)
        assert facts(folder) == expected, number
        shutil.rmtree(folder)
        if n_killed == N_KILLS:
            return
    pytest.fail(f"{n_killed} of {N_KILLS} were killed: the others ended too soon")
