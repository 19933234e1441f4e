"""The notebooks are the examples of the same names, and run."""

from __future__ import annotations

import json

import notebooks
import pytest

pytest.importorskip("matplotlib")


def outputs_of(cell: dict) -> list[str]:
    """What a cell printed, and the kinds of what it drew."""
    kinds = {
        "stream": lambda each: each["text"],
        "display_data": lambda each: next(iter(each["data"])),
    }
    return [kinds[each["output_type"]](each) for each in cell["outputs"]]


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_notebook_is_the_example_of_its_name(name):
    """If not: python tools/notebooks.py."""
    script = (notebooks.EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    cells = notebooks.read(name)["cells"]
    assert [(cell["cell_type"], cell["source"]) for cell in cells] == notebooks.cells_of(script)
    assert any("image/png" in outputs_of(cell) for cell in cells if cell["cell_type"] == "code")


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_notebook_can_be_opened(name):
    book = notebooks.read(name)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(json.loads(json.dumps(book)))


@pytest.mark.slow
@pytest.mark.parametrize("name", notebooks.NAMES)
def test_a_notebook_prints_what_it_shows(name):
    cells = [cell for cell in notebooks.read(name)["cells"] if cell["cell_type"] == "code"]
    again = notebooks.run([cell["source"] for cell in cells])
    assert [outputs_of({"outputs": each}) for each in again] == [outputs_of(c) for c in cells]


def test_cells_of_a_script():
    script = '"""\nTitle\n=====\n\nText.\n"""\n\n# %%\n# Words,\n# more.\na = 1\n\n# %%\nprint(a)\n'
    cells = notebooks.cells_of(script)
    assert cells == [
        ("markdown", "# Title\n\nText."),
        ("markdown", "Words,\nmore."),
        ("code", "a = 1"),
        ("code", "print(a)"),
    ]
    assert notebooks.run(["a = 1", "print(a)"]) == [
        [],
        [{"output_type": "stream", "name": "stdout", "text": "1\n"}],
    ]
