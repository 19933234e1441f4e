"""The parts of a page about one path, as HTML; everything that is not ours is escaped.

What depends on the cut stands in empty places that the script fills in: it has one home there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

from secateur.path import wording
from secateur.path.values import thawed_json
from secateur.report.answers import short
from secateur.report.drawings import distribution_svg, grey_png, span
from secateur.report.evidence import Evidence
from secateur.report.facts import RULES, EntryFacts, FeatureFacts
from secateur.report.figures import Figure

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


STOPPED = {
    "finished": "it came to its end",
    "max_features": "the most features allowed were in",
    "cost_budget": "the budget was spent",
    "patience": "the score did not get better any more",
    "time_limit": "the time was up",
    "no_gain": "no further feature gained anything",
    "repeated": "it came back to a subset it had had",
    "interrupted": "it was interrupted",
}


def entry_section(facts: EntryFacts, number: int) -> str:
    """All that is shown of one path."""
    parts = [
        _head(facts, number),
        _figures(facts, number),
        feature_section(facts, number),
        _alike(facts, number),
        _map(facts, number),
        _tasks(facts, number),
        _done(facts),
    ]
    body = "\n".join(part for part in parts if part)
    return f'<article class="entry" id="e{number}" data-entry="{number}">\n{body}\n</article>'


def _head(facts: EntryFacts, number: int) -> str:
    chosen = facts.chosen
    names = ", ".join(escape(short(facts.features[row].name, MOST_NAME)) for row in chosen.rows)
    return f"""<header>
<h2>{escape(facts.title)}</h2>
<p class="answer" aria-live="polite">{escape(chosen.answer)}</p>
<p class="reason">{escape(chosen.reason)}</p>
<p class="doubt">{escape(chosen.doubt)}</p>
<noscript><p>Chosen: {names}</p></noscript>
</header>
{_cut(facts, number)}"""


def _cut(facts: EntryFacts, number: int) -> str:
    if len(facts.steps) == 1:
        return ""
    buttons = "".join(
        f'<button type="button" data-step="{step}" aria-pressed="{_truth(step == facts.cut)}">'
        f"{escape(RULES[name])}</button>"
        for name, step in facts.rules.items()
    )
    return f"""<div class="cut" role="group" aria-label="Choose another cut">
<label for="e{number}-cut">Choose another cut</label>
<input type="range" id="e{number}-cut" min="0" max="{len(facts.steps) - 1}" step="1"
 value="{facts.cut}" aria-valuetext="{escape(facts.chosen.label)}">
<output for="e{number}-cut">{escape(facts.chosen.label)}</output>
<span class="rules">{buttons}</span>
</div>"""


def _figures(facts: EntryFacts, number: int) -> str:
    if not facts.score_kind:
        return ""
    better = "higher" if facts.greater_is_better else "lower"
    figures = [("size", "Score against number of features")]
    if facts.has_costs:
        figures.append(("cost", "Score against cost"))
    drawn = "".join(
        f'<figure><figcaption>{title}</figcaption><div class="plot" id="e{number}-{key}" '
        f'role="img" aria-label="{title}; the features table tells the same"></div></figure>'
        for key, title in figures
    )
    dashed = ""
    if facts.evidence is not None and facts.evidence.all_features is not None:
        model = facts.evidence.all_features_model
        by = f", by {escape(model)}" if model else ""
        dashed = f" The dashed line is the score of all features together{by}."
    return f"""<section class="figures">{drawn}
<p class="note">{escape(facts.score_kind)}: {better} is better. The band is one standard
error, the ring is the cut.{dashed} Click a point to cut there.</p></section>"""


def plot_place(key: str, title: str, figure: Figure) -> str:
    """The place of a figure that does not depend on a cut, as high as it will be."""
    height = figure["layout"]["height"]
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><div class="plot" id="c-{key}" '
        f'style="height:{height}px" role="img" aria-label="{escape(title)}"></div></figure>'
    )


# ---- what there is only for some ------------------------------------------------------------


def _alike(facts: EntryFacts, number: int) -> str:
    if facts.evidence is None or not facts.evidence.association:
        return ""
    return f"""<section class="alike"><h3>How alike the chosen features are</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Table of likeness">
