"""``secateur select``: from a file to a folder of results."""

from __future__ import annotations

import gzip
import json
import os
import threading

import numpy as np
import pytest

from secateur.cli.console import Console
from secateur.cli.data import DataRequest, load
from secateur.path import SelectionPath
from secateur.storage.reading.dataset import Roles
from secateur.storage.reading.dialect import ReadOptions

from .conftest import QUICK  # noqa: TID252 - beside this file

RESULTS = ["features.txt", "path.json", "report.html", "selection.json"]


def names_in(folder):
    return sorted(file.name for file in folder.iterdir())


def test_the_main_job(run, table, tmp_path):
    done = run("select", table, "--target", "y", "--out", "r", *QUICK)
    assert done.code == 0, done.err
    folder = tmp_path / "r"
    assert names_in(folder) == RESULTS
    chosen = (folder / "features.txt").read_text().split("\n")[:-1]
    assert {"a", "c"} <= set(chosen)
    document = json.loads((folder / "selection.json").read_text())
    assert {row["name"] for row in document["features"]} == set(chosen)
    assert document["target_type"] == "classification"
    assert document["score"]["origin"] == document["all_features"]["origin"] == "held_out"
    assert all(0 <= row["frequency"] <= 1 for row in document["features"])
    assert sum(row["gain"] for row in document["features"]) == pytest.approx(1)
    path = SelectionPath.load(folder / "path.json")
    assert path.feature_names == ("a", "b", "c", "d", "colour")
    for name in chosen:
        assert name in done.out
    assert "in folds" in done.out
    assert "table.csv: 120 rows, 5 features" in (folder / "report.html").read_text()
    assert "report.html" in done.out


def test_what_was_guessed_is_said_on_stderr_and_kept(run, table, tmp_path):
    done = run("select", table, "-y", "y", "-o", "r", *QUICK)
    document = json.loads((tmp_path / "r" / "selection.json").read_text())
    for word in ("'who'", "categories: 'colour'", "Target type: classification"):
        assert word in done.err
        assert word in " ".join(document["notes"])
        assert word not in done.out


def test_json_is_all_that_stands_on_stdout(run, table):
    done = run("select", table, "-y", "y", "--json", "--out", "r", *QUICK)
    document = done.document
    assert document["format"] == "secateur.selection"
    assert document["files"] == RESULTS
    assert document["folder"] == "r"


def test_features_that_few_folds_selected_are_unstable(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X[:, 0] + 2 * rng.normal(size=60) > 0
    lines = ["a,b,c,d,e,f,g,h,y"]
    lines += [",".join(map(str, [*row, int(t)])) for row, t in zip(X.round(3), y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    options = ("--penalty", 0.0, "--set", "max_depth=1", "--cut", "best", "-o", "r")
    done = run("select", "t.csv", "-y", "y", *options, *QUICK)
    document = json.loads((tmp_path / "r" / "selection.json").read_text())
    unstable = {row["name"] for row in document["features"] if row["unstable"]}
    assert unstable == {row["name"] for row in document["features"] if row["frequency"] < 0.5}
    assert unstable  # as this table is nearly noise
    assert all(name in document["unstable_sentence"] for name in unstable)
    assert "unstable" in done.out
    assert document["unstable_sentence"] in (tmp_path / "r" / "report.html").read_text()


def test_quiet_says_results_only(run, table):
    assert run("select", table, "-y", "y", "--quiet", "--out", "r", *QUICK).err == ""


def test_the_same_seed_gives_the_same_result(run, table, tmp_path):
    for out in ("r", "s"):
        run("select", table, "-y", "y", "--out", out, "--seed", 3, *QUICK)
    one, two = (json.loads((tmp_path / out / "path.json").read_text()) for out in ("r", "s"))
    for document in (one, two):
        for step in document["steps"]:
            del step["seconds"]
    assert one == two


def test_without_out_a_free_name_is_found(run, table, tmp_path):
    for _ in range(2):
        assert run("select", table, "-y", "y", *QUICK).code == 0
    assert names_in(tmp_path / "table-selection") == RESULTS
    assert names_in(tmp_path / "table-selection-2") == RESULTS


@pytest.fixture
def fitted(monkeypatch):
    """The names of the estimators whose fit is called, without fits inside of other fits."""
    from sklearn.linear_model import LogisticRegression

    import secateur

    calls, depth = [], [0]

    def counted(kind):
        original = kind.fit

        def fit(self, *args, **options):
            if not depth[0]:
                calls.append(type(self).__name__)
            depth[0] += 1
            try:
                return original(self, *args, **options)
            finally:
                depth[0] -= 1

        monkeypatch.setattr(kind, "fit", fit)

    for kind in (secateur.AGBMClassifier, secateur.FeatureGradientsSelector, LogisticRegression):
        counted(kind)
    return calls


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"all_rows": 1, "folds": 2, "all_features": 2, "subsets": 0, "test": 0}),
        (("--cv", 3), {"all_rows": 1, "folds": 3, "all_features": 3, "subsets": 0, "test": 0}),
        (("--test",), {"all_rows": 1, "folds": 2, "all_features": 2, "subsets": 0, "test": 1}),
    ],
)
def test_the_number_of_fits_is_printed_and_saved(run, table, fitted, options, expected):
    options = (*options, table) if "--test" in options else options
    done = run("select", table, "-y", "y", "--json", "-o", "r", *QUICK, *options)
    assert done.code == 0, done.err
    fits = done.document["fits"]
    assert {name: fits[name] for name in expected} == expected
    assert len(fitted) == fits["total"] == sum(expected.values())
    assert f"{fits['total'] - fits['test']} fits" in done.err


