"""``secateur select --method multitask``: several tasks in one file, from rows to page."""

from __future__ import annotations

import json

import numpy as np
import pytest

# fits that are quick; what they choose does not matter here
FEW = ("--set", "max_iter=10", "--set", "learning_rate=0.4", "--set", "group_penalty=[0.05,0.02]")
QUICK = ("--cv", "2", "--set", "cv=2", "--set", "common_trees=False", *FEW)


def write(file, *, numbers=False, n_rows=240, seed=0):
    """Two sites with a common column and one of their own each, classes or numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(4)
    site = np.where(np.arange(n_rows) % 2, "north", "south")
    y = 2 * X[:, 0] + np.where(site == "north", X[:, 1], X[:, 2])
    result = y.round(4) if numbers else np.where(y > 0, "yes", "no")
    lines = ["a,b,c,d,site,y"]
    lines += [
        ",".join([*map(str, row), s, str(t)]) for row, s, t in zip(X, site, result, strict=True)
    ]
    file.write_text("\n".join(lines) + "\n")
    return file


def select(run, file, *more):
    return run("select", file, "-y", "y", "--method", "multitask", *more, *QUICK)


def test_tasks_of_classes(run, tmp_path):
    file = write(tmp_path / "t.csv")
    done = select(run, file, "--task-column", "site", "-o", "r", "--write-data")
    assert done.code == 0, done.err
    document = json.loads((tmp_path / "r" / "selection.json").read_text())
    assert document["algorithm"] == "MultitaskAGBMClassifier"
    assert document["data"]["features"] == 4
    assert set(document["tasks"]) == {"north", "south"}
    assert "a" in document["tasks"]["north"]
    assert "a" in document["tasks"]["south"]
    assert document["score"]["origin"] == document["all_features"]["origin"] == "held_out"
    used = {row["name"]: row["tasks"] for row in document["features"]}
    assert used["a"] == ["north", "south"]
    for task, names in document["tasks"].items():
        assert {name for name, tasks in used.items() if task in tasks} == set(names)
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Features by task" in page
    assert "north, south" in done.out
    head = (tmp_path / "r" / "t.selected.csv").read_text().split("\n")[0].split(",")
    assert {"a", "site", "y"} <= set(head)


def test_tasks_of_numbers_with_further_rows(run, tmp_path):
    file = write(tmp_path / "t.csv", numbers=True)
    more = write(tmp_path / "more.csv", numbers=True, n_rows=60, seed=1)
    done = select(run, file, "--task-column", "site", "--test", more, "--json", "-o", "r")
    assert done.code == 0, done.err
    document = done.document
    assert document["algorithm"] == "MultitaskAGBMRegressor"
    test = document["test"]
    assert test["metric"] == document["score"]["metric"] == "relative squared_error"
    assert test["rows"] == 60
    assert 0 < test["all_features"]["mean"] < 1  # better than a constant
    assert test["all_features"]["model"] == "MultitaskAGBMRegressor"


def test_a_saved_path_of_tasks_makes_a_page(run, tmp_path):
    file = write(tmp_path / "t.csv")
    select(run, file, "--task-column", "site", "-o", "r")
    file.unlink()
    assert run("report", "r", "-o", "page.html").code == 0
    assert "Features by task" in (tmp_path / "page.html").read_text()
    assert run("cut", "r", "--best", "--json").document["tasks"].keys() == {"north", "south"}


@pytest.mark.parametrize(
    ("ways", "numbers"), [("False", False), ("True", True), ("True", False), ("auto", True)]
)
def test_a_table_on_disk_gives_what_memory_gives(run, tmp_path, numbers, ways):
    """Few different numbers, so that bins are the same for every task and in every fold."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(300, 4))
    number = rng.permutation(np.arange(300) % 3) + 7
    y = X[:, 0] + np.where(number == 7, X[:, 1], X[:, 2]) + 0.3 * rng.normal(size=300)
    result = y.round(3) if numbers else np.where(y > y.mean(), "yes", "no")
    rows = [[*row, n, t] for row, n, t in zip(X, number, result, strict=True)]
    file, more = tmp_path / "t.csv", tmp_path / "more.csv"
    for name, some in ((file, rows[:240]), (more, rows[240:])):
        name.write_text("\n".join(["a,b,c,d,site,y", *(",".join(map(str, r)) for r in some)]))
    asked = ("--set", f"common_trees={ways}", "--set", "cv=2", "--cv", "2", "--set", "max_iter=3")
    asked += ("--set", "learning_rate=0.5", "--set", "max_depth=2", "--test", more)
    asked += () if ways == "auto" else FEW[-2:]
    found = []
    for out, limit in (("memory", ()), ("disk", ("--memory-limit", "100MB"))):
        result = ("select", file, "-y", "y", "--method", "multitask", "--task-column", "site")
        done = run(*result, "-o", out, *asked, *limit)
        assert done.code == 0, done.err
        assert ("block by block" in done.err) == bool(limit)
        document = json.loads((tmp_path / out / "selection.json").read_text())
        found.append({key: document[key] for key in ("features", "score", "tasks", "test")})
        assert "Features by task" in (tmp_path / out / "report.html").read_text()
    assert set(found[0]["tasks"]) == {"7", "8", "9"}
    assert found[0]["score"]["origin"] == "held_out"
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--method", "multitask"), "Got no --task-column"),
        (("--method", "multitask", "--task-column", "sight"), "Did you mean 'site'"),
        (("--method", "multitask", "--task-column", "a"), "whole numbers"),
        (("--method", "agbm", "--task-column", "site"), "--method multitask"),
        (("--method", "multitask", "--task-column", "site", "--keep", "site"), "--keep"),
    ],
)
def test_what_is_wrong_with_tasks_is_said(run, tmp_path, options, reason):
    done = run("select", write(tmp_path / "t.csv"), "-y", "y", "--json", *options)
    assert (done.code, done.out) == (1, "")
    assert reason in done.err
    assert "Traceback" not in done.err


