"""The page: one file that opens without a network, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from secateur.exceptions import ParameterError
from secateur.path.codec import write_whole
from secateur.report.answers import LEAST_SHARE
from secateur.report.comparison_facts import contest_facts
from secateur.report.comparison_page import contest_figures, contest_section
from secateur.report.facts import Entry, EntryFacts, entry_facts
from secateur.report.figures import Figure, all_paths
from secateur.report.payload import entry_payload, to_script
from secateur.report.sections import definition_list, entry_section, plot_place

if TYPE_CHECKING:
    from secateur.model_selection.comparison import Comparison


def write_page(
    file: str | os.PathLike[str],
    entries: Sequence[Entry],
    *,
    comparison: Comparison | None = None,
    about: Mapping[str, Any] | None = None,
) -> Path:
    """Write a page about paths, and about a comparison of methods if there is one.

    Parameters
    ----------
    file : path-like
        Written whole or not at all.
    entries : sequence of Entry
        The paths to be shown, in this order.
    comparison : Comparison, optional
    about : mapping, optional
        What else was done, for instance which file was read; ``"title"`` is the title of the page
        and ``"command"`` the command that makes it again.

    Returns
    -------
    Path
        Where the page is.
    """
    return write_whole(file, page(entries, comparison=comparison, about=about))


def page(
    entries: Sequence[Entry],
    *,
    comparison: Comparison | None = None,
    about: Mapping[str, Any] | None = None,
) -> str:
    """Return the page as text; see `write_page`."""
    if not entries and comparison is None:
        raise ParameterError(
            "A page needs something to show. Got no paths and no comparison. "
            "Pass an Entry for each path."
        )
    told = dict(about or {})
    facts = [entry_facts(entry, n_entries=len(entries)) for entry in entries]
    title = str(told.pop("title", "") or _title(facts))
    sections = [entry_section(each, number) for number, each in enumerate(facts)]
    contest = None if comparison is None else contest_facts(comparison)
    figures = {} if contest is None else contest_figures(contest)
    together = all_paths(facts)
    payload = {
        "entries": [entry_payload(each) for each in facts],
        "figures": figures if together is None else {**figures, "paths": together},
        "least_share": LEAST_SHARE,
    }
    return Template(_template("page.html")).substitute(
        title=escape(title),
        style=_template("page.css"),
        overview=_overview(facts, together),
        entries="\n".join(sections),
        comparison="" if contest is None else contest_section(contest, figures),
        about=_about(told),
        facts=to_script(payload),
        script=_template("page.js"),
        plotly=_template("plotly-basic.min.js"),
    )


def _title(facts: Sequence[EntryFacts]) -> str:
    if not facts:
        return "Comparison of methods"
    return f"Features of {facts[0].title}" if len(facts) == 1 else "Features chosen"


def _overview(facts: Sequence[EntryFacts], together: Figure | None) -> str:
    if len(facts) < 2:
        return ""
    items = "".join(
        f'<li><a href="#e{number}">{escape(each.title)}</a>: {escape(each.chosen.answer)}</li>'
        for number, each in enumerate(facts)
    )
    nav = f'<nav aria-label="Paths on this page"><ul>{items}</ul></nav>'
    if together is None:
        return nav
    return f'{nav}<section class="figures">{plot_place("paths", "All paths", together)}</section>'


def _about(about: Mapping[str, Any]) -> str:
    told = dict(about)
    command = told.pop("command", None)
    repeat = ""
    if command:
        repeat = f"<h3>How to repeat it</h3><pre><code>{escape(str(command))}</code></pre>"
    listed = definition_list(told) if told else ""
    if not listed and not repeat:
        return ""
    return f'<section class="about"><h2>About this page</h2>{listed}{repeat}</section>'


@cache
def _template(name: str) -> str:
    return files("secateur.report").joinpath("templates", name).read_text(encoding="utf-8")
