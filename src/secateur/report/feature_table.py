"""The table of features of a page, as HTML; everything that is not ours is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from secateur.path import wording
from secateur.report.brevity import short
from secateur.report.drawings import distribution_svg, span
from secateur.report.evidence import Evidence
from secateur.report.facts import EntryFacts, FeatureFacts

MOST_NAME = 120
MOST_GROUP = 60
MOST_TITLE = 300


def feature_section(facts: EntryFacts, number: int) -> str:
    """The table of features; what depends on the cut is filled in by the script."""
    heads = _heads(facts)
    row = "".join(_head_cell(key, label, tip) for key, label, tip in heads)
    keys = [key for key, _, _ in heads]
    rows = "\n".join(_feature_row(facts, at, each, keys) for at, each in enumerate(facts.features))
    return f"""<section><h3>Features</h3>
<div class="tools"><label>Filter <input type="search" class="filter" placeholder="name or group"
 autocomplete="off"></label>
<label><input type="checkbox" class="all"> also those not chosen</label>
<span class="count" role="status"></span></div>{_legend(facts.evidence)}
<div class="scroll tall" tabindex="0" role="region" aria-label="Table of features">
<table class="features" id="e{number}-features"><thead><tr>{row}</tr></thead>
<tbody>{rows}</tbody></table></div></section>"""


def _heads(facts: EntryFacts) -> list[tuple[str, str, str]]:
    evidence = facts.evidence
    heads = [
        ("name", "Feature", ""),
        ("gain", "Gain", "Share of the weight that the algorithm gives to all chosen features"),
        ("place", "Entry", "Order of entry"),
    ]
    if evidence is not None and evidence.n_folds:
        heads.append(("frequency", "In folds", f"Chosen in how many of {evidence.n_folds} folds"))
    unit = f" ({facts.cost_unit})" if facts.cost_unit else ""
    if evidence is not None and evidence.costs:
        heads.append(("cost", f"Cost{unit}", "What it costs alone"))
    if _paid_differs(facts):
        heads.append(("paid", f"Paid{unit}", "What it cost when it came in"))
    if any(each.groups for each in facts.features):
        heads.append(("group", "Group", ""))
    if evidence is not None and evidence.distributions:
        heads.append(("dist", "Values", "Distribution by groups of the target"))
        heads.append(("substitute", "Left out, but alike", "Columns that could stand in for it"))
    return heads


def _paid_differs(facts: EntryFacts) -> bool:
    """Whether a bag, a neighbour or a rule made any feature cost something else than alone."""
    return any(
        paid != facts.features[row].cost
        for step in facts.steps
        for row, paid in zip(step.rows, step.paid, strict=False)
    )


def _head_cell(key: str, label: str, tip: str) -> str:
    title = f' title="{escape(tip)}"' if tip else ""
    if key in {"dist", "substitute"}:
        return f'<th scope="col" class="{key}"{title}>{escape(label)}</th>'
    return (
        f'<th scope="col" class="{key}" aria-sort="none"><button type="button" data-sort="{key}"'
        f"{title}>{escape(label)}</button></th>"
    )


def _feature_row(facts: EntryFacts, at: int, each: FeatureFacts, keys: Sequence[str]) -> str:
    evidence = facts.evidence
    cells = {
        "name": _long_cell('th scope="row" class="name"', each.name, MOST_NAME),
        "group": _long_cell('td class="group"', ", ".join(each.groups), MOST_GROUP),
        "cost": f'<td class="cost">{wording.amount(each.cost)}</td>',
        "dist": '<td class="dist"></td>',
    }
    if evidence is not None and each.known >= 0 and evidence.distributions:
        told = evidence.distributions[each.known]
        drawn = distribution_svg(short(each.name), told, evidence.target_groups)
        cells["dist"] = f'<td class="dist">{drawn}<span>{escape(span(told))}</span></td>'
    row = "".join(cells.get(key, f'<td class="{key}"></td>') for key in keys)
    is_out = at not in facts.chosen.rows
    return f'<tr data-row="{at}"{" hidden" if is_out else ""}>{row}</tr>'


def _long_cell(tag: str, words: str, most: int) -> str:
    """A cell whose words are cut where they are very long, and longer in its title."""
    title = f' title="{escape(short(words, MOST_TITLE))}"' if len(words) > most else ""
    return f"<{tag}{title}>{escape(short(words, most))}</{tag.split(maxsplit=1)[0]}>"


def _legend(evidence: Evidence | None) -> str:
    if evidence is None or len(evidence.target_groups) < 2:
        return ""
    items = "".join(
        f'<li><span class="swatch g{number}"></span>{escape(name)} ({count})</li>'
        for number, (name, count) in enumerate(
            zip(evidence.target_groups, evidence.target_counts, strict=True)
        )
    )
    return f'<ul class="legend" aria-label="Groups of the target">{items}</ul>'
