"""Selections on the console: the answer, the chosen features, where the results are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

MOST_SHOWN = 40


def selection_shown(document: Mapping[str, Any]) -> list[Any]:
    """What is shown of a selection, from its document."""
    from rich.text import Text

    shown: list[Any] = [Text(document["answer"], style="bold"), Text(document["sentence"])]
    test = document.get("test")
    if test:
        shown.append(Text(_test_words(test)))
    if document["features"]:
        shown.append(features_table(document["features"], document["cost_unit"]))
    return shown


def features_table(rows: Sequence[Mapping[str, Any]], unit: str) -> Table:
    """The chosen features, the most useful first; a column only where there is something in it."""
    from rich.table import Table

    heads = {"feature": "name", "gain": "gain", f"cost {unit}".strip(): "cost"}
    heads |= {"group": "groups", "in folds": "frequency"}
    heads = {
        head: key for head, key in heads.items() if any(row.get(key) is not None for row in rows)
    }
    table = Table(box=None, pad_edge=False)
    for head, key in heads.items():
        is_text = key in {"name", "groups"}
        table.add_column(head, justify="left" if is_text else "right", overflow="fold")
    for row in rows[:MOST_SHOWN]:
        table.add_row(*(_cell(key, row.get(key)) for key in heads.values()))
    if len(rows) > MOST_SHOWN:
        table.add_row(_text(f"... and {len(rows) - MOST_SHOWN} more"))
    return table


def written(folder: Any, names: Sequence[str]) -> Text:
    """Where the results are."""
    from rich.text import Text

    return Text(f"Written to {folder}: {', '.join(names)}")


def _cell(key: str, value: Any) -> Text:
    if value is None:
        return _text("")
    if key in {"gain", "frequency"}:
        return _text(f"{value:.1%}" if key == "gain" else f"{value:.0%}")
    if key == "cost":
        return _text(f"{value:.6g}")
    return _text(", ".join(value) if isinstance(value, list | tuple) else str(value))


def _text(words: str) -> Text:
    from rich.text import Text

    return Text(words)  # names with markup in them are shown, not obeyed


def _test_words(test: Mapping[str, Any]) -> str:
    error = test["standard_error"]
    spread = "" if error is None else f" ± {error:.4g}"
    metric = str(test["metric"]).replace("_", " ")
    return f"On the {test['rows']} rows of {test['file']}: {metric} {test['mean']:.4g}{spread}."
