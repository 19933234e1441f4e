"""A table on disk is made and fitted on within the memory that it may take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from secateur.data.memory import resolve_limit

pytest.importorskip("pyarrow")

CHILD = """
import json, sys
from pathlib import Path
import numpy as np
import secateur

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) * 1024

file, limit, weight, task = sys.argv[1:]
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20))
params = {"max_iter": 6, "early_stopping": False, "random_state": 0, "n_jobs": 2}
if task:
    selector = secateur.MultitaskAGBMClassifier(group_penalty=0.0005, common_trees=True, **params)
    more = {"task": rng.integers(0, 3, 3000)}
else:
    selector, more = secateur.AGBMClassifier(penalty=0.0005, **params), {}
selector.fit(X, X[:, 0] > 0, **more)  # compiles what a fit needs
begin = peak()
roles = {"weight": weight or None, "task": task or None, "drop": [] if task else ["t"]}
table = secateur.open_table(file, "y", memory_limit=limit, n_jobs=2, **roles)
opened = peak()
selector.fit(table)
print(json.dumps({"begin": begin, "opened": opened, "fitted": peak(),
                  "chosen": selector.get_support(indices=True).tolist()}))
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A million rows of fifty numbers, 400 MB of them, as Parquet in few row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path_factory.mktemp("large") / "rows.parquet"
    rng = np.random.default_rng(0)
    writer = None
    for _ in range(5):
        X = rng.normal(size=(200_000, 50))
        y = (X[:, 3] + X[:, 7] + rng.normal(size=len(X)) > 0).astype(np.int64)
        columns = {f"c{j}": X[:, j] for j in range(50)}
        columns |= {"w": rng.integers(1, 4, len(X)).astype(float), "t": rng.integers(0, 9, len(X))}
        table = pa.table({**columns, "y": y})
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    writer.close()
    return file


def told_by(script, *given):
    """What a process of its own prints."""
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", script, *given],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux reports it")
@pytest.mark.parametrize(
    ("limit", "weight", "task"),
    [
        ("700MB", "", ""),
        ("700MB", "w", ""),
        ("700MB", "w", "t"),
        ("1GB", "", ""),
        ("1GB", "w", ""),
        ("1GB", "", "t"),
    ],
)
def test_the_peak_stays_below_the_limit(rows, limit, weight, task):
    found = told_by(CHILD, str(rows), limit, weight, task)
    assert {3, 7} <= set(found["chosen"])
    assert found["fitted"] < resolve_limit(limit), found


STREAMING = """
import json
from pathlib import Path
import numpy as np
import secateur

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) * 1024

def rows(n_blocks, n_rows, n_features):
    rng = np.random.default_rng(0)
    for _ in range(n_blocks):
        X = rng.normal(size=(n_rows, n_features))
        yield X, X[:, 3] + X[:, 7] + rng.normal(size=n_rows) > 0

params = {"l1": [0.05, 0.02], "cv": 2, "random_state": 0, "n_jobs": 2}
secateur.GraftingClassifier(**params).fit(rows(2, 500, 20))  # loads what a fit needs
begin = peak()
selector = secateur.GraftingClassifier(**params).fit(rows(160, 500, 1000))
print(json.dumps({"begin": begin, "peak": peak(), "score": selector.path_[-1].score.origin,
                  "chosen": selector.get_support(indices=True).tolist()}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux reports it")
def test_grafting_takes_little_of_what_the_numbers_of_a_stream_would_take():
    """80,000 rows of a thousand numbers, 640 MB of them: never more than the fourth part."""
    found = told_by(STREAMING)
    assert {3, 7} <= set(found["chosen"])
    assert found["score"] == "held_out"
    assert found["peak"] - found["begin"] < 640e6 / 4, found
