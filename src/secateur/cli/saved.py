"""``secateur cut`` and ``secateur report``: saved results, without the data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import with_exit_codes
from secateur.cli.options import with_option_classes
from secateur.exceptions import InputError


@with_exit_codes
@with_option_classes
def cut(
    path: Annotated[Path, typer.Argument(help="A path.json, or its folder.")],
    one_se: Annotated[
        bool,
        typer.Option("--one-se", help="The fewest features within one standard error of the best."),
    ] = False,
    best: Annotated[bool, typer.Option("--best", help="The best score.")] = False,
    elbow: Annotated[
        bool, typer.Option("--elbow", help="Where further features begin to gain little.")
    ] = False,
    at_most: Annotated[
        int | None, typer.Option(min=1, help="The best score with at most so many features.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(min=0, help="The best score at no higher cost.")
    ] = None,
    out: options.Out = None,
    *,
    output: options.OutputOptions,
) -> None:
    """Select again from PATH, without the data; with --out also write results.

    Without an option by the rule of the saved selection, or else as --one-se.
    """
    from secateur.cli.documents import selection_document, selection_shown
    from secateur.cli.output import check_folder, write_selection
    from secateur.path import AtMost, SelectionPath, WithinBudget, load_rule
    from secateur.report import load_evidence

    flags = {"one_se": one_se, "best": best, "elbow": elbow}
    rules: list[Any] = [name for name, is_given in flags.items() if is_given]
    rules += [] if at_most is None else [AtMost(at_most)]
    rules += [] if budget is None else [WithinBudget(budget)]
    if len(rules) > 1:
        raise typer.BadParameter("a path is cut by one rule; use one of these options.")
    if out is not None:
        check_folder(out, force=output.force)
    file = _path_file(path)
    loaded, evidence = SelectionPath.load(file), load_evidence(file)
    selection = loaded.cut(rules[0] if rules else load_rule(file))
    document = selection_document(loaded, selection, evidence)
    if out is not None:
        title, force = _title(file), output.force
        names = write_selection(
            out, loaded, selection, evidence, document, title=title, force=force
        )
        document |= {"folder": str(out), "files": names}
    output.console.result(document, *selection_shown(document))


@with_exit_codes
@with_option_classes
def report(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files path.json or comparison.json, or their folders."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "",
    *,
    output: options.OutputOptions,
) -> None:
    """Write one page about saved results."""
    from rich.text import Text

    from secateur.cli.output import check_file
    from secateur.model_selection.comparison import Comparison
    from secateur.path import SelectionPath
    from secateur.report import Entry, load_evidence, write_page

    check_file(out, force=output.force)
    entries, comparison = [], None
    for path in paths:
        file = path / "comparison.json" if path.is_dir() else path
        if comparison is None and _is_comparison(file):
            comparison = Comparison.load(file)
            continue
        file = _path_file(path)
        loaded = SelectionPath.load(file)
        entries.append(Entry(_title(file), loaded, _selection(file, loaded), load_evidence(file)))
    about = {"title": title} if title else {}
    written = write_page(out, entries, comparison=comparison, about=about)
    document = {"file": str(written), "paths": [entry.title for entry in entries]}
    output.console.result(document, Text(f"Written: {written}"))


def _path_file(path: Path) -> Path:
    """The file of a path: itself, or path.json in a folder."""
    file = path / "path.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{path} must be a path.json or a folder with one. Got none. Use the output of "
            "'secateur select'."
        )
    return file


def _title(file: Path) -> str:
    """The name of the folder or the file."""
    file = file.resolve()
    return file.parent.name if file.name == "path.json" else file.stem


def _is_comparison(file: Path) -> bool:
    return file.is_file() and b'"secateur.comparison"' in file.read_bytes()[:1000]


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
    except (OSError, ValueError, KeyError, TypeError):
        return None
    from secateur.model_selection.validators import AtIndex  # loads scikit-learn

    for index in range(len(loaded)):
        if set(loaded.names_of(loaded[index])) == names:
            return replace(loaded.cut(AtIndex(index)), sentence=sentence, rule=rule)
    return None
