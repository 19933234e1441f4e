"""``secateur report``: the page from saved paths, without the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.exit import ends_well
from secateur.cli.options import unbundled


@ends_well
@unbundled
def report(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files path.json or comparison.json, or folders with one of them."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "",
    *,
    talking: options.TalkingOptions,
) -> None:
    """Write one page about saved results, side by side."""
    from rich.text import Text

    from secateur.cli.console import Talk
    from secateur.cli.folder import check_file
    from secateur.report import write_page

    check_file(out, force=talking.force)
    entries, comparison = _gathered(paths)
    about = {"title": title} if title else {}
    file = write_page(out, entries, comparison=comparison, about=about)
    document = {"file": str(file), "paths": [entry.title for entry in entries]}
    Talk(as_json=talking.as_json, quiet=talking.quiet).result(document, Text(f"Written: {file}"))


def _gathered(paths: list[Path]) -> tuple[list[Any], Any]:
    """The paths to be shown, and a comparison where one of the files is one."""
    from secateur.cli.cut import load_result, title_of
    from secateur.report import Entry

    entries: list[Any] = []
    comparison = None
    for path in paths:
        if comparison is None and _is_comparison(path):
            comparison = _comparison(path)
            continue
        traced, evidence = load_result(path)
        entries.append(Entry(title_of(path), traced, _selected(path, traced), evidence))
    return entries, comparison


def _selected(path: Path, traced: Any) -> Any:
    """The selection that was made of a path: by its rule; None where that is not known."""
    from secateur.cli.cut import path_file
    from secateur.path import load_rule

    file = path_file(path)
    rule = load_rule(file)
    return _selected_beside(file, traced) if rule is None else traced.cut(rule)


def _selected_beside(file: Path, traced: Any) -> Any:
    """The selection of an older path, which knows no rule, from the file beside it."""
    import json

    from secateur.model_selection.fold_scores import AtIndex

    beside = file.with_name("selection.json")
    try:
        told = json.loads(beside.read_bytes())
        names = {row["name"] for row in told["features"]}
        sentence = str(told["sentence"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    from dataclasses import replace

    for index in range(len(traced)):
        if set(traced.names_of(traced[index])) == names:
            return replace(traced.cut(AtIndex(index)), sentence=sentence, rule=str(told["rule"]))
    return None


def _is_comparison(path: Path) -> bool:
    file = path / "comparison.json" if path.is_dir() else path
    return file.is_file() and b'"secateur.comparison"' in file.read_bytes()[:1000]


def _comparison(path: Path) -> Any:
    from secateur.model_selection.comparison import Comparison

    file = path / "comparison.json" if path.is_dir() else path
    return Comparison.load(file)
