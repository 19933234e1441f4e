"""`secateur select` from its start to the first answer, and to its end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from common.data import array_of, missing, whole
from common.measure import say
from common.options import Options
from common.table import Section, table
from sklearn.datasets import load_breast_cancer

ANSWER_LIMIT, WHOLE_LIMIT = 3.0, 60.0


def run(options: Options) -> Section:
    section, rows = Section("command"), []
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "breast_cancer.csv"
        load_breast_cancer(as_frame=True).frame.to_csv(small, index=False)
        _select(small, "target")  # compile
        times = [_select(small, "target") for _ in range(options.repeats)]
        answer = min(first for first, _ in times)
        rows.append(["569 x 30", answer, min(end for _, end in times)])
        section.aim("569 x 30: seconds to the first answer", answer, ANSWER_LIMIT)
        large = _kdd(Path(folder), 20_000 if options.quick else None)
        if large is None:
            section.skip(missing("kddcup99_10pct"))
        else:
            say("kddcup99_10pct")
            first, end = _select(large, "label")
            rows.append(["kddcup99_10pct, 494,021 x 41", first, end])
            section.aim("494,021 x 41: seconds in all", end, WHOLE_LIMIT)
    section.add(
        "`secateur select data.csv --target ...` in a new process, with code that is compiled.",
        table(["", "s to the first answer", "s to the end"], rows),
    )
    return section


def _select(file: Path, target: str) -> tuple[float, float]:
    """Seconds to the first answer and to the end."""
    out = file.with_suffix("")
    options = ["--target", target, "--out", str(out), "--force"]
    command = [sys.executable, "-m", "secateur", "select", str(file), *options]
    start, answer = time.perf_counter(), float("nan")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        for line in process.stdout or ():
            if line.startswith("Answer"):
                answer = time.perf_counter() - start
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return answer, time.perf_counter() - start


def _kdd(folder: Path, n_rows: int | None) -> Path | None:
    """Normal or an attack, with the names of categories, as CSV."""
    name, found = "kddcup99_10pct", whole("kddcup99_10pct")
    if found is None:
        return None
    X, y = found
    names = array_of(name, "feature_names", None)
    frame = pd.DataFrame(X, columns=[str(each) for each in names])
    for column in ("protocol_type", "service", "flag"):
        text = array_of(name, f"categories_{column}", None)
        frame[column] = text[frame[column].astype(int)]
    is_normal = array_of(name, "y_names", None)[y.astype(int)] == "normal"
    frame["label"] = np.where(is_normal, "normal", "attack")
    frame.iloc[:: len(frame) // n_rows if n_rows else 1].to_csv(folder / "kdd.csv", index=False)
    return folder / "kdd.csv"
