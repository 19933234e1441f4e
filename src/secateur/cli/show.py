"""Selections on the console: the answer, the chosen features, where the results are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from secateur.report.sentences import few, short

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
        shown.append(Text(test_words(test)))
    if document["features"]:
        shown.append(features_table(document["features"], document["cost_unit"]))
    if document["unstable_sentence"]:
        shown.append(Text(document["unstable_sentence"]))
    return shown


def features_table(rows: Sequence[Mapping[str, Any]], unit: str) -> Table:
    """The chosen features, the most useful first; a column only where there is something in it."""
    from rich.table import Table

    heads = {"feature": "name", "gain": "gain", f"cost {unit}".strip(): "cost"}
    heads |= {"group": "groups", "tasks": "tasks", "in folds": "frequency", "": "unstable"}
    heads |= {"in other folds": "substitute"}
    heads = {
        head: key
        for head, key in heads.items()
        if not all(_is_nothing(row.get(key)) for row in rows)
    }
    table = Table(box=None, pad_edge=False)
    for head, key in heads.items():
        is_text = key in {"name", "groups", "tasks", "unstable", "substitute"}
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
    if _is_nothing(value):
        return _text("")
    if key == "unstable":
        return _text("unstable")
    if key == "substitute":
        return _text(f"{short(value['name'])} ({value['folds']})")
    if key in {"gain", "frequency"}:
        return _text(f"{value:.1%}" if key == "gain" else f"{value:.0%}")
    if key == "cost":
        return _text(f"{value:.6g}")
    return _text(few(value) if isinstance(value, list | tuple) else str(value))


def _is_nothing(value: Any) -> bool:
    return value is None or value is False


def _text(words: str) -> Text:
    from rich.text import Text

    return Text(words)  # names with markup in them are shown, not obeyed


def test_words(test: Mapping[str, Any]) -> str:
    """What the rows of another file say: of the chosen features, and of all."""
    metric = str(test["metric"]).replace("_", " ")
    told = f"On the {test['rows']} rows of {test['file']}: {metric} {_with_error(test)}"
    of_all = test.get("all_features")
    return told + (f"; with all features {_with_error(of_all)}." if of_all else ".")


def _with_error(score: Mapping[str, Any]) -> str:
    mean, error = score["mean"], score["standard_error"]
    if mean is None:
        return "unknown"
    return f"{mean:.4g}" + ("" if error is None else f" ± {error:.4g}")
