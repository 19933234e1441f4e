"""``secateur select`` on files that do not fit into the memory it may take."""

from __future__ import annotations

import json

import numpy as np
import pytest

from secateur.path import SelectionPath

from .conftest import QUICK  # noqa: TID252 - beside this file

TINY = ("--memory-limit", "100MB")  # Python and its libraries take more
RESULTS = ["features.txt", "path.json", "report.html", "selection.json"]


def test_all_results_come_from_a_table_on_disk(run, table, tmp_path):
    done = run("select", table, "-y", "y", "--out", "r", *TINY, *QUICK)
    assert done.code == 0, done.err
    assert "100 MB" in done.err
    assert "block by block" in done.err
    folder = tmp_path / "r"
    assert sorted(file.name for file in folder.iterdir()) == RESULTS
    document = json.loads((folder / "selection.json").read_text())
    assert {"a", "c"} <= {row["name"] for row in document["features"]}
    assert document["score"]["origin"] == document["all_features"]["origin"] == "held_out"
    assert document["data"] == {"file": "table.csv", "rows": 120, "features": 5}
    assert any("table on disk" in note for note in document["notes"])
    path = SelectionPath.load(folder / "path.json")
    assert path.feature_names == ("a", "b", "c", "d", "colour")
    assert "table on disk" in (folder / "report.html").read_text()


def test_the_same_features_as_in_memory(run, tmp_path):
    """Few different numbers, so that bins are the same in every fold."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(400, 8))
    y = X[:, 1] + X[:, 4] + rng.normal(size=400).round(3)
    lines = [",".join([*(f"x{j}" for j in range(8)), "y"])]
    lines += [",".join(map(str, [*row, value])) for row, value in zip(X, y, strict=True)]
    file = tmp_path / "whole.csv"
    file.write_text("\n".join(lines) + "\n")
    found = []
    for out, more in (("memory", ()), ("disk", TINY)):
        done = run("select", file, "-y", "y", "--out", out, *more, *QUICK)
        assert done.code == 0, done.err
        document = json.loads((tmp_path / out / "selection.json").read_text())
        found.append({key: document[key] for key in ("features", "score", "all_features")})
    assert found[0] == found[1]


def test_a_cache_is_used_again(run, table, tmp_path, monkeypatch):
    from secateur.storage import open_table as opening

    cache = tmp_path / "tables"
    result = ("select", table, "-y", "y", "--cache", cache, *TINY, *QUICK)
    assert run(*result, "--out", "one").code == 0
    assert len(list(cache.iterdir())) == 1

    def fail(*_, **__):
        raise AssertionError

    monkeypatch.setattr(opening, "survey", fail)
    assert run(*result, "--out", "two").code == 0


def test_held_out_rows_are_a_sample_and_that_is_said(run, table, tmp_path, monkeypatch):
    from secateur.storage import sampled_rows

    monkeypatch.setattr(sampled_rows, "SAMPLE_ROWS", 60)
    done = run("select", table, "-y", "y", "--out", "r", *TINY, *QUICK)
    assert done.code == 0, done.err
    assert "60 of 120" in done.err
    saved = json.loads((tmp_path / "r" / "path.json").read_text())
    evidence = saved["evidence"]
    evidence = json.loads(evidence) if isinstance(evidence, str) else evidence
    assert (evidence["n_rows"], evidence["n_sampled"]) == (120, 60)


def test_test_rows_costs_and_weights_work_as_ever(run, table, tmp_path):
    (tmp_path / "costs.csv").write_text("feature,cost\na,3\ncolour,2\n")
    done = run("select", table, "-y", "y", "--weight", "b", "--out", "r", *TINY, *QUICK)
    assert done.code == 1
    assert "Weights must be numbers >= 0" in done.err
    done = run(
        "select", table, "-y", "y", "--costs", "costs.csv", "--test", table, "--keep", "d",
        "--group-column", "who", "--out", "r", "--json", *TINY, *QUICK,
    )  # fmt: skip
    assert done.code == 0, done.err
    document = done.document
    assert document["test"]["rows"] == 120
    assert "d" in [row["name"] for row in document["features"]]
    assert "colour" not in [row["name"] for row in document["features"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "featboost"), "agbm, fg, gbfs, grafting, gtgbm, multitask"),
        (("--write-data",), "--write-data"),
        (("--time-column", "a"), "must fit into memory"),
    ],
)
def test_what_needs_memory_is_refused_before_any_work(run, table, tmp_path, options, words):
    done = run("select", table, "-y", "y", "--out", "r", *TINY, *options)
    assert done.code == 1
    assert words in done.err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("method", ["grafting", "fg"])
def test_methods_of_numbers_read_them_from_disk(run, table, tmp_path, method):
    """Categories become columns of 0 and 1; scores come from rows that took no part."""
    result = ("select", table, "-y", "y", "--method", method, "--cv", "2", "--test", table)
    result += ("--max-features", "3")
    done = run(*result, "--out", "r", "--json", *TINY)
    assert done.code == 0, done.err
    assert "block by block" in done.err
    document = done.document
    names = {row["name"] for row in document["features"]}
    assert {"a", "c"} & names
    assert len(names) <= 3
    assert document["score"]["origin"] == document["all_features"]["origin"] == "held_out"
    assert document["test"]["rows"] == 120
    path = SelectionPath.load(tmp_path / "r" / "path.json")
    assert {"a", "b", "c", "d", "colour"} <= set(path.feature_names)
    assert sorted(file.name for file in (tmp_path / "r").iterdir()) == RESULTS
    if method == "grafting":  # bins have no part in it: all is as it is in memory
        assert run(*result, "--out", "m", "--json").document["score"]["mean"] == pytest.approx(
            document["score"]["mean"], rel=1e-4
        )


def test_feature_gradients_do_not_go_to_a_cluster(run, table):
    done = run("select", table, "-y", "y", "--method", "fg", "--workers", "1")
    assert done.code == 1
    assert "agbm, gbfs, grafting, gtgbm, multitask. Got 'fg'" in done.err


def test_a_limit_that_is_none_is_refused(run, table):
    done = run("select", table, "-y", "y", "--memory-limit", "banana")
    assert done.code == 1
    assert "100 MB" in done.err
    assert "'banana'" in done.err


def test_arrays_are_read_into_memory_whatever_the_limit(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    np.savez(tmp_path / "a.npz", X=X, y=(X[:, 0] > 0).astype(int))
    done = run("select", "a.npz", "-y", "y", "--out", "r", *TINY, *QUICK)
    assert done.code == 0, done.err
    assert "disk" not in done.err