def test_further_rows_of_an_unknown_task_are_refused_before_any_work(run, tmp_path):
    file = write(tmp_path / "t.csv")
    more = tmp_path / "more.csv"
    more.write_text("a,b,c,d,site,y\n1,1,1,1,east,yes\n")
    done = select(run, file, "--task-column", "site", "--test", more)
    assert done.code == 1
    assert "Got 'east'" in done.err
    assert "Selecting" not in done.err


def test_rows_without_a_task_and_tasks_too_small_are_refused(run, tmp_path):
    file = write(tmp_path / "t.csv")
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines, "1,1,1,1,,yes"]))
    assert "1 of 241 rows without one" in select(run, file, "--task-column", "site").err
    file.write_text("\n".join([*lines, "1,1,1,1,west,yes"]))
    done = select(run, file, "--task-column", "site")
    assert done.code == 1
    assert "task 'west'" in done.err


def test_every_public_selector_can_be_reached_by_a_name():
    import secateur
    from secateur.cli.methods import TARGET_TYPES, selector_class
    from secateur.model_selection.methods import selector_classes

    public = {getattr(secateur, name) for name in secateur.__all__}
    selectors = {each for each in public if isinstance(each, type) and hasattr(each, "with_cut")}
    names = {task: sorted(selector_classes(task)) for task in TARGET_TYPES}
    reached = {selector_class(name, task) for task in TARGET_TYPES for name in names[task]}
    assert reached == selectors
    assert len(selectors) >= 14


def test_every_method_is_named_in_the_help(run):
    from secateur.cli.methods import TARGET_TYPES
    from secateur.model_selection.methods import selector_classes

    result = " ".join(run("select", "--help").out.split())
    for task in TARGET_TYPES:
        for name in selector_classes(task):
            assert f" {name}" in result


@pytest.mark.parametrize(
    ("written", "task", "name"),
    [
        ("GT-GBM", "regression", "GTGBMRegressor"),
        ("feature-gradients", "classification", "FeatureGradientsSelector"),
        ("FG", "regression", "FeatureGradientsSelector"),
        ("multitask_agbm", "classification", "MultitaskAGBMClassifier"),
        ("FeatBoost", "regression", "FeatBoostRegressor"),
        ("iis", "regression", "IISRegressor"),
    ],
)
def test_methods_may_be_written_as_people_write_them(written, task, name):
    from secateur.cli.methods import selector_class

    assert selector_class(written, task).__name__ == name
