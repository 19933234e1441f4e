"""``secateur cut`` and ``secateur report``: saved results, without the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import Console
from secateur.cli.options import flag, option
from secateur.exceptions import InputError


@dataclass(frozen=True, slots=True)
class CutOptions:
    """The rule that cuts a path."""

    one_se: bool = flag(
        None, "The fewest features within one standard error of the best.", "--one-se"
    )
    best: bool = flag(None, "The best score.", "--best")
    elbow: bool = flag(None, "Where further features begin to gain little.", "--elbow")
    at_most: int | None = option(None, "The best score with at most so many features.", min=1)
    budget: float | None = option(None, "The best score with at most this total cost.", min=0)


def cut(
    path: Annotated[Path, typer.Argument(help="A path.json, or its folder.")],
    *,
    rule: CutOptions,
    out: options.Out = None,
    console: Console,
) -> None:
    """Select again from PATH, without the data; with --out also write results.

    By default with the rule of the saved selection, or --one-se if none was saved.
    """
    from secateur.cli.documents import selection_document, selection_shown
    from secateur.cli.output import reserved_folder, write_selection
    from secateur.path import AtMost, WithinBudget, load_rule

    rules: list[Any] = [name for name in ("one_se", "best", "elbow") if getattr(rule, name)]
    rules += [] if rule.at_most is None else [AtMost(rule.at_most)]
    rules += [] if rule.budget is None else [WithinBudget(rule.budget)]
    if len(rules) > 1:
        raise typer.BadParameter("a path is cut by one rule; use one of these options.")
    with nullcontext() if out is None else reserved_folder(out, "", force=console.force):
        entry = _entry(path, lambda file, all_: all_.cut(rules[0] if rules else load_rule(file)))
        document = selection_document(entry)
        if out is not None:
            document |= write_selection(out, entry, document, force=console.force)
    console.result(document, *selection_shown(document))


def report(
    paths: Annotated[
        list[Path], typer.Argument(help="path.json, comparison.json or their folders.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "",
    *,
    console: Console,
) -> None:
    """Write one page about saved results."""
    from secateur.cli.output import check_page
    from secateur.model_selection.comparison import Comparison
    from secateur.report import write_page

    check_page(out, force=console.force)
    entries, comparison = [], None
    for path in paths:
        file = path / "comparison.json" if path.is_dir() else path
        is_file = comparison is None and file.is_file()
        if is_file and b'"secateur.comparison"' in file.read_bytes()[:1000]:
            comparison = Comparison.load(file)
        else:
            entries.append(_entry(path, _selection))
    about = {"title": title} if title else {}
    written = write_page(out, entries, comparison=comparison, about=about)
    document = {"file": str(written), "paths": [entry.title for entry in entries]}
    console.result(document, f"Written: {written}")


def _entry(path: Path, select: Callable[[Path, Any], Any]) -> Any:
    """A saved path, or path.json in a folder, with its evidence and what `select` chooses of it."""
    from secateur.path import SelectionPath
    from secateur.report import Entry, load_evidence

    file = path / "path.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{path} must be a path.json of 'secateur select', or a folder with one. Got none."
        )
    loaded, place = SelectionPath.load(file), file.resolve()
    title = place.parent.name if place.name == "path.json" else place.stem
    return Entry(title, loaded, select(file, loaded), load_evidence(file))


def _selection(file: Path, loaded: Any) -> Any:
    """The saved selection of a path; from selection.json where the path has no rule."""
    from secateur.path import load_rule

    saved_rule = load_rule(file)
    if saved_rule is not None:
        return loaded.cut(saved_rule)
    try:
        saved = json.loads(file.with_name("selection.json").read_bytes())
        names = {row["name"] for row in saved["features"]}
        sentence, rule = str(saved["sentence"]), str(saved["rule"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    from secateur.model_selection.validators import AtIndex  # loads scikit-learn

    for index in range(len(loaded)):
        if set(loaded.names_of(loaded[index])) == names:
            return replace(loaded.cut(AtIndex(index)), sentence=sentence, rule=rule)
    return None
