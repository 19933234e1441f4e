"""Saved results that were edited: loaded, or refused by an error of ours that names the place."""

from __future__ import annotations

import copy
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from secateur.cli import main
from secateur.exceptions import SecateurError, StorageError
from secateur.model_selection.comparison import Comparison
from secateur.path import OneStandardError, Score, SelectionPath, Step, StopReason
from secateur.path.path import load_rule
from secateur.report import gather_evidence, load_evidence

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from examples import make_comparison, make_evidence, make_path


def documents():
    """A path with evidence and costs, one with tasks on a grid, and a comparison."""
    path = make_path(costs=[1.0, 2.0, 3.5, 4.0], unit="ms")
    first = path.to_json(evidence=make_evidence(path).to_json(), rule=OneStandardError())
    rng = np.random.default_rng(0)
    score = Score.of([0.5, 0.25], origin="held_out", metric="log_loss")
    steps = [Step.of([0], score=score), Step.of([0, 5], supports={"x": [0], "y": [0, 5]})]
    tasks = SelectionPath(steps, StopReason.FINISHED, [f"p{i}" for i in range(6)], "demo")
    X, y = rng.normal(size=(40, 6)), np.arange(40.0)
    grid = gather_evidence(X, y, tasks, target_type="regression", grid_shape=(2, 3))
    return [json.loads(text) for text in (
        first, tasks.to_json(evidence=grid.to_json()), make_comparison().to_json()
    )]  # fmt: skip


def deep(n_levels):
    value = []
    for _ in range(n_levels):
        value = [value]
    return value


VALUES = [
    *(None, True, False, 0, 1, -1, 2, 7, 10**6, 2**31, 2**63, -(2**63), 10**30, 10**400),
    *(0.0, -0.0, 0.5, -2.5, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf),
    *("", "a", "1", "nan", "inf", "held_out", "regression", "done", "<script>", "x" * 5000),
    *("\ud800", "\x00\x1b[31m\u202e", [], [[]], [0], [1, 2], ["a"], [None], [0.5, "nan"]),
    *({}, {"a": 1}, {"$float": "nan"}, {"$float": "x"}, {"": None}, deep(30), deep(70), deep(250)),
]


def places(value, found):
    """All containers of a document, and the keys of what they hold."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list):
            places(item, found)
    return found


def mutate(document, rng):
    """Change a document in one to three places."""
    for _ in range(rng.integers(1, 4)):
        found = places(document, [])
        held, key = found[rng.integers(len(found))]
        kind = rng.integers(7)
        if kind <= 2:
            held[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        elif kind == 3:
            del held[key]
        elif kind == 4:
            other, name = found[rng.integers(len(found))]
            held[key] = copy.deepcopy(other[name])
        elif kind == 5 and isinstance(held, list):
            held.insert(key, copy.deepcopy(held[key]))
        elif kind == 5:
            held[f"{key}2"] = copy.deepcopy(held[key])
        elif isinstance(held[key], int | float) and not isinstance(held[key], bool):
            held[key] = held[key] + rng.choice([-1, 1, 0.5, 1000]).item()
        elif isinstance(held[key], list):
            held[key] = held[key][::-1]
        else:
            held[key] = str(held[key]).upper()
    return document


def check_file(file, capsys, commands=slice(None)):
    """Load a file in every way there is, and run some commands on it."""
    is_comparison = b'"secateur.comparison"' in file.read_bytes()[:1000]
    kind = Comparison if is_comparison else SelectionPath
    loaded, message = None, ""
    try:
        loaded = kind.load(file)
    except StorageError as error:
        message = str(error)
    if loaded is None:
        assert message.startswith(str(file))
    else:
        repr(loaded)
        str(loaded)
        loaded.to_rows()
        loaded._repr_html_()
        assert kind.from_json(loaded.to_json()).to_json() == loaded.to_json()
    if not is_comparison:
        for load in (load_rule, load_evidence):
            try:
                load(file)
            except SecateurError:
                continue
    out = str(file.with_name("page.html"))
    all_commands = [
        ["report", str(file), "--out", out, "--force", "--quiet"],
        *(["cut", str(file), *rule] for rule in ([], ["--best"], ["--at-most", "2", "--json"])),
    ]
    codes = {main(command) for command in all_commands[commands]}
    assert codes <= {0, 1}
    assert loaded is not None or codes == {1}
    capsys.readouterr()


@pytest.mark.parametrize(
    ("seed", "n_files"),
    [
        pytest.param(0, 200),
        *[pytest.param(seed, 500, marks=pytest.mark.slow) for seed in range(1, 21)],
    ],
)
def test_edited_files_are_read_or_refused(tmp_path, capsys, seed, n_files):
    rng, originals = np.random.default_rng(seed), documents()
    for number in range(n_files):
        document = mutate(copy.deepcopy(originals[rng.integers(len(originals))]), rng)
        file = tmp_path / "path.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        try:
            some = number % 4
            check_file(file, capsys, slice(some, some + 1) if seed == 0 else slice(None))
        except Exception as error:
            error.add_note(f"seed {seed}, file {number}")
            raise