def test_a_method_without_predictions_fits_a_linear_model_once_for_each_subset(run, table, fitted):
    options = ("--method", "fg", "--cv", 2, "--set", "max_epochs=20", "--test", table)
    done = run("select", table, "-y", "y", "--json", "-o", "r", *options)
    assert done.code == 0, done.err
    fits = done.document["fits"]
    assert fits["subsets"] > 0
    assert fits["test"] == 2
    assert fitted.count("FeatureGradientsSelector") == 1 + 2
    assert len(fitted) == fits["total"]


# ---- limits, costs, groups --------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "expected"), [((), {"a", "b"}), (("--max-features", 1), {"a"})])
def test_at_most_one_feature(run, tmp_path, limit, expected):
    X = np.random.default_rng(0).normal(size=(120, 3))
    lines = [f"{a},{b},{c},{2 * a + b}" for a, b, c in X.tolist()]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,y", *lines]))
    done = run("select", "t.csv", "-y", "y", *limit, "--json", "-o", "r", *QUICK)
    assert {each["name"] for each in done.document["features"]} == expected


@pytest.mark.parametrize("method", ["agbm", "grafting"])
def test_costs_and_a_budget(run, table, tmp_path, method):
    (tmp_path / "costs.csv").write_text("feature,cost\na,5\nc,2\nwho,9\n")
    quick = QUICK if method == "agbm" else ("--cv", "2", "--drop", "colour")
    done = run(
        *("select", table, "-y", "y", "--costs", "costs.csv", "--budget", 4, "--cost-unit", "euro"),
        *("--method", method, "--json", "-o", "r", *quick),
    )
    assert done.code == 0, done.err
    document = done.document
    assert document["cost"] <= 4
    assert document["cost_unit"] == "euro"
    assert "a" not in {row["name"] for row in document["features"]}
    assert "cost 1: 'b'" in done.err


def test_groups_are_paid_for_once(run, table, tmp_path):
    (tmp_path / "costs.csv").write_text("a,5\nc,5\nb,1\nd,1\ncolour,1\n")
    (tmp_path / "groups.csv").write_text("feature,group\na,blood\nc,blood\n")
    options = ("--costs", "costs.csv", "--feature-groups", "groups.csv", "--keep", "a,c")
    done = run("select", table, "-y", "y", *options, "--json", "-o", "r", *QUICK)
    rows = {row["name"]: row for row in done.document["features"]}
    assert rows["a"]["groups"] == rows["c"]["groups"] == ["blood"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,5\nzz,1\n", "'zz'"),
        ("a,-1\n", ">= 0"),
        ("a,5\nb,dear\n", "'dear'"),
        ("a,5,6\n", "two columns"),
        ("", "empty"),
    ],
)
def test_costs_that_cannot_be_read(run, table, tmp_path, text, reason):
    (tmp_path / "costs.csv").write_text(text)
    done = run("select", table, "-y", "y", "--costs", "costs.csv", *QUICK)
    assert done.code == 1
    assert reason in done.err


