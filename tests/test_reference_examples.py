"""Every public name has an example with its output, in its docstring or in ``docs/_examples``."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest
from test_documentation import names_of_the_reference

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "_examples"
FILES = sorted(FOLDER.glob("*.txt"))
NAMES = [f"{module}.{name}" for module, names in names_of_the_reference().items() for name in names]
WITHOUT = {
    "secateur.warm_up": "it compiles for minutes and prints nothing",
    "secateur.datasets.Fetched": "what fetch gives, after a download",
}
NEEDED = {"OptunaPruning": "optuna", "register_onnx_converters": "skl2onnx"}


def thing(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def shows_output(text: str) -> bool:
    examples = doctest.DocTestParser().get_examples(text)
    return any(each.want for each in examples)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(WITHOUT)))
def test_there_is_an_example_with_output(name):
    file = FOLDER / f"{name}.txt"
    text = file.read_text(encoding="utf-8") if file in FILES else inspect.getdoc(thing(name))
    assert shows_output(text or "")


def test_every_file_is_of_a_public_name_that_has_no_other_example():
    for file in FILES:
        assert file.stem in NAMES
        assert not shows_output(inspect.getdoc(thing(file.stem)) or ""), file.stem
    assert set(WITHOUT) <= set(NAMES)


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=pytest.mark.slow if "Dask" in file.name else ()) for file in FILES],
    ids=lambda file: file.stem,
)
def test_examples_print_what_they_show(file, tmp_path, monkeypatch):
    name = file.stem.rpartition(".")[2]
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testfile(str(file), module_relative=False, optionflags=flags, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0
