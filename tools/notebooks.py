"""Examples as notebooks with their outputs: ``python tools/notebooks.py`` writes them again.

A cell begins at each ``# %%`` of a script; comments below it are the text above the cell.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FOLDER = EXAMPLES / "notebooks"
NAMES = ("plot_agbm", "plot_costs")


def cells_of(script: str) -> list[tuple[str, str]]:
    """The cells of a script, each as its kind and its text."""
    title, _, text = (ast.get_docstring(ast.parse(script)) or "").partition("\n")
    words = text.lstrip("=\n")
    cells = [("markdown", f"# {title}\n\n{words}")]
    for block in script.split("\n# %%\n")[1:]:
        lines = block.strip("\n").splitlines()
        at = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
        words = "\n".join(line.removeprefix("#").strip() for line in lines[:at])
        cells += [("markdown", words)] if words else []
        cells += [("code", "\n".join(lines[at:]).strip("\n"))]
    return cells


def notebook_of(
    cells: list[tuple[str, str]], outputs: list[list[dict[str, Any]]]
) -> dict[str, Any]:
    """A notebook of cells; ``outputs`` are those of the code cells in their order."""
    left = iter(outputs)
    made: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": next(left)}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def run(codes: list[str]) -> list[list[dict[str, Any]]]:
    """What cells print and draw, run one after another in one namespace."""
    os.environ["MPLBACKEND"] = "agg"
    import matplotlib.pyplot as plt

    plt.close("all")  # what was drawn before is no output
    namespace: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for number, code in enumerate(codes):
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, f"cell {number}", "exec", dont_inherit=True), namespace)  # noqa: S102
        made = [_text(printed.getvalue())] if printed.getvalue() else []
        made += [_picture(plt.figure(each)) for each in plt.get_fignums()]
        plt.close("all")
        outputs.append(made)
    return outputs


def _text(printed: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": printed}


def _picture(figure: Any) -> dict[str, Any]:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=80)
    data = {"image/png": base64.b64encode(file.getvalue()).decode()}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def read(name: str) -> dict[str, Any]:
    """A notebook as it was written."""
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def write(name: str) -> None:
    """Run an example and write it as a notebook."""
    cells = cells_of((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    outputs = run([text for kind, text in cells if kind == "code"])
    text = json.dumps(notebook_of(cells, outputs), indent=1, ensure_ascii=False)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    for each in NAMES:
        write(each)