# ---- judging ----------------------------------------------------------------------------------


def test_a_test_file_is_scored_at_the_end(run, table, tmp_path):
    lines = table.read_text().splitlines()
    (tmp_path / "train.csv").write_text("\n".join(lines[:90]))
    (tmp_path / "test.csv").write_text("\n".join([lines[0], *lines[90:]]))
    done = run(
        *("select", "train.csv", "-y", "y", "--test", "test.csv", "--scoring", "accuracy"),
        *("--json", "-o", "r", *QUICK),
    )
    test = done.document["test"]
    assert test["rows"] == 31
    assert test["metric"] == "accuracy"
    assert test["mean"] > 0.7
    assert test["all_features"]["metric"] == "accuracy"
    assert test["all_features"]["mean"] > 0.7
    assert test["all_features"]["model"] == "AGBMClassifier"
    shown = run("select", "train.csv", "-y", "y", "--test", "test.csv", "-o", "s", *QUICK).out
    assert "31 rows of test.csv" in shown
    assert "with all features" in shown
    assert "with all features" in (tmp_path / "s" / "report.html").read_text()


def test_a_test_file_that_cannot_be_read_is_refused_before_any_work(run, table, tmp_path):
    (tmp_path / "test.csv").write_text("a,b\n1,2\n")
    done = run("select", table, "-y", "y", "--test", "test.csv", *QUICK)
    assert done.code == 1
    assert "Selecting" not in done.err


def test_a_method_without_predictions_is_tested_by_a_linear_model(run, table):
    done = run(
        *("select", table, "-y", "y", "--method", "fg", "--test", table, "--cv", 2, "--json"),
        *("-o", "r", "--set", "max_epochs=20"),
    )
    assert done.code == 0, done.err
    assert done.document["test"]["rows"] == 120
    assert done.document["test"]["all_features"]["model"] == "LogisticRegression"
    assert "'colour' becomes a column of 0 and 1" in done.err


