"""The answer comes first, is compared and verified, and stays when Ctrl-C ends the command."""

from __future__ import annotations

import json

import pytest

from secateur.cli import console
from secateur.exceptions import InputError
from secateur.model_selection import held_out
from secateur.model_selection.candidates import Evaluation

from .conftest import QUICK, python  # noqa: TID252 - beside this file

RESULTS = ["features.txt", "path.json", "report.html", "selection.json"]
AUTO = ("--cv", "2", "--set", "candidates=grafting,featboost", "--set", "cv=2", "--method", "auto")


@pytest.fixture
def events(monkeypatch):
    """What happens, in order: answers, fits in folds, results."""
    seen = []

    def noted(kind, name, what):
        original = getattr(kind, name)

        def noting(*args, **options):
            seen.append(what)
            return original(*args, **options)

        monkeypatch.setattr(kind, name, noting)

    noted(console.Console, "answer", "answer")
    noted(console.Console, "result", "result")
    noted(held_out, "_fit_folds", "folds")
    noted(Evaluation, "run", "comparison")
    return seen


def interrupt(*args, **options):
    raise KeyboardInterrupt


def saved(folder):
    return json.loads((folder / "selection.json").read_text())


def test_the_answer_comes_before_the_folds(run, table, events, tmp_path):
    done = run("select", table, "-y", "y", "-o", "r", *QUICK)
    assert done.code == 0, done.err
    assert events == ["answer", "folds", "result"]
    first, _, rest = done.out.partition("Features: ")
    assert first.startswith("Answer of AGBMClassifier on all rows after")
    assert "Verified by nested cross-validation in 2 folds." in rest
    assert "5 fits: 1 on all rows, 2 in folds, 2 of all features in folds." in done.err
    assert saved(tmp_path / "r")["verification"]["status"] == "complete"
    assert "Verified by nested" in (tmp_path / "r" / "report.html").read_text()


def test_with_json_the_answer_is_a_message(run, table):
    done = run("select", table, "-y", "y", "--json", "-o", "r", *QUICK)
    assert "Answer of AGBMClassifier" in done.err
    assert done.document["verification"]["folds"] == 2
    quiet = run("select", table, "-y", "y", "--json", "-q", "-o", "s", *QUICK)
    assert quiet.err == ""
    assert quiet.document["features"]


def test_without_verification_there_is_one_fit(run, table, events, tmp_path):
    done = run("select", table, "-y", "y", "--no-verify", "-o", "r", *QUICK)
    assert done.code == 0, done.err
    assert events == ["answer", "result"]
    document = saved(tmp_path / "r")
    assert document["fits"]["total"] == 1
    assert document["verification"]["status"] == "skipped"
    assert "--no-verify" in done.out
    assert "1 fit: 1 on all rows." in done.err
    assert '<p class="warning"><strong>Not verified' in (tmp_path / "r" / "report.html").read_text()
    assert sorted(file.name for file in (tmp_path / "r").iterdir()) == RESULTS


