"""``secateur report``: one page about saved results, without the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import with_exit_codes
from secateur.cli.options import with_option_classes


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
    from secateur.report import write_page

    check_file(out, force=output.force)
    entries, comparison = _loaded(paths)
    about = {"title": title} if title else {}
    file = write_page(out, entries, comparison=comparison, about=about)
    document = {"file": str(file), "paths": [entry.title for entry in entries]}
    console = output.console
    console.result(document, Text(f"Written: {file}"))


def _loaded(paths: list[Path]) -> tuple[list[Any], Any]:
    """The saved paths, and the comparison if there is one."""
    from secateur.cli.cut import load_result, title_of
    from secateur.model_selection.comparison import Comparison
    from secateur.report import Entry

    entries: list[Any] = []
    comparison = None
    for path in paths:
        file = path / "comparison.json" if path.is_dir() else path
        if comparison is None and _is_comparison(file):
            comparison = Comparison.load(file)
            continue
        loaded, evidence = load_result(path)
        entries.append(Entry(title_of(path), loaded, _selection(path, loaded), evidence))
    return entries, comparison


def _is_comparison(file: Path) -> bool:
    return file.is_file() and b'"secateur.comparison"' in file.read_bytes()[:1000]


def _selection(path: Path, loaded: Any) -> Any:
    """The saved selection of a path; None if it is not known."""
    from secateur.cli.cut import path_file
    from secateur.path import load_rule

    file = path_file(path)
    rule = load_rule(file)
    return _selection_of_older_file(file, loaded) if rule is None else loaded.cut(rule)


def _selection_of_older_file(file: Path, loaded: Any) -> Any:
    """The selection of a path that was saved without a rule, from selection.json."""
    import json
    from dataclasses import replace

    from secateur.model_selection.fold_scores import AtIndex

    try:
        saved = json.loads(file.with_name("selection.json").read_bytes())
        names = {row["name"] for row in saved["features"]}
        sentence, rule = str(saved["sentence"]), str(saved["rule"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for index in range(len(loaded)):
        if set(loaded.names_of(loaded[index])) == names:
            return replace(loaded.cut(AtIndex(index)), sentence=sentence, rule=rule)
    return None