@pytest.mark.parametrize("option", ["--group-column", "--time-column"])
def test_folds_follow_groups_or_time(run, tmp_path, option):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    lines = ["a,b,c,k,y"]
    lines += [f"{a},{b},{c},{i % 7},{a > 0:d}" for i, (a, b, c) in enumerate(X)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    done = run("select", "t.csv", "-y", "y", option, "k", "--json", "-o", "r", *QUICK)
    assert done.code == 0, done.err
    assert done.document["data"]["features"] == 3


def test_time_and_groups_together_are_refused(run, table):
    done = run("select", table, "-y", "y", "--time-column", "a", "--group-column", "b")
    assert done.code == 1
    assert "Use one" in done.err


# ---- the reduced file -------------------------------------------------------------------------


def test_the_reduced_file_has_the_chosen_columns_and_the_target(run, table, tmp_path):
    content = gzip.compress(table.read_bytes())
    (tmp_path / "table.csv.gz").write_bytes(content)
    run("select", "table.csv.gz", "-y", "y", "--write-data", "-o", "r", *QUICK)
    written = gzip.decompress((tmp_path / "r" / "table.selected.csv.gz").read_bytes()).decode()
    chosen = (tmp_path / "r" / "features.txt").read_text().split()
    head = written.splitlines()[0].split(",")
    assert set(head) == {*chosen, "y"}
    assert len(written.splitlines()) == 121
    cells = dict(zip(head, written.splitlines()[1].split(","), strict=True))
    first = dict(
        zip(
            ["a", "b", "c", "d", "colour", "who", "y"],
            table.read_text().splitlines()[1].split(","),
            strict=True,
        )
    )
    assert cells == {name: first[name] for name in head}


def test_sparse_files_need_no_target_option(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.random((80, 10)) < 0.4
    y = rows[:, 3]
    lines = [
        f"{int(label)} " + " ".join(f"{j + 1}:1" for j in np.flatnonzero(row))
        for label, row in zip(y, rows, strict=True)
    ]
    (tmp_path / "t.libsvm").write_text("\n".join(lines))
    done = run("select", "t.libsvm", "--write-data", "--json", "-o", "r", *QUICK)
    assert done.code == 0, done.err
    assert [row["name"] for row in done.document["features"]] == ["x4"]
    assert "t.selected.libsvm" in done.document["files"]


# ---- what goes wrong --------------------------------------------------------------------------

WRONG = [
    (("--target", "z"), 1, "'z' must be a column"),
    ((), 1, "--target"),
    (("-y", "y", "--method", "agbmm"), 1, "Did you mean 'agbm'"),
    (("-y", "y", "--method", "iis"), 1, "classification"),
    (("-y", "y", "--set", "depth=3"), 1, "max_depth"),
    (("-y", "y", "--set", "max_depth"), 1, "name=value"),
    (("-y", "y", "--set", "max_depth=-1"), 1, "'max_depth' must be"),
    (("-y", "y", "--cut", "middle"), 1, "one-se"),
    (("-y", "y", "--keep", "z"), 1, "'z'"),
    (("-y", "y", "--drop", "z"), 1, "'z'"),
    (("-y", "y", "--max-features", "0"), 2, "max-features"),
    (("-y", "y", "--max-features", "many"), 2, "max-features"),
    (("-y", "y", "--target-type", "clustering"), 2, "clustering"),
    (("-y", "y", "--nonsense"), 2, "nonsense"),
    (("-y", "y", "--scoring", "nonsense"), 1, "scoring"),
    (("-y", "y", "--test", "none.csv"), 1, "no such file"),
    (("-y", "y", "--encoding", "klingon"), 1, "klingon"),
    (("-y", "y", "--out", "no/such/folder"), 1, "Make"),
]


@pytest.mark.parametrize(("options", "code", "reason"), WRONG, ids=lambda value: str(value)[:40])
def test_what_is_wrong_is_said_with_the_right_exit_code(run, table, options, code, reason):
    before = sorted(table.parent.iterdir())
    done = run("select", table, *options, "--json", *QUICK)
    assert done.code == code
    assert reason in done.err
    assert done.out == ""
    assert sorted(table.parent.iterdir()) == before
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input(run, table, monkeypatch, name):
    with table.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        ran = run("select", name, "-y", "y", "--penalty", "0.1", *QUICK, "--json")
    assert ran.code == 0
    assert "stdin: 120 rows" in ran.err
    assert ran.document["folder"] == "stdin-selection"


def test_a_pipe(run, table, tmp_path):
    os.mkfifo(tmp_path / "p")
    writer = threading.Thread(target=(tmp_path / "p").write_bytes, args=[table.read_bytes()])
    writer.start()
    ran = run("select", "p", "-y", "who")
    writer.join()
    assert ran.code == 1
    assert "120 different texts" in ran.err


def test_no_such_file(run):
    done = run("select", "nothing.csv", "-y", "y")
    assert done.code == 1
    assert "no such file" in done.err


def test_names_with_markup_are_shown_as_text(run, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    lines = ['"[bold]<script>alert(1)</script>",y', *(f"{v},{v > 0:d}" for v in a)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    done = run("select", "t.csv", "-y", "y", "-o", "r", *QUICK)
    assert done.code == 0, done.err
    assert "[bold]<script>alert(1)</script>" in done.out
    assert "<script>alert(1)" not in (tmp_path / "r" / "report.html").read_text()


def test_characters_that_terminals_obey_are_escaped(run, table, tmp_path):
    name = "a\x1b[2J\u202e"
    file = tmp_path / "t\u202e.csv"
    file.write_text(table.read_text().replace("a,b", f"{name},b", 1))
    ran = run("select", file, "-y", "y", "--keep", name, "--penalty", "0.1", *QUICK, "-o", "r")
    assert ran.code == 0
    assert not set("\x1b\u202e") & set(ran.out + ran.err)
    assert "a\\x1b[2J\\u202e" in ran.out
    assert "t\\u202e.csv: 120 rows" in ran.err
    assert name in (tmp_path / "r" / "features.txt").read_text()
    failed = run("select", tmp_path / "no\x1b.csv", "-y", "y")
    assert "no\\x1b.csv" in failed.err


@pytest.mark.parametrize(("more", "bins"), [((), 32), (("--set", "max_bins=200"), 200)])
def test_columns_of_short_and_wide_files_get_fewer_bins_and_that_is_said(run, tmp_path, more, bins):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1000)).round(3)
    y = (X[:, 3] > 0).astype(int)
    rows = [",".join([*map(str, row), f"c{label}"]) for row, label in zip(X, y, strict=True)]
    names = ",".join([*(f"x{j}" for j in range(1000)), "y"])
    (tmp_path / "wide.csv").write_text("\n".join([names, *rows]))
    done = run("select", "wide.csv", "-y", "y", "--json", "-o", "s", *QUICK, *more)
    assert done.document["parameters"]["max_bins"] == bins
    said = "at most 32 bins"
    assert (said in done.err) is (bins == 32)
    assert any(said in note for note in done.document["notes"]) is (bins == 32)


@pytest.fixture
def towns(tmp_path):
    """Two columns of text and two of numbers, all but the last of which matter."""
    rng = np.random.default_rng(0)
    town, pet = rng.integers(0, 6, 120), rng.integers(0, 3, 120)
    x, z = rng.normal(size=(2, 120))
    y = np.array([3.0, -2.0, 1.5, 0.0, 0.0, -1.0])[town] + np.array([1.0, -1.0, 0.5])[pet]
    y += 0.4 * x + 0.1 * rng.normal(size=120)
    cells = zip(town, x, pet, z, y, strict=True)
    lines = [f"t{a},{b:.3f},p{c},{d:.3f},{e:.3f}" for a, b, c, d, e in cells]
    file = tmp_path / "towns.csv"
    file.write_text("\n".join(["town,x,pet,z,y", *lines]) + "\n")
    (tmp_path / "costs.csv").write_text("town,13\nx,2\npet,5\nz,1\n")
    return file


@pytest.mark.parametrize("method", ["grafting", "feature-gradients", "agbm"])
def test_columns_of_text_are_chosen_counted_and_priced_as_one(run, towns, tmp_path, method):
    quick = ("--set", "max_iter=5", "--set", "penalty=[0.01]") if method == "agbm" else ()
    given = ("--target", "y", "--method", method, "--costs", "costs.csv", "--cv", "2", *quick)
    run("select", towns, *given, "--out", "out", "--write-data", "--test", towns)
    document = json.loads((tmp_path / "out" / "selection.json").read_text())
    prices = {"town": 13.0, "x": 2.0, "pet": 5.0, "z": 1.0}
    names = [row["name"] for row in document["features"]]
    assert {"town", "pet"} <= set(names) <= set(prices)
    assert document["n_features"] == len(names) == len(set(names))
    assert (document["n_features_in"], document["data"]["features"]) == (4, 4)
    assert document["cost"] == sum(prices[name] for name in names)
    assert sorted((tmp_path / "out" / "features.txt").read_text().split()) == sorted(names)
    header = (tmp_path / "out" / "towns.selected.csv").read_text().split("\n")[0]
    assert header == ",".join(name for name in [*prices, "y"] if name in {*names, "y"})
    path = json.loads((tmp_path / "out" / "path.json").read_text())
    assert path["feature_names"] == list(prices)
    assert "town=" not in (tmp_path / "out" / "report.html").read_text()
    again = run("cut", "out", "--at-most", "4", "--json").document
    assert {row["name"] for row in again["features"]} <= set(prices)


@pytest.mark.parametrize("method", ["grafting", "feature-gradients"])
@pytest.mark.parametrize(
    "limit", [("--max-features", "2"), ("--cut", "2"), ("--keep", "town", "--max-features", "2")]
)
def test_limits_count_columns_of_text_once(run, towns, tmp_path, method, limit):
    run("select", towns, "-y", "y", "--method", method, "--cv", "2", *limit, "--out", "out")
    document = json.loads((tmp_path / "out" / "selection.json").read_text())
    assert {row["name"] for row in document["features"]} == {"town", "pet"}


def test_a_wide_file_keeps_its_columns_of_text(tmp_path):
    cells = ",".join("1" * 2100)
    lines = [f"{'ab'[row % 2]},{cells},{row % 2}" for row in range(40)]
    names = ",".join(f"x{j}" for j in range(2100))
    (tmp_path / "wide.csv").write_text("\n".join([f"town,{names},y", *lines]))
    request = DataRequest(tmp_path / "wide.csv", Roles("y"), ReadOptions(), None)
    assert (
        load(request, Console(force=False, as_json=False, quiet=True), "agbm").features.X["town"][1]
        == "b"
    )
