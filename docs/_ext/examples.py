"""Examples of the reference that are not in docstrings: the files of ``_examples``, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parents[1] / "_examples"


def add(_app: Sphinx, _what: str, name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Put the example of a name, if it has a file, below its docstring."""
    file = FOLDER / f"{name}.txt"
    if file.is_file():
        text = file.read_text(encoding="utf-8")
        lines += ["", ".. rubric:: Examples", "", *text.splitlines(), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at every docstring when numpydoc is done with it."""
    app.connect("autodoc-process-docstring", add, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
