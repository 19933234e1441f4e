"""A small table in a file, and the command run on it in this process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")

# fits that are quick; what they choose does not matter here
QUICK = ("--cv", "2", "--set", "max_iter=5", "--set", "cv=2", "--set", "learning_rate=0.4")


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python of its own, which finds the package where this one did."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        **options,
    )


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    """Fits run one after another, however slow the machine: tests reach into them."""
    monkeypatch.setattr("secateur.model_selection.held_out.PARALLEL_SECONDS", math.inf)


@pytest.fixture(autouse=True)
def short_grids(monkeypatch):
    """Few penalties where a method chooses them itself; what it selects does not matter here."""
    monkeypatch.setattr("secateur.engines.grafting.linear.GRID_POINTS", 8)
    monkeypatch.setattr("secateur.engines.feature_gradients.search.GRID_POINTS", 6)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Give a function that runs a command in an empty folder."""
    from secateur.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*arguments: Any) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return call


@pytest.fixture
def table(tmp_path):
    """A CSV file: four numbers, two of which matter, a colour, names of rows, two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)).round(4)
    y = np.where(X[:, 0] - X[:, 2] + 0.2 * rng.normal(size=120) > 0, "yes", "no")
    colours = rng.choice(["red", "blue"], 120)
    lines = ["a,b,c,d,colour,who,y"]
    for number, row in enumerate(X):
        cells = [*map(str, row), colours[number], f"person {number}", y[number]]
        lines.append(",".join(cells))
    file = tmp_path / "table.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
