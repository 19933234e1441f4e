"""Numbers of the documentation come from results of benchmarks; the check notices others."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))
import summary  # noqa: E402
from common import figures  # noqa: E402

DOCS = ROOT / "docs"
PAGES = [
    file
    for file in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if not {"_build", "papers", "design", "auto_examples", "generated"}
    & set(file.relative_to(ROOT).parts)
    and file.name != "changelog.md"
]
OTHER = json.loads((figures.RESULTS / "other.json").read_text(encoding="utf-8"))


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix() if DOCS in page.parents else page.name


def listed(page: Path) -> list[str]:
    return [number for numbers in OTHER.get(name_of(page), {}).values() for number in numbers]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_numbers_in_prose_are_in_the_results(page):
    """Else: correct the number, name its benchmark in the page, or list it with a reason."""
    assert figures.unsourced(page.read_text(encoding="utf-8"), listed(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_those_of_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert figures.rendered(text) == text


def test_all_results_are_on_a_page():
    on_pages = {
        (benchmark, section)
        for page in PAGES
        for benchmark, section, _ in figures.blocks_of(page.read_text(encoding="utf-8"))
    }
    files = [file for file in figures.RESULTS.glob("*.json") if file.name != "other.json"]
    kept = {(file.stem, section) for file in files for section in figures.load(file.stem)}
    assert len(kept) > 20
    assert kept <= on_pages


def test_results_say_where_they_come_from():
    for file in figures.RESULTS.glob("*.json"):
        if file.name != "other.json":
            for section in figures.load(file.stem).values():
                assert {"machine", "commit", "busy_cores_of_others", "blocks"} <= set(section)


def test_listed_numbers_are_still_quoted():
    pages = {name_of(page): page for page in PAGES}
    for name in OTHER:
        quoted = figures.prose_numbers(pages[name].read_text(encoding="utf-8"))
        assert set(listed(pages[name])) <= set(quoted), name


def test_a_number_without_a_source_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    block = "| who | ratio |\n| :-- | ----: |\n| we  | 0.423 |"
    figures.keep("race", "all", figures.section_of(block, machine="M.", busy_cores_of_others=0.0))
    page = "# T\n<!-- figures: race -->\nWe took {} of the time, as in Table 4.2, at `l1=0.7`."
    assert figures.unsourced(page.format("0.42"), []) == []
    assert figures.unsourced(page.format("0.423"), []) == []
    assert figures.unsourced(page.format("0.43"), []) == ["0.43"]
    assert figures.unsourced(page.format("0.43"), ["0.43"]) == []
    assert figures.unsourced(page.format("0.42").replace("race", "other"), []) == ["0.42"]


def test_a_block_changed_by_hand_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    block = "Text.\n\n| who | ratio |\n| :-- | ----: |\n| we  | 0.423 |"
    section = figures.section_of(block, machine="M.", busy_cores_of_others=0.1)
    figures.keep("race", "all", section)
    shown = figures.render(section)
    assert shown == f"{block}\n\n*M. Other processes kept 0.10 cores busy.*"
    page = f"<!-- race:all -->\n\n{shown}\n\n<!-- /race:all -->"
    assert figures.rendered(page) == page
    assert figures.rendered(page.replace("0.423", "0.323")) == page


def test_the_summary_is_that_of_the_results():
    """If not: ./dev bench summary --write."""
    page = summary.PAGE.read_text(encoding="utf-8")
    assert summary.with_table(page) == page
    image = pytest.importorskip("PIL.Image").open(summary.PICTURE)
    assert image.info["Description"] == summary.values(summary.found())


def test_every_row_of_the_summary_is_in_the_results():
    measured = [row for row in summary.ROWS if summary.is_there(row.section)]
    assert len(measured) > 20
    assert [row.what for row, _ in summary.found()] == [row.what for row in measured]
    assert len({row.what for row in summary.ROWS}) == len(summary.ROWS)


def test_pages_do_not_show_what_was_aimed_at():
    tables = [
        {"header": ["", "ratio", "wanted"], "left": [0], "rows": [["a", "0.5", "<= 1"]]},
        {
            "header": ["target", "found", "wanted", ""],
            "left": [0],
            "rows": [["a", "1", "2", "met"]],
        },
    ]
    shown = figures.render({"blocks": tables, "machine": "M.", "busy_cores_of_others": 0.0})
    assert "wanted" not in shown
    assert "| a   |   0.5 |" in shown
