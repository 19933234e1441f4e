"""Cutting rules that are kept with a path."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from secateur.exceptions import StorageError
from secateur.path import (
    AtMost,
    Best,
    Elbow,
    OneStandardError,
    SelectionPath,
    Step,
    StopReason,
    load_rule,
)
from secateur.path import WithinBudget as Within
from secateur.path.rules import rule_from_document, rule_to_document

RULES = [Best(), OneStandardError(), OneStandardError(0.5), Elbow(), AtMost(3), Within(2.5)]
RULES.append(Within(float("inf")))


def make_path():
    return SelectionPath([Step.of([0]), Step.of([0, 1])], StopReason.FINISHED, "abc", "demo")


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_rule_comes_back_from_strict_json_as_it_was(rule):
    text = json.dumps(rule_to_document(rule), allow_nan=False)
    assert rule_from_document(json.loads(text)) == rule


def test_a_selection_knows_its_rule_and_a_file_keeps_it(tmp_path):
    path = make_path()
    chosen = path.cut(1)
    path.save(tmp_path / "p.json", rule=chosen.chooser)
    assert chosen.chooser == AtMost(1)
    assert load_rule(tmp_path / "p.json") == AtMost(1)
    assert SelectionPath.load(tmp_path / "p.json").cut(AtMost(1)).index == chosen.index


def test_files_without_a_rule_are_read_as_before(tmp_path):
    file = tmp_path / "p.json"
    make_path().save(file)
    assert "cut" not in json.loads(file.read_text())
    assert load_rule(file) is None


class Odd:
    """A rule of the user's own."""

    def choose(self, path):
        return 0

    def sentence(self, path, index):
        return "The first."


def test_a_rule_of_ones_own_is_not_kept():
    path = make_path()
    assert rule_to_document(path.cut(Odd()).chooser) is None
    assert "cut" not in json.loads(path.to_json(rule=Odd()))


@pytest.mark.parametrize(
    "document",
    [
        {"version": 1, "kind": "oracle"},
        {"version": 99, "kind": "best"},
        {"kind": "best"},
        {"version": 1, "kind": "at_most"},
        {"version": 1, "kind": "at_most", "n_features": 0},
        [1],
        "best",
    ],
)
def test_damaged_rules_are_refused_and_the_path_still_loads(tmp_path, document):
    file = tmp_path / "p.json"
    file.write_text(json.dumps({**json.loads(make_path().to_json()), "cut": document}))
    with pytest.raises(StorageError, match=r"p\.json.*rule"):
        load_rule(file)
    assert len(SelectionPath.load(file)) == 2


def test_keys_of_a_later_time_are_ignored():
    assert rule_from_document({"version": 1, "kind": "best", "mood": "good"}) == Best()


def test_a_rule_of_the_user_may_add_fields_to_one_of_the_library():
    @dataclass(frozen=True)
    class Named(OneStandardError):
        name: str = "mine"

    assert Named(2).multiple == 2.0
    assert Named(name="other").name == "other"
