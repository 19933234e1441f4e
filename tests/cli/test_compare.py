"""``secateur compare``: a comparison that can be interrupted and continued."""

from __future__ import annotations

import csv
import json

import pytest

RESULTS = ["comparison.json", "report.html", "scores.csv", "summary.json"]
FEW = ("--methods", "f_classif,random", "--validators", "knn", "--cv", 2, "--sizes", "1,2")


def test_a_comparison(run, table, tmp_path):
    done = run("compare", table, "-y", "y", "-o", "r", *FEW)
    assert done.code == 0, done.err
    folder = tmp_path / "r"
    assert sorted(file.name for file in folder.iterdir()) == RESULTS
    document = json.loads((folder / "summary.json").read_text())
    assert set(document["methods"]) == {"f_classif", "random"}
    assert document["ranks"][0]["method"] == "f_classif"
    assert document["failures"] == []
    with (folder / "scores.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["method"] for row in rows} == {"f_classif", "random"}
    assert "f_classif" in done.out
    assert not (tmp_path / "r.trials.json").exists()


def test_json_and_names_of_features(run, table, tmp_path):
    from secateur.model_selection.comparison import Comparison

    done = run("compare", table, "-y", "y", "--json", "-o", "r", *FEW)
    assert done.document["files"] == RESULTS
    comparison = Comparison.load(tmp_path / "r" / "comparison.json")
    assert comparison.feature_names == ("a", "b", "c", "d", "colour")


def test_methods_for_numbers_take_a_file_with_text(run, table, tmp_path):
    (tmp_path / "few.csv").write_text("\n".join(table.read_text().split("\n")[:41]))
    options = ("--methods", "grafting,fg,l1,mutual_info,all", *FEW[2:])
    done = run("compare", "few.csv", "-y", "y", "--json", "-o", "r", *options)
    assert done.document["failures"] == []
    assert done.document["data"]["features"] == 5
    sizes = {point["n_features"] for point in done.document["methods"]["all"]["scores"]}
    assert sizes == {5.0}  # a column of text is one feature


def test_a_method_that_fails_is_reported_and_not_fatal(run, tmp_path, monkeypatch):
    from secateur.model_selection import baselines

    def fail(columns):
        raise RuntimeError("the disk of the method is full")

    monkeypatch.setitem(baselines.RANKERS, "random", fail)
    lines = ["a,b,y", *(f"{i * 7 % 11},{i * 5 % 13},{i % 2}" for i in range(60))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    done = run("compare", "t.csv", "-y", "y", "--json", "-o", "r", *FEW)
    assert done.code == 0, done.err
    assert {failure["method"] for failure in done.document["failures"]} == {"random"}
    assert "the disk of the method is full" in done.err


def test_a_method_for_another_task_is_reported_and_not_fatal(run, table, tmp_path):
    options = ("--methods", "f_classif,iis,f_regression,multitask", *FEW[2:])
    done = run("compare", table, "-y", "y", "-o", "r", *options)
    assert done.code == 0, done.err
    document = json.loads((tmp_path / "r" / "summary.json").read_text())
    reasons = {each["method"]: each["message"] for each in document["failures"]}
    assert reasons.keys() == {"iis", "f_regression", "multitask"}
    assert "which is for regression" in reasons["iis"]
    assert "the task of each row" in reasons["multitask"]
    assert [rank["method"] for rank in document["ranks"]] == ["f_classif"]
    assert "0 of 2" in done.out
    assert done.err.count("'iis', which is for regression") == 1  # said once, not for each fold
    assert "which is for regression" in (tmp_path / "r" / "report.html").read_text()


def test_a_comparison_that_no_method_finishes_is_written_and_an_error(
    run, table, tmp_path, monkeypatch
):
    from secateur.model_selection import baselines

    def fail(columns):
        raise RuntimeError("the disk of the method is full")

    monkeypatch.setitem(baselines.RANKERS, "random", fail)
    done = run("compare", table, "-y", "y", "-o", "r", "--methods", "random,iis", *FEW[2:])
    assert done.code == 1
    assert "the disk of the method is full" in done.err
    assert (tmp_path / "r" / "summary.json").exists()


def test_an_interrupted_comparison_continues_with_what_was_finished(
    run, table, tmp_path, monkeypatch
):
    from secateur.model_selection import trials as running

    tried = []
    run_trial = running.run_trial

    def noted(context, spec):
        tried.append((spec.name, spec.fold))
        return run_trial(context, spec)

    def interrupted(context, spec):
        if len(tried) == 2:
            import signal

            signal.raise_signal(signal.SIGINT)
        return noted(context, spec)

    monkeypatch.setattr(running, "run_trial", interrupted)
    done = run("compare", table, "-y", "y", "-o", "r", *FEW)
    assert done.code == 130
    assert "--resume" in done.err
    assert not (tmp_path / "r").exists()
    again = run("compare", table, "-y", "y", "-o", "r", *FEW)
    assert again.code == 1
    assert "--resume" in again.err
    monkeypatch.setattr(running, "run_trial", noted)
    last = run("compare", table, "-y", "y", "-o", "r", "--resume", *FEW)
    assert last.code == 0, last.err
    assert sorted(tried) == [(name, fold) for name in ("f_classif", "random") for fold in (0, 1)]
    assert not (tmp_path / "r.trials.json").exists()


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        (("--methods", "f_clasif"), 1, "Did you mean 'f_classif'"),
        (("--methods", "iis"), 1, "which is for regression"),
        (("--validators", "oracle"), 1, "oracle"),
        (("--sizes", "few"), 2, "sizes"),
        (("--task-column", "colour"), 2, "colour"),
    ],
)
def test_what_is_wrong_is_said(run, table, options, code, reason):
    done = run("compare", table, "-y", "y", *options)
    assert done.code == code
    assert reason in done.err
    assert "Traceback" not in done.err


def test_a_page_of_a_saved_comparison(run, table, tmp_path):
    run("compare", table, "-y", "y", "-o", "r", *FEW)
    done = run("report", "r", "--out", "page.html")
    assert done.code == 0, done.err
    assert "f_classif" in (tmp_path / "page.html").read_text()


def test_a_file_that_cannot_fit_is_refused_before_it_is_read(run, table, tmp_path, monkeypatch):
    from secateur.data import memory

    monkeypatch.setattr(memory, "available_memory", lambda: 1_000)
    done = run("compare", table, "-y", "y", "-o", "r", *FEW)
    assert done.code == 1
    assert "table.csv" in done.err
    assert "use secateur select" in done.err
    assert not (tmp_path / "r").exists()
    missing = run("compare", "lost.csv", "-y", "y", *FEW)
    assert missing.code == 1
    assert "lost.csv" in missing.err
