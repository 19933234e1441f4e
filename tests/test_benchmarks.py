"""The benchmarks are not run here, but what they take from the package has to be there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
FILES = sorted(BENCHMARKS.rglob("*.py"))


def taken_from_package(file: Path) -> list[tuple[str, str]]:
    """(module, name) of everything that the file imports from secateur."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "secateur"
        for alias in node.names
    ]


def is_there(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(BENCHMARKS).as_posix())
def test_what_benchmarks_import_is_there(file: Path) -> None:
    absent = [f"{m}.{n}" for m, n in taken_from_package(file) if not is_there(m, n)]
    assert not absent


def test_the_check_sees_the_imports() -> None:
    found = [pair for file in FILES for pair in taken_from_package(file)]
    assert ("secateur", "AGBMClassifier") in found
    assert not is_there("secateur.selectors.featboost_evaluators", "no_such_name")
