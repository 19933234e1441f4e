"""The documentation as a whole: nothing public is missing, it builds."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import secateur

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SKIPPED = {"_build", "_ext", "_templates", "auto_examples", "generated"}


def names_of_the_reference() -> dict[str, set[str]]:
    """The names that docs/api.md lists, by module."""
    found: dict[str, set[str]] = {}
    module = ""
    for line in (DOCS / "api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split("::")[1].strip()
        elif re.fullmatch(r" {3}[A-Za-z_]+", line):
            found.setdefault(module, set()).add(line.strip())
    return found


def test_every_public_name_is_in_the_reference_and_no_other():
    assert names_of_the_reference()["secateur"] == set(secateur.__all__)


def test_names_of_other_modules_in_the_reference_exist():
    others = {
        module: names for module, names in names_of_the_reference().items() if module != "secateur"
    }
    assert set(others) == {"secateur.export", "secateur.report", "secateur.datasets"}
    for module, names in others.items():
        assert names <= set(importlib.import_module(module).__all__)


def test_every_page_is_in_a_toctree():
    pages = {
        file.relative_to(DOCS).with_suffix("")
        for file in DOCS.rglob("*.md")
        if file.relative_to(DOCS).parts[0] not in SKIPPED
    }
    named = {Path("index")}
    for page in pages:
        text = (DOCS / page.with_suffix(".md")).read_text(encoding="utf-8")
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            places = [re.sub(r"^.* <(.*)>$", r"\1", entry) for entry in entries]
            named |= {page.parent / place for place in places}
    assert pages - named == set()
    assert named - pages == {Path("auto_examples/index")}  # the gallery is written by the build


def test_links_that_lead_nowhere_are_found(tmp_path, monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    links = importlib.import_module("links")
    (tmp_path / "b").mkdir()
    good = '<a href="b/two.html#place">x</a><a href="#top">y</a><a href="https://a.org/x">z</a>'
    bad = '<a href="b/three.html">x</a><a href="b/two.html#no">y</a><img src="no.png">'
    (tmp_path / "one.html").write_text(f'<h1 id="top"></h1>{good}{bad}')
    (tmp_path / "b" / "two.html").write_text('<h2 id="place"></h2><a href="../one.html">up</a>')
    found = ["b/three.html", "b/two.html#no", "no.png"]
    assert links.broken_links(tmp_path) == [f"one.html: {link}" for link in found]


def test_underscores_are_escaped_outside_of_code_only(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    lines = ["``path_`` and `path_` of path_, n_rows", ">>> path_"]
    importlib.import_module("members").escape(None, "", "", None, None, lines)
    assert lines == ["``path_`` and `path_` of path\\_, n_rows", ">>> path_"]


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path):
    for module in ("sphinx", "myst_parser", "numpydoc", "sphinx_gallery", "pydata_sphinx_theme"):
        pytest.importorskip(module, reason="pip install 'secateur[docs]'")
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    for folder in ("docs", "examples", "changes", "tools"):  # a build writes beside the pages
        ignored = shutil.ignore_patterns("_build", "auto_examples", "generated", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    first = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert "report.png" in first
    formulas = (tmp_path / "html" / "boosted.html").read_text(encoding="utf-8")
    assert formulas.count("<math") >= 2
    for file in (tmp_path / "html").rglob("*.html"):  # pages open without a network
        remote = r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//'
        assert not re.search(remote, file.read_text(encoding="utf-8")), file
    page = tmp_path / "html" / "generated" / "secateur.AGBMClassifier.html"
    assert "with_cut" in page.read_text(encoding="utf-8")
