"""Paths on disk: exact, strict, whole or not at all, and old ones still load."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from path_differences import explain_difference

from secateur.exceptions import StorageError
from secateur.path import Score, SelectionPath, Step, StopReason, codec
from secateur.path.path import saved_with

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "path_v1.json"
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), ANY_FLOAT, st.text())
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=8,
)


@st.composite
def scores(draw, origin="held_out"):
    folds = draw(st.lists(ANY_FLOAT, max_size=3))
    standard_error = draw(st.one_of(st.floats(min_value=0), st.just(math.nan)))
    return Score(draw(ANY_FLOAT), standard_error, tuple(folds), origin, "log_loss", False)


@st.composite
def steps(draw):
    order = draw(st.permutations(range(6)))[: draw(st.integers(0, 6))]
    weight = draw(st.lists(ANY_FLOAT, min_size=6, max_size=6))
    return Step.of(
        order,
        weight,
        penalty=draw(ANY_FLOAT),
        objective=draw(ANY_FLOAT),
        cost=draw(ANY_FLOAT),
        score=draw(st.one_of(st.none(), scores())),
        details=draw(st.dictionaries(st.text(), SCALAR, max_size=2)),
        model=object(),
    )


@given(st.lists(steps(), max_size=4), st.dictionaries(st.text(), VALUE, max_size=3), st.text())
def test_round_trip_is_exact_and_the_json_strict(raw, parameters, name):
    path = SelectionPath(
        raw,
        StopReason.PATIENCE,
        [name, "b", "c", "d", "e", "f"],
        "demo",
        "alpha",
        "ms",
        parameters,
        {"numpy": "2"},
    )
    text = path.to_json()

    def refuse(constant):
        raise AssertionError(constant)

    json.loads(text, parse_constant=refuse)
    again = SelectionPath.from_json(text)
    assert explain_difference(path, again) == ""
    assert again.versions == path.versions
    assert all(step.model is None for step in again)


def test_seconds_are_kept(make_path):
    path = SelectionPath([Step([0], [0], [1.0], 0.1, 0.2, seconds=1.25)], "finished", ["a"], "demo")
    assert SelectionPath.from_json(path.to_json())[0].seconds == 1.25


def test_loaded_arrays_are_frozen_and_typed(make_path):
    step = SelectionPath.from_json(make_path([0, 2]).to_json())[0]
    assert step.support.dtype == np.int64
    assert not step.order.flags.writeable


def test_save_and_load(make_path, tmp_path):
    path = make_path([1, 2], [0.5, math.nan])
    file = tmp_path / "path.json"
    path.save(file)
    assert explain_difference(path, SelectionPath.load(str(file))) == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["path.json"]


def test_evidence_goes_along_and_readers_of_the_path_do_not_see_it(make_path, tmp_path):
    path, file = make_path([1, 2], [0.5, 0.4]), tmp_path / "path.json"
    path.save(file, evidence='{"n_rows": 3}')
    assert explain_difference(path, SelectionPath.load(file)) == ""
    assert saved_with(file, "evidence") == {"n_rows": 3}
    path.save(file)
    assert saved_with(file, "evidence") is None


def test_a_failed_save_leaves_the_old_file_and_no_litter(make_path, tmp_path, monkeypatch):
    file = tmp_path / "path.json"
    make_path([1]).save(file)
    before = file.read_bytes()

    def fail(self, target):
        raise OSError("disk is gone")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk is gone"):
        make_path([1, 2]).save(file)
    assert file.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["path.json"]


def test_saving_through_a_link_keeps_the_link(make_path, tmp_path):
    file, link = tmp_path / "path.json", tmp_path / "link.json"
    make_path([1]).save(file)
    try:
        link.symlink_to(file)
    except OSError:
        pytest.skip("no links here")
    make_path([1, 2]).save(link)
    assert link.is_symlink()
    assert len(SelectionPath.load(file)) == 2


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        SelectionPath.load(tmp_path / "nothing.json")


def test_the_error_names_the_file(tmp_path):
    file = tmp_path / "broken.json"
    file.write_text("{")
    with pytest.raises(StorageError, match=r"broken\.json.*JSON"):
        SelectionPath.load(file)


def test_a_truncated_file_is_refused(make_path, tmp_path):
    text = make_path([1, 2, 3], [0.5, 0.4, 0.3]).to_json()
    for end in range(0, len(text), 17):
        with pytest.raises(StorageError, match="JSON"):
            SelectionPath.from_json(text[:end])


@pytest.mark.parametrize("text", [b"\xff\xfe\x00\x01\xff", b"PK\x03\x04", "[" * 100_000, ""])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(StorageError, match="JSON"):
        SelectionPath.from_json(text)


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}", '{"format": "other", "version": 1}'])
def test_another_kind_of_file_is_refused(text):
    with pytest.raises(StorageError, match=r"secateur\.path"):
        SelectionPath.from_json(text)


def document():
    return json.loads(GOLDEN.read_text())


def test_a_newer_version_is_refused():
    with pytest.raises(StorageError, match="version 3"):
        SelectionPath.from_json(json.dumps(document() | {"version": 3, "steps": "new"}))


@pytest.mark.parametrize("version", [None, "1", 0, -1, 1.0, True])
def test_a_senseless_version_is_refused(version):
    with pytest.raises(StorageError, match="version"):
        SelectionPath.from_json(json.dumps(document() | {"version": version}))


@pytest.mark.parametrize(
    "damage",
    [
        {"steps": None},
        {"steps": {"a": 1}},
        {"steps": [1]},
        {"feature_names": "abc"},
        {"feature_names": ["a"]},
        {"stop_reason": "bored"},
        {"parameters": [1]},
        {"parameters": {"a": {"$float": "x"}}},
    ],
)
def test_damage_is_refused(damage):
    with pytest.raises(StorageError, match="damaged"):
        SelectionPath.from_json(json.dumps(document() | damage))


@pytest.mark.parametrize(
    "damage",
    [
        {"order": [0, 0]},
        {"order": ["a"]},
        {"order": [10**30]},
        {"order": [2**63]},
        {"order": [0.5]},
        {"order": 3},
        {"weight": []},
        {"weight": ["x", "y"]},
        {"control": None},
        {"details": [1]},
        {"score": 3},
        {"score": {"mean": 1}},
    ],
)
def test_a_damaged_step_is_refused(damage):
    facts = document()
    facts["steps"][1] |= damage
    with pytest.raises(StorageError, match="damaged"):
        SelectionPath.from_json(json.dumps(facts))


def test_every_missing_key_is_refused():
    for key in document():
        facts = document()
        del facts[key]
        with pytest.raises(StorageError):
            SelectionPath.from_json(json.dumps(facts))


def test_an_unknown_key_is_ignored():
    facts = document() | {"mood": "good"}
    facts["steps"][0]["mood"] = "better"
    assert explain_difference(SelectionPath.from_json(json.dumps(facts)), golden_path()) == ""


def golden_path():
    folds = (0.25, 0.125, 0.1)
    score = Score(0.15833333333333333, 0.046398036, folds, "held_out", "log_loss", False)
    steps = [
        Step.of([2], [0, 0, 3.5, 0], penalty=0.1, objective=0.5, details={"round": 3}),
        Step.of([2, 0], [0.1, 0, 4.25, 0], penalty=0.1, objective=1 / 3, cost=2.5, score=score),
        Step.of([], penalty=math.inf, objective=-0.0, details={"gain": math.nan, "note": "ä"}),
    ]
    parameters = {"penalty": 0.1, "depth": [1, 2], "loss": {"name": None}, "limit": math.inf}
    versions = {"secateur": "0.1.0", "numpy": "2.0.0", "python": "3.11.0"}
    names = ("age", "größe", "<b>", "x3")
    reason = StopReason.MAX_FEATURES
    return SelectionPath(steps, reason, names, "golden", "penalty", "ms", parameters, versions)


def test_a_file_of_version_1_still_loads():
    assert explain_difference(SelectionPath.load(GOLDEN), golden_path()) == ""
    assert dict(SelectionPath.load(GOLDEN).versions) == dict(golden_path().versions)


def test_only_scores_have_changed_since_version_1():
    assert json.loads(golden_path().to_json()) == document() | {"version": 2}


def saved_by_version_1(metric, origin, **more):
    score = {"mean": 1.5, "spread": 0.5, "folds": [1.0, 2.0], "origin": origin, "metric": metric}
    step = {"order": [0], "weight": [1.0], "control": 0.1, "objective": 0.0, "cost": "nan"}
    step |= {"seconds": 0.0, "score": score | {"greater_is_better": False}, "details": {}}
    document = json.loads(GOLDEN.read_bytes()) | {"steps": [step], "version": 1, **more}
    return SelectionPath.from_json(json.dumps(document))[0].score


@pytest.mark.parametrize(
    ("metric", "origin", "more", "now", "factor"),
    [
        ("squared_error", "inner", {}, "squared_error", 2.0),
        ("squared_error", "held_out", {}, "squared_error or half of it", 1.0),
        ("squared_error", "held_out", {"evidence": {"all_features": {}}}, "squared_error", 1.0),
        ("poisson", "held_out", {}, "poisson_deviance", 2.0),
        ("quantile", "held_out", {}, "pinball_loss", 1.0),
        ("log_loss", "held_out", {}, "log_loss", 1.0),
        ("relative squared_error", "held_out", {}, "relative squared_error", 1.0),
    ],
)
def test_scores_of_version_1_are_not_misread(metric, origin, more, now, factor):
    score = saved_by_version_1(metric, origin, **more)
    assert score.metric == now
    assert (score.mean, score.standard_error) == (1.5 * factor, 0.5 * factor)
    assert score.folds == (1.0 * factor, 2.0 * factor)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("steps[1].order[1]", 0.5),
        ("steps[1].order[0]", True),
        ("steps[1].weight[1]", "x"),
        ("steps[1].score.spread", None),
        ("steps[1].score.folds[2]", "high"),
        ("steps[1].score.origin", "inside"),
        ("steps[2].details", [1]),
        ("steps[0].control", 10**400),
        ("feature_names[2]", 3),
        ("feature_names[1]", "\ud800"),
        ("stop_reason", []),
        ("parameters.limit", {"$float": "x"}),
        ("versions.numpy", 2),
    ],
)
def test_the_error_names_the_place_in_the_file(place, value):
    facts = document()
    *outer, last = re.findall(r"\w+", place)
    held = facts
    for key in outer:
        held = held[int(key) if isinstance(held, list) else key]
    held[int(last) if isinstance(held, list) else last] = value
    with pytest.raises(StorageError, match=re.escape(f"Got {place}")):
        SelectionPath.from_json(json.dumps(facts))


def test_the_error_names_the_step_whose_values_do_not_fit():
    facts = document()
    facts["steps"][1]["weight"].append(1.0)
    with pytest.raises(StorageError, match=r"Got steps\[1\]: 'weight'.*3 weights for 2 features"):
        SelectionPath.from_json(json.dumps(facts))
    del facts["steps"][0]["score"]
    with pytest.raises(StorageError, match=r"Got no steps\[0\]\.score"):
        SelectionPath.from_json(json.dumps(facts))


@pytest.mark.parametrize("n_levels", [61, 200, 900, 100_000])
def test_deep_nesting_is_refused_wherever_it_is(n_levels):
    for key in ("parameters", "steps", "evidence", "mood"):
        text = json.dumps(document() | {key: "HERE"})
        text = text.replace('"HERE"', "[" * n_levels + "]" * n_levels)
        with pytest.raises(StorageError, match=r"deep|JSON"):
            SelectionPath.from_json(text)


def test_errors_of_writing_name_the_file_not_the_draft(tmp_path):
    with pytest.raises(OSError, match=r"lost/path\.json") as caught:
        codec.write_whole(tmp_path / "lost" / "path.json", "{}")
    assert ".tmp" not in str(caught.value)
