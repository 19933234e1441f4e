from __future__ import annotations

import base64
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from report.examples import HOSTILE, make_comparison, make_evidence, make_path

from secateur.exceptions import MissingDependencyError, ParameterError
from secateur.path import SelectionPath, Step, StopReason
from secateur.report import Entry, html, page, write_page
from secateur.report.association import TargetGroups, distribution
from secateur.report.facts import entry_facts
from secateur.report.figures import all_paths, describe, score_curves, value_range

LIMIT = 2_500_000


class Reader(HTMLParser):
    """What a browser would see: elements, attributes, text outside of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.inside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def facts_in(text):
    found = re.search(r'<script type="application/json" id="facts">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


@pytest.fixture(scope="module")
def hostile():
    names = [HOSTILE, *(f"f{feature}" for feature in range(1, 6))]
    path = make_path(names=names, costs=[1.0, 3.0, 5.0, 9.0], unit=HOSTILE, penalty_name=HOSTILE)
    evidence = make_evidence(path, costs=[1, 2, 2, 4, 1, 1], feature_groups={HOSTILE: [0, 1]})
    entry = Entry(HOSTILE, path, None, evidence)
    return page([entry], comparison=make_comparison(), about={HOSTILE: HOSTILE, "title": HOSTILE})


def test_names_with_markup_are_escaped(hostile):
    seen = Reader(hostile)
    assert seen.tags.count("script") == 4  # the facts, the page's own, plotly, the call
    assert seen.tags.count("b") == 1  # ours: the name of the method that failed
    assert HOSTILE in seen.text
    assert not [name for name, _ in seen.attributes if name.startswith("on")]


def test_facts_in_the_page_are_json_without_markup(hostile):
    facts = facts_in(hostile)
    assert facts["entries"][0]["features"][2][0] == HOSTILE
    figure = facts["entries"][0]["figures"]["size"]
    assert all("<script" not in text for text in figure["data"][0]["hovertext"])


def test_characters_that_browsers_obey_are_escaped():
    name = "age\x1b[2J\u202eevil\u2066"
    path = make_path(names=[name, *"bcdef"], unit=name, penalty_name=name)
    evidence = make_evidence(path, feature_groups={name: [0, 1]})
    text = page([Entry(name, path, None, evidence)], about={name: name, "title": name})
    assert not set("\x1b\u202e\u2066") & set(text)
    facts = facts_in(text)
    assert not set("\x1b\u202e\u2066") & set(json.dumps(facts, ensure_ascii=False))
    assert "age\\x1b[2J\\u202eevil\\u2066" in [row[0] for row in facts["entries"][0]["features"]]


def test_ranges_are_those_of_the_values():
    rng = np.random.default_rng(0)
    values = np.array([*rng.integers(0, 100, 300), 7, 4321.0])
    drawn = distribution(values, None, TargetGroups(("all",), np.zeros(302, np.int64)))
    assert value_range(drawn) == "0 … 4320"
    assert "from 0 to 4321" in describe("x", drawn, ("all",))
    assert drawn.edges[-1] < 200


def test_there_is_no_legend_of_what_is_not_drawn():
    path = make_path()
    evidence = make_evidence(path)
    assert 'class="legend"' in page([Entry("d", path, None, evidence)])
    without = replace(evidence, distributions=(), features=(), association=(), substitutes=())
    assert 'class="legend"' not in page([Entry("d", path, None, without)])
    steps = [replace(s, score=replace(s.score, standard_error=math.nan)) for s in path]
    text = page([Entry("d", replace(path, steps=steps))])
    assert "The ring is the cut" in text
    assert "The band" not in text


def test_counts_have_ticks_at_whole_numbers():
    facts = entry_facts(Entry("d", make_path()))
    assert score_curves(facts)["size"]["layout"]["xaxis"]["dtick"] == 1


def test_paths_of_several_data_sets_are_not_on_one_axis():
    one, other = make_path(), make_path(names=list("uvwxyz"))
    same = [entry_facts(Entry(name, one)) for name in "ab"]
    assert all_paths(same) is not None
    assert all_paths([same[0], entry_facts(Entry("c", other))]) is None
    evidence = make_evidence(one)
    known = [replace(evidence, n_rows=n) for n in (evidence.n_rows, evidence.n_rows + 1)]
    assert all_paths([entry_facts(Entry("d", one, None, each)) for each in known]) is None


def test_the_page_needs_no_network(hostile):
    seen = Reader(hostile)
    wanted = [value for name, value in seen.attributes if name in {"src", "href", "action"}]
    assert all(value.startswith(("#", "data:")) for value in wanted)
    policy = next(v for n, v in seen.attributes if n == "content" and "default-src" in (v or ""))
    assert "default-src 'none'" in policy
    style = re.search(r"<style>(.*?)</style>", hostile, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_the_answer_comes_first():
    path = make_path()
    text = Reader(page([Entry("demo", path)])).text
    answer = entry_facts(Entry("demo", path)).chosen.answer
    assert 0 < text.index(answer) < 150


def test_settings_and_code_that_reproduces_them_are_shown():
    text = Reader(
        page(
            [Entry("demo", make_path())],
            about={"File": "a.csv", "command": "secateur select a.csv"},
        )
    ).text
    assert "secateur select a.csv" in text
    assert 'selector = DemoSelector( max_depth=4, loss="auto", )' in text
    assert "Filea.csv" in text  # a term and its definition


def test_very_long_names_are_cut_and_longer_in_the_title():
    path = make_path(names=["a" * 5000, *"bcdef"])
    seen = Reader(page([Entry("demo", path)]))
    assert "a" * 119 + "…" in seen.text
    assert ("title", "a" * 299 + "…") in seen.attributes


def test_many_very_long_names_stay_under_the_limit():
    names = [f"{feature} " + "long " * 600 for feature in range(900)]
    path = SelectionPath([Step.of(range(900), np.arange(900.0))], StopReason.FINISHED, names, "a")
    assert len(page([Entry("demo", path)]).encode()) < LIMIT


def test_a_page_of_two_paths_has_a_list_of_them():
    entries = [Entry("first", make_path()), Entry("second", make_path([0.4, 0.3, 0.2, 0.1]))]
    seen = Reader(page(entries))
    assert ("href", "#e1") in seen.attributes
    facts = facts_in(page(entries))
    assert len(facts["entries"]) == 2
    first, second = facts["figures"]["paths"]["data"]
    assert (first["name"], first["y"]) == ("first", [0.5, 0.4, 0.35, 0.345])
    assert (second["x"], second["y"]) == ([1, 2, 3, 4], [0.4, 0.3, 0.2, 0.1])


def test_scores_of_another_kind_are_not_drawn_together():
    entries = [Entry("first", make_path()), Entry("second", make_path([None, None]))]
    assert "paths" not in facts_in(page(entries))["figures"]


def test_paths_without_scores_make_a_page_without_curves():
    text = page([Entry("demo", make_path([None, None]))])
    assert facts_in(text)["entries"][0]["figures"] == {}
    assert "Score against" not in Reader(text).text


def test_nothing_to_show_is_refused():
    with pytest.raises(ParameterError, match="path or a comparison"):
        page([])


@pytest.mark.slow
def test_large_paths_stay_under_the_limit(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"a rather long name of a feature, number {feature}" for feature in range(20_000)]
    order = rng.permutation(20_000)
    steps = [
        Step.of(order[: 20 * size], rng.random(20_000), penalty=1.0 / size, cost=3.0 * size)
        for size in range(1, 251)
    ]
    path = SelectionPath(steps, StopReason.FINISHED, names, "demo")
    X = rng.normal(size=(60, 20_000))
    from secateur.report import gather_evidence

    evidence = gather_evidence(
        X,
        rng.integers(0, 2, 60),
        path,
        target_type="classification",
        costs=1.5,
        fold_paths=[path] * 5,
    )
    file = write_page(tmp_path / "page.html", [Entry("large", path, None, evidence)] * 2)
    assert file.stat().st_size < LIMIT
    facts = facts_in(file.read_text(encoding="utf-8"))
    assert facts["entries"][0]["steps"][-1]["more"] > 4000


def test_the_file_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "page.html"
    file.write_text("old")

    def fail(self, target):
        raise OSError("disk is gone")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk is gone"):
        write_page(file, [Entry("demo", make_path())])
    assert file.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_page_of_a_saved_path_needs_no_numba_no_scikit_learn_and_no_frames(tmp_path):
    path = make_path()
    path.save(tmp_path / "path.json", evidence=make_evidence(path).to_json())
    code = (
        "import sys\n"
        "from secateur import SelectionPath\n"
        "from secateur.report import Entry, load_evidence, write_page\n"
        "path, evidence = SelectionPath.load('path.json'), load_evidence('path.json')\n"
        "write_page('page.html', [Entry('demo', path, None, evidence)])\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    source = Path(__file__).resolve().parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    heavy = {"numba", "sklearn", "scipy", "pandas", "polars", "plotly", "matplotlib", "rich"}
    assert heavy.isdisjoint(done.stdout.split())
    assert (tmp_path / "page.html").stat().st_size > 1_000_000


# ---- figures ----------------------------------------------------------------------------------


def test_the_curve_has_all_steps_the_cut_and_the_level_of_all_features():
    path = make_path()
    facts = entry_facts(Entry("demo", path, None, make_evidence(path)))
    points, cut, band, line, level = score_curves(facts)["size"]["data"]
    assert (points["x"], points["y"]) == ([1, 2, 3, 4], [0.5, 0.4, 0.35, 0.345])
    assert (cut["x"], cut["y"]) == ([3], [0.35])
    assert line["y"] == points["y"]
    assert band["y"] == [0.51, 0.41, 0.36, 0.355, 0.335, 0.34, 0.39, 0.49]
    assert (level["y"], level["mode"]) == ([0.34, 0.34], "lines")
    assert points["hovertext"][1] == (
        "<b>2 features</b><br>held-out log loss 0.4000 ± 0.0100<br>penalty 0.5<br>+ f1"
    )


def test_the_level_of_all_features_is_named_above_the_figure():
    path = make_path()
    entry = Entry("demo", path, None, make_evidence(path))
    drawn = score_curves(entry_facts(entry))["size"]["layout"]
    (words,) = drawn["annotations"]
    assert words["text"] == "- - -  all 6 features: 0.3400"
    assert (words["yref"], words["y"], words["yanchor"]) == ("paper", 1, "bottom")
    assert "annotations" not in score_curves(entry_facts(Entry("demo", path)))["size"]["layout"]


def test_the_line_goes_through_the_best_step_of_each_size():
    steps = [make_path()[at] for at in (0, 1, 1)]
    worse = Step.of([1, 0], penalty=9.0, score=make_path([0.7])[0].score)
    path = SelectionPath([*steps[:2], worse], StopReason.FINISHED, "abcdef", "demo")
    points, _, _, line = score_curves(entry_facts(Entry("demo", path)))["size"]["data"]
    assert sorted(points["y"]) == [0.4, 0.5, 0.7]
    assert line["y"] == [0.5, 0.4]


def test_score_against_cost_and_a_wide_axis():
    path = make_path(costs=[1.0, 3.0, 5.0, 90.0], unit="ms")
    figure = score_curves(entry_facts(Entry("demo", path)))["cost"]
    assert figure["data"][0]["x"] == [1, 3, 5, 90]
    assert figure["layout"]["xaxis"]["title"]["text"] == "cost (ms)"
    assert figure["layout"]["xaxis"]["type"] == "log"


def test_the_map_of_a_grid_is_one_byte_per_cell():
    path = make_path()
    evidence = make_evidence(path, grid_shape=(2, 3))
    (entry,) = facts_in(page([Entry("demo", path, None, evidence)]))["entries"]
    assert entry["grid"] == [2, 3]
    assert list(base64.b64decode(entry["grey"])) == [round(255 * v) for v in evidence.backdrop]
    assert entry["cells"] == [2, 1, 0, 3]


def test_without_jinja_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    html._environment.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"secateur\[report\]"):
        page([Entry("demo", make_path())])
