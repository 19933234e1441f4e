"""Files of every kind that the command line reads, and what ``secateur select`` writes of them."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from golden import tables
from golden.facts import document_facts
from scipy.sparse import save_npz

from secateur.cli import main

QUICK = ["--cv", "2", "--set", "max_iter=6", "--set", "cv=2", "--set", "learning_rate=0.4"]
LINEAR = ["--method", "grafting", "--cv", "2", "--set", "l1=[0.1,0.03]", "--set", "cv=2"]


class File(NamedTuple):
    """How a file is made, and the options of the command for it."""

    write: Callable[[Path], Path]
    options: list[str]


def people() -> Any:
    """A frame with the columns that most files have."""
    X = tables.numeric()
    frame = pd.DataFrame(X[:, :7], columns=["age", "height", "reach", "mass", "speed", "grip", "x"])
    city = np.digitize(X[:, 8], [-0.5, 0.5])
    frame["city"] = np.array(["Málaga", "Oslo", "Köln"])[city]
    effect = np.array([1.0, -1.0, 1.0])[city]
    frame["result"] = np.where(tables.signal(X) + effect > 0.4, "pass", "fail")
    return frame


def measured() -> Any:
    """A frame of numbers with a target of numbers."""
    X = tables.numeric(seed=4)
    frame = pd.DataFrame(X[:, :8], columns=[f"sensor {j}" for j in range(8)])
    frame["output"] = tables.numbers(X)
    return frame


def _csv(
    frame: Callable[[], Any], name: str, *, packed: Callable[[bytes], bytes] = bytes, **how: Any
) -> Callable[[Path], Path]:
    """A writer of delimited text; `how` goes to pandas, but for ``encoding``."""
    encoding = how.pop("encoding", "utf-8")

    def write(folder: Path) -> Path:
        text = frame().to_csv(index=False, lineterminator="\n", **how)
        file = folder / name
        file.write_bytes(packed(text.encode(encoding)))
        return file

    return write


def _zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return packed


def _with_missing_words() -> Any:
    frame = people().astype({"age": object, "city": object})
    frame.loc[::9, "age"] = "N/A"
    frame.loc[3::11, "city"] = "?"
    frame.loc[5::13, "mass"] = np.nan
    return frame


def _with_dates() -> Any:
    frame = people()
    days = np.argsort(np.argsort(frame["height"].to_numpy()))
    frame.insert(0, "visit", pd.Timestamp("2020-01-31") + pd.to_timedelta(days, unit="D"))
    frame["visit"] = frame["visit"].dt.strftime("%d.%m.%Y")
    return frame


def _with_roles() -> Any:
    frame = people()
    frame["importance"] = tables.weights()
    frame["house"] = [f"h{row // 4}" for row in range(len(frame))]
    frame["region"] = tables.tasks()
    frame["when"] = [f"2021-{1 + row // 24:02d}-{1 + row % 24:02d}" for row in range(len(frame))]
    return frame


def _three_results() -> Any:
    frame = people()
    frame["result"] = np.array(["low", "mid", "high"])[tables.three_classes(tables.numeric())]
    return frame


def _parquet(folder: Path) -> Path:
    frame = people().astype({"city": "category"})
    frame["is_old"] = frame["age"] > 0.3
    frame.to_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def _feather(folder: Path) -> Path:
    measured().to_feather(folder / "measured.feather")
    return folder / "measured.feather"


def _npz(folder: Path) -> Path:
    X = tables.missing()
    named = [f"f{j}" for j in range(X.shape[1])]
    np.savez(folder / "dense.npz", X=X, y=tables.three_classes(X), feature_names=named)
    return folder / "dense.npz"


def _sparse_npz(folder: Path) -> Path:
    X = tables.sparse()
    save_npz(folder / "parts.npz", X)
    with np.load(folder / "parts.npz") as parts:
        np.savez(folder / "sparse.npz", **parts, y=tables.numbers(X))
    return folder / "sparse.npz"


def _libsvm(folder: Path) -> Path:
    X = tables.sparse()
    lines = []
    for row, label in enumerate(tables.two_classes(X)):
        cells = X[row].tocoo()
        pairs = " ".join(
            f"{j + 1}:{v:.3f}" for j, v in sorted(zip(cells.col, cells.data, strict=True))
        )
        lines.append(f"{'+1' if label == 'yes' else '-1'} {pairs}\n")
    (folder / "rows.libsvm").write_text("".join(lines))
    return folder / "rows.libsvm"


def _priced(folder: Path) -> Path:
    (folder / "costs.csv").write_text("feature,cost\nage,0\nheight,4\nreach,2\nspeed,3.5\n")
    (folder / "groups.csv").write_text("feature;group\nheight;body\nreach;body\nmass;body\n")
    return _csv(people, "priced.csv")(folder)


def _tested(folder: Path) -> Path:
    people().iloc[160:].to_csv(folder / "test.csv", index=False)
    return _csv(lambda: people().iloc[:160], "train.csv")(folder)


RESULT = ["--target", "result"]
OUTPUT = ["--target", "output"]
FILES = {
    "comma": File(_csv(people, "people.csv"), [*RESULT, *QUICK]),
    "semicolon, decimal comma": File(
        _csv(measured, "measured.csv", sep=";", decimal=","), [*OUTPUT, *QUICK]
    ),
    "tab": File(_csv(people, "people.tsv", sep="\t"), [*RESULT, *QUICK, "--max-features", "3"]),
    "quoted": File(_csv(measured, "quoted.csv", quoting=1), [*OUTPUT, *QUICK, "--method", "gbfs"]),
    "pipe, named delimiter": File(
        _csv(measured, "pipe.txt", sep="|"), [*OUTPUT, *LINEAR, "--delimiter", "|"]
    ),
    "gz": File(_csv(people, "people.csv.gz", packed=gzip.compress), [*RESULT, *QUICK]),
    "bz2": File(
        _csv(_three_results, "three.csv.bz2", packed=bz2.compress),
        [*RESULT, *QUICK, "--scoring", "accuracy"],
    ),
    "xz": File(_csv(measured, "measured.csv.xz", packed=lzma.compress), [*OUTPUT, *LINEAR]),
    "zst": File(_csv(measured, "measured.csv.zst", packed=_zstd), [*OUTPUT, *QUICK]),
    "latin-1": File(_csv(people, "latin.csv", encoding="latin-1"), [*RESULT, *QUICK]),
    "utf-16": File(
        _csv(people, "wide.csv", encoding="utf-16"), [*RESULT, *QUICK, "--encoding", "utf-16"]
    ),
    "parquet": File(_parquet, [*RESULT, *QUICK, "--keep", "grip"]),
    "feather": File(_feather, [*OUTPUT, *QUICK, "--penalty", "0.05"]),
    "npz dense": File(_npz, ["--target", "y", "--target-type", "classification", *QUICK]),
    "npz sparse": File(_sparse_npz, ["--target", "y", *LINEAR]),
    "libsvm": File(_libsvm, QUICK),
    "missing words": File(_csv(_with_missing_words, "missing.csv"), [*RESULT, *QUICK]),
    "dates": File(_csv(_with_dates, "dates.csv"), [*RESULT, *QUICK]),
    "no header": File(
        _csv(measured, "bare.csv", header=False), ["--target", "x8", "--no-header", *QUICK]
    ),
    "costs and groups": File(
        _priced,
        [
            *RESULT,
            *QUICK,
            *("--costs", "costs.csv", "--feature-groups", "groups.csv"),
            *("--budget", "6", "--cost-unit", "euro"),
        ],
    ),
    "weights and row groups": File(
        _csv(_with_roles, "roles.csv"),
        [
            *RESULT,
            *QUICK,
            *("--weight", "importance", "--group-column", "house", "--drop", "region,when"),
        ],
    ),
    "time": File(
        _csv(_with_roles, "roles.csv"),
        [*RESULT, *QUICK, "--time-column", "when", "--drop", "region,house,importance"],
    ),
    "tasks": File(
        _csv(_with_roles, "roles.csv"),
        [
            *RESULT,
            *QUICK,
            *("--method", "multitask", "--task-column", "region", "--penalty", "0.05"),
            *("--drop", "house,when,importance"),
        ],
    ),
    "test rows": File(_tested, [*RESULT, *QUICK, "--test", "test.csv", "--cut", "best"]),
    "feature gradients": File(
        _csv(people, "people.csv"),
        [
            *RESULT,
            "--method",
            "fg",
            "--set",
            "max_epochs=20",
            "--cv",
            "2",
            "--set",
            "cv=2",
            "--max-features",
            "3",
        ],
    ),
    "featboost": File(
        _csv(people, "people.csv"),
        [*RESULT, "--method", "featboost", "--cv", "2", "--set", "max_iter=5"],
    ),
}


def selected(file: File, n_jobs: int) -> Any:
    """What ``secateur select`` writes into ``selection.json`` for a file, without sentences."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        data = file.write(Path(name))
        arguments = ["select", str(data), *file.options, "--out", "out", "--quiet"]
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main([*arguments, "--jobs", str(n_jobs)])
        if code != 0:
            return {"exit_code": code, "said": said.getvalue()}
        document = json.loads((Path(name) / "out" / "selection.json").read_text("utf-8"))
        features = (Path(name) / "out" / "features.txt").read_text("utf-8").splitlines()
    facts = document_facts(document)
    facts["parameters"].pop("n_jobs", None)
    return {**facts, "features.txt": features}


def cases(n_jobs: int) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Golden file, name and function of each file."""
    for name, file in FILES.items():
        yield "cli", name, lambda file=file: selected(file, n_jobs)
