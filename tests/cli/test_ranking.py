"""``--query-column``, and queries of LIBSVM files."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from secateur.datasets import make_ranking

from .conftest import QUICK  # noqa: TID252 - beside this file

MADE = make_ranking(30, (3, 10), n_features=5, n_informative=2, random_state=1)


@pytest.fixture
def searches(tmp_path):
    frame = pd.DataFrame(MADE.X, columns=MADE.feature_names)
    frame = frame.assign(grade=MADE.y, query=[f"q{number}" for number in MADE.query])
    frame[MADE.query < 25].to_csv(tmp_path / "searches.csv", index=False)
    frame[MADE.query >= 25].to_csv(tmp_path / "more.csv", index=False)
    return tmp_path / "searches.csv"


def document_of(folder):
    return json.loads((folder / "selection.json").read_text())


def test_ranking_is_guessed_from_the_queries(run, searches, tmp_path):
    more = ("--test", tmp_path / "more.csv", "-o", "r", *QUICK)
    done = run("select", searches, "-y", "grade", "--query-column", "query", *more)
    assert done.code == 0, done.err
    assert "Target type: ranking, since rows belong to queries, 'query'" in done.err
    document = document_of(tmp_path / "r")
    assert document["target_type"] == "ranking"
    assert document["score"]["metric"] == document["test"]["metric"] == "ndcg@10"
    assert "query" not in {row["name"] for row in document["features"]}


def test_queries_of_a_libsvm_file(run, tmp_path):
    dump_svmlight_file(MADE.X, MADE.y, str(tmp_path / "searches.svm"), query_id=MADE.query)
    done = run("select", tmp_path / "searches.svm", "-o", "r", *QUICK)
    assert done.code == 0, done.err
    assert document_of(tmp_path / "r")["target_type"] == "ranking"


@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_a_table_on_disk_gives_the_same(run, searches, tmp_path, kind):
    given = (searches, "-y", "grade", "--query-column", "query")
    if kind == "svm":
        given = (tmp_path / "searches.svm",)
        dump_svmlight_file(MADE.X, MADE.y, str(given[0]), query_id=MADE.query)
    found = {}
    for out, limit in (("memory", ()), ("disk", ("--memory-limit", "100MB"))):
        done = run("select", *given, "-o", tmp_path / out, *limit, *QUICK)
        assert done.code == 0, done.err
        assert ("written to a table on disk" in done.err) == (out == "disk")
        found[out] = document_of(tmp_path / out)
    one, other = ([row["name"] for row in found[out]["features"]] for out in found)
    assert one == other
    # bins on disk are those of all rows, in memory those of each fold's
    scores = [found[out]["score"]["mean"] for out in found]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)
    assert found["disk"]["score"]["metric"] == "ndcg@10"


def test_compare_by_query(run, searches, tmp_path):
    given = (searches, "-y", "grade", "--query-column", "query", "--methods", "agbm,random")
    more = ("--sizes", "2", "--cv", "2", "--validators", "ridge", "-o", tmp_path / "r")
    done = run("compare", *given, *more)
    assert done.code == 0, done.err
    document = json.loads((tmp_path / "r" / "comparison.json").read_text())
    assert document["metric"] == "ndcg@10"
    assert {trial["method"] for trial in document["trials"]} == {"agbm", "random"}


def test_what_is_wrong(run, searches):
    done = run("select", searches, "-y", "grade", "--target-type", "ranking", *QUICK)
    assert done.code != 0
    assert "Name it: --query-column" in done.err
    more = ("--query-column", "query", "--target-type", "regression", *QUICK)
    done = run("select", searches, "-y", "grade", *more)
    assert done.code != 0
    assert "A column of queries is for ranking" in done.err
    done = run("select", searches, "-y", "grade", "--query-column", "nothing", *QUICK)
    assert done.code != 0
    assert "'nothing' must be a column of the file" in done.err
    done = run("select", searches, "-y", "grade", "--query-column", MADE.feature_names[0], *QUICK)
    assert done.code != 0
    assert "queries of one row each" in done.err
    done = run("select", searches, "-y", "query", "--query-column", "grade", *QUICK)
    assert done.code != 0
    assert "must hold numbers for ranking" in done.err