def test_ctrl_c_before_the_first_fold_keeps_the_answer(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(held_out, "_fit_folds", interrupt)
    done = run("select", table, "-y", "y", "-o", "r", *QUICK)
    assert done.code == 130
    document = saved(tmp_path / "r")
    assert document["verification"] | {"sentence": ""} == {
        "status": "interrupted",
        "folds": 0,
        "planned": 2,
        "sentence": "",
    }
    assert "Not verified: the command was interrupted." in done.out
    assert document["features"]
    assert document["fits"]["total"] == 1
    assert sorted(file.name for file in (tmp_path / "r").iterdir()) == RESULTS


def test_ctrl_c_after_a_fold_keeps_its_scores(run, table, tmp_path, monkeypatch):
    results_of = held_out.results_of

    def one_result(tasks, processes):
        yield next(results_of(tasks, processes))
        raise KeyboardInterrupt

    monkeypatch.setattr(held_out, "results_of", one_result)
    done = run("select", table, "-y", "y", "-o", "r", *QUICK)
    assert done.code == 130
    document = saved(tmp_path / "r")
    assert (document["verification"]["status"], document["verification"]["folds"]) == (
        "interrupted",
        1,
    )
    assert "1 of 2 folds" in done.out
    assert document["score"]["origin"] == "held_out"


def test_ctrl_c_in_the_comparison_keeps_the_answer(run, table, tmp_path, monkeypatch, events):
    monkeypatch.setattr(Evaluation, "run", interrupt)
    done = run("select", table, "-y", "y", "-o", "r", "--test", table, *AUTO)
    assert done.code == 130, done.err
    assert events == ["answer", "result"]
    document = saved(tmp_path / "r")
    assert document["comparison"]["winner"] == "grafting"
    assert {each["status"] for each in document["comparison"]["candidates"]} == {"not_compared"}
    assert "test" not in document


def test_an_answer_that_cannot_be_verified_stays(run, table, tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise InputError("Folds must have rows. Got none. Give more.")

    monkeypatch.setattr(held_out, "_fit_folds", refuse)
    done = run("select", table, "-y", "y", "-o", "r", *QUICK)
    assert done.code == 0, done.err
    assert "Not verified: Folds must have rows." in done.out
    assert saved(tmp_path / "r")["verification"]["status"] == "failed"


def test_ctrl_c_before_the_answer_leaves_nothing(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr("secateur.cli.selection.fit_clone", interrupt)
    assert run("select", table, "-y", "y", "-o", "r", *QUICK).code == 130
    assert not (tmp_path / "r").exists()


# ---- several methods --------------------------------------------------------------------------


def test_methods_are_compared_after_the_first_answer(run, table, events, tmp_path):
    done = run("select", table, "-y", "y", "-o", "r", "--for-model", "linear", *AUTO)
    assert done.code == 0, done.err
    assert events[:3] == ["answer", "comparison", "comparison"]
    assert events[-2:] == ["folds", "result"]
    assert "At most 12 fits: 1 on all rows, 7 to compare methods, 2 in folds" in done.err
    document = saved(tmp_path / "r")
    compared = document["comparison"]
    assert document["method"] == "auto"
    assert [each["method"] for each in compared["candidates"]] == ["grafting", "featboost"]
    assert [each["method"] for each in compared["candidates"] if each["is_winner"]] == [
        compared["winner"]
    ]
    assert document["fits"]["comparison"] in {6, 7}
    page = (tmp_path / "r" / "report.html").read_text()
    for text in (done.out, page):
        assert "Grafting" in text
        assert "FeatBoost" in text
    assert "for a linear model" in done.out
    assert "Methods compared" in page


def test_a_winner_that_takes_numbers_only_is_verified_on_a_table_with_text(run, table, tmp_path):
    alone = ("--set", "candidates=grafting", "--cv", "2", "--method", "auto", "--test", table)
    done = run("select", table, "-y", "y", "-o", "r", *alone)
    assert done.code == 0, done.err
    document = saved(tmp_path / "r")
    assert document["n_features_in"] == 5
    assert {"a", "c"} <= {row["name"] for row in document["features"]}
    assert document["verification"]["status"] == "complete"
    assert document["test"]["mean"] < 0.5


def test_the_default_is_auto_and_agbm_where_its_parameters_are_given(run, table, tmp_path):
    done = run("select", table, "-y", "y", "-o", "r", "--no-verify", "--time-limit", 0.001)
    assert done.code == 0, done.err
    assert saved(tmp_path / "r")["method"] == "auto"
    assert saved(tmp_path / "r")["comparison"]["winner"] == "agbm"
    run("select", table, "-y", "y", "-o", "s", "--no-verify", "--penalty", 0.1)
    assert saved(tmp_path / "s")["method"] == "agbm"
    refused = run("select", table, "-y", "y", "--for-model", "knn", "--method", "agbm")
    assert refused.code == 1
    assert "'--for-model' is for --method auto" in refused.err
    unknown = run("select", table, "-y", "y", "--for-model", "forest")
    assert unknown.code == 1
    assert "'for_model' must be 'trees', 'linear', 'knn'" in unknown.err


def test_what_draws_pages_is_not_loaded_before_the_answer(table, tmp_path):
    code = (
        "import sys\n"
        "from secateur.cli import main\n"
        "from secateur.cli.console import Console\n"
        "def answer(self, *shown):\n"
        "    print(*{name.split('.')[0] for name in sys.modules})\n"
        "    raise KeyboardInterrupt\n"
        "Console.answer = answer\n"
        "main(sys.argv[1:])\n"
    )
    done = python("-c", code, "select", str(table), "-y", "y", *QUICK, cwd=tmp_path)
    loaded = set(done.stdout.split())
    assert "sklearn" in loaded
    assert loaded.isdisjoint({"plotly", "jinja2", "matplotlib", "dask", "distributed"})
