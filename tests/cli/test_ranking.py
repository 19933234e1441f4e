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


def test_what_is_wrong(run, searches):
    done = run("select", searches, "-y", "grade", "--target-type", "ranking", *QUICK)
    assert done.code != 0
    assert "Name it: --query-column" in done.err
    more = ("--query-column", "query", "--target-type", "regression", *QUICK)
    done = run("select", searches, "-y", "grade", *more)
    assert done.code != 0
    assert "A column of queries is for ranking" in done.err