<table class="matrix" id="e{number}-alike"></table></div>
<p class="pairs"></p>
<p class="note">Pearson's correlation between numbers; where a category takes part, the correlation
ratio or Cramér's V, which have no sign. Missing numbers count as the mean.</p></section>"""


def _map(facts: EntryFacts, number: int) -> str:
    evidence = facts.evidence
    if evidence is None or not evidence.grid_shape:
        return ""
    _, n_rows, n_columns = panels(evidence.grid_shape)
    size = n_rows * n_columns
    pictures = [
        grey_png(evidence.backdrop[at : at + size], n_columns)
        for at in range(0, len(evidence.backdrop), size)
    ]
    drawn = "".join(
        f'<div class="panel" data-panel="{panel}" style="aspect-ratio:{n_columns}/{n_rows}">'
        f'<img src="{picture}" alt="" width="{n_columns}" height="{n_rows}"></div>'
        for panel, picture in enumerate(pictures)
    )
    shape = " x ".join(map(str, evidence.grid_shape))
    return f"""<section><h3>Where the chosen features lie</h3>
<div class="map" id="e{number}-map" role="img" aria-label="Map of the chosen cells">{drawn}</div>
<p class="note">A grid of {shape}; the mean of each cell in grey, chosen cells in colour, stronger
where they gain more.</p></section>"""


def panels(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return how many maps a grid needs, and the rows and columns of each.

    Examples
    --------
    >>> panels((28, 28)), panels((3, 8, 9)), panels((50,))
    ((1, 28, 28), (3, 8, 9), (1, 1, 50))
    """
    first, rows, columns = (*(1,) * (3 - len(shape)), *shape)
    return first, rows, columns


def _tasks(facts: EntryFacts, number: int) -> str:
    if not any(step.tasks for step in facts.steps):
        return ""
    return f"""<section><h3>Which task uses which feature</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Table of tasks and features">
<table class="tasks" id="e{number}-tasks"></table></div></section>"""


# ---- what was done --------------------------------------------------------------------------


def _done(facts: EntryFacts) -> str:
    evidence = facts.evidence
    items = {
        "Algorithm": facts.algorithm,
        "Path": f"{facts.n_steps} steps in {facts.seconds:.3g} s; "
        f"{STOPPED.get(facts.stop_reason, facts.stop_reason)}",
        "Score": facts.score_kind or "none",
        "Versions": ", ".join(f"{name} {version}" for name, version in facts.versions.items()),
    }
    if evidence is not None:
        sampled = (
            ""
            if evidence.n_sampled == evidence.n_rows
            else (
                f"; {evidence.n_sampled} of them, drawn at random, for distributions and likeness"
            )
        )
        items["Rows"] = f"{evidence.n_rows} ({evidence.target_type}){sampled}"
    listed = definition_list(items)
    return f"""<section class="done"><h3>What was done</h3>{listed}
<details><summary>Parameters, and how to repeat it in Python</summary>
<pre><code>{escape(python_call(facts))}</code></pre></details></section>"""


def definition_list(items: dict[str, Any]) -> str:
    """Names and what they stand for."""
    rows = "".join(
        f"<dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in items.items()
        if str(value)
    )
    return f"<dl>{rows}</dl>"


def python_call(facts: EntryFacts) -> str:
    """Return the call that makes such a path, as far as its parameters are plain values."""
    given = [f"    {name}={_literal(value)}," for name, value in facts.parameters.items()]
    lines = ["from secateur import " + facts.algorithm, "", f"selector = {facts.algorithm}("]
    return "\n".join([*lines, *given, ")", "selector.fit(X, y)"])


def _literal(value: Any) -> str:
    plain = thawed_json(value)
    is_number = isinstance(plain, float)
    if is_number and not math.isfinite(plain):
        return f'float("{plain}")'
    return json.dumps(plain) if isinstance(plain, str) else repr(plain)


def _truth(value: bool) -> str:
    return "true" if value else "false"
