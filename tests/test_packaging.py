"""What is said about the package in several files is the same in all of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
CITATION = ROOT / "CITATION.cff"
yaml = pytest.importorskip("yaml")


def read(file: Path) -> dict:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def version() -> str:
    text = (ROOT / "src" / "secateur" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "(.*)"', text)[1]


def test_classifiers_name_the_versions_of_python_that_are_tested():
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    [tested] = re.findall(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert [each.strip('" ') for each in tested.split(",")] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_recipe_has_the_dependencies_of_the_library_and_the_command():
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cli"]
    run = [each.replace(" ", "") for each in read(RECIPE)["requirements"]["run"]]
    assert sorted(run[1:]) == sorted(wanted)
    assert run[0].startswith("python>=")


def test_the_recipe_says_what_the_project_says():
    about = read(RECIPE)["about"]
    assert about["summary"] == PROJECT["description"]
    assert about["license"] == PROJECT["license"]
    assert about["license_file"] == PROJECT["license-files"]
    assert about["homepage"] == PROJECT["urls"]["Homepage"]
    assert all((ROOT / file).is_file() for file in PROJECT["license-files"])


def test_versions_agree():
    assert read(RECIPE)["context"]["version"] == version()
    assert read(CITATION)["version"] == version()


def test_the_five_papers_are_cited():
    cited = read(CITATION)
    assert cited["cff-version"] == "1.2.0"
    assert [each["year"] for each in cited["references"]] == [2014, 2020, 2019, 2020, 2003]
    assert all(each["authors"] and each["title"] for each in cited["references"])
    assert cited["license"] in PROJECT["license"]
