"""Figures of plotly as plain dicts; colours are names of CSS variables, so that themes hold.

Nothing of plotly is needed to make them: a page brings its script along.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from secateur.path import wording
from secateur.report.answers import few, short
from secateur.report.drawings import best_at_each
from secateur.report.facts import EntryFacts, StepFacts

Figure = dict[str, Any]
HEIGHT = 340
# Where sizes span more than this factor, small ones would be one line at the left edge.
LOG_FROM = 40


def score_by_size(facts: EntryFacts) -> Figure:
    """Score against the number of features, with the standard error, the cut marked."""
    sizes = [float(step.n_features) for step in facts.steps]
    figure = _curve(facts, sizes, "number of features")
    score = None if facts.evidence is None else facts.evidence.all_features
    if score is not None and score.is_usable:
        label = f"all {wording.features(facts.n_features_in)}: {wording.number(score.mean)}"
        figure["data"].append(_level(sizes, score.mean, label))
        _name_level(figure["layout"], label)
    return figure


def score_by_cost(facts: EntryFacts) -> Figure:
    """Score against cost, with the standard error, the cut marked."""
    unit = f" ({facts.cost_unit})" if facts.cost_unit else ""
    return _curve(facts, [step.cost for step in facts.steps], f"cost{unit}")


def all_paths(entries: Sequence[EntryFacts]) -> Figure | None:
    """Score against number of features of several paths; None if they cannot be compared."""
    kinds = {(each.score_kind, each.greater_is_better) for each in entries}
    if len(entries) < 2 or len(kinds) > 1 or not entries[0].score_kind:
        return None
    data: list[dict[str, Any]] = []
    for place, facts in enumerate(entries):
        sizes = [float(step.n_features) for step in facts.steps]
        scores = [step.score for step in facts.steps]
        best = best_at_each(sizes, scores, greater_is_better=facts.greater_is_better).tolist()
        name, colour = as_text(short(facts.title)), f"var(--g{place % 8})"
        line = _line(facts, sizes, best)
        line |= {"mode": "lines+markers", "name": name, "hoverinfo": "text"}
        line["line"] = {"color": colour, "width": 2}
        line["hovertext"] = [f"{name}<br>{_hover(facts, facts.steps[at])}" for at in best]
        data.append(line)
    x = [float(step.n_features) for facts in entries for step in facts.steps]
    return with_legend(
        {"data": data, "layout": layout("number of features", entries[0].score_kind, x)}
    )


def with_legend(figure: Figure) -> Figure:
    """Put the names of the lines below a figure."""
    figure["layout"] |= {
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.28, "font": {"size": 12}},
        "margin": {**figure["layout"]["margin"], "b": 110},
        "height": 440,
    }
    return figure


def _curve(facts: EntryFacts, x: Sequence[float], title: str) -> Figure:
    steps = facts.steps
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": [number(value) for value in x],
        "y": [number(step.score) for step in steps],
        "hovertext": [_hover(facts, step) for step in steps],
        "hoverinfo": "text",
        "marker": {"color": "var(--line)", "size": 7},
    }
    cut = {
        "type": "scatter",
        "mode": "markers",
        "x": [number(x[facts.cut])],
        "y": [number(facts.chosen.score)],
        "hoverinfo": "skip",
        "marker": {
            "color": "rgba(0,0,0,0)",
            "size": 18,
            "line": {"color": "var(--accent)", "width": 3},
        },
    }
    scores = [step.score for step in steps]
    best = best_at_each(x, scores, greater_is_better=facts.greater_is_better).tolist()
    lines = [_band(facts, x, best), _line(facts, x, best)]
    drawn = layout(title, facts.score_kind or "score", x)
    return {"data": [points, cut, *lines], "layout": drawn}


def _line(facts: EntryFacts, x: Sequence[float], at: Sequence[int]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [number(x[each]) for each in at],
        "y": [number(facts.steps[each].score) for each in at],
        "hoverinfo": "skip",
        "line": {"color": "var(--line)", "width": 2},
    }


def _band(facts: EntryFacts, x: Sequence[float], at: Sequence[int]) -> dict[str, Any]:
    """One standard error to either side, as one area: there along the top, back below."""
    known = [each for each in at if math.isfinite(facts.steps[each].standard_error)]
    there = [
        (x[each], facts.steps[each].score + facts.steps[each].standard_error) for each in known
    ]
    back = [(x[each], facts.steps[each].score - facts.steps[each].standard_error) for each in known]
    outline = [*there, *reversed(back)]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [number(value) for value, _ in outline],
        "y": [number(value) for _, value in outline],
        "fill": "toself",
        "fillcolor": "var(--band)",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def _level(x: Sequence[float], y: float, label: str) -> dict[str, Any]:
    ends = [min(x), max(x)]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": [y, y],
        "hovertext": [as_text(label)] * 2,
        "hoverinfo": "text",
        "line": {"color": "var(--muted)", "width": 1.5, "dash": "dash"},
    }


def _name_level(drawn: dict[str, Any], label: str) -> None:
    """Say above the figure what the dashed line is: inside, the curve may be anywhere."""
    drawn["margin"] = {**drawn["margin"], "t": 30}
    drawn["annotations"] = [
        {
            "text": as_text(f"- - -  {label}"),
            "xref": "paper",
            "yref": "paper",
            "x": 1,
            "y": 1,
            "xanchor": "right",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"color": "var(--muted)", "size": 12},
        }
    ]


def _hover(facts: EntryFacts, step: StepFacts) -> str:
    score = "no score" if math.isnan(step.score) else wording.number(step.score)
    error = "" if math.isnan(step.standard_error) else f" ± {wording.number(step.standard_error)}"
    lines = [f"<b>{wording.features(step.n_features)}</b>", f"{facts.score_kind} {score}{error}"]
    if facts.has_costs:
        lines.append(f"cost {wording.amount(step.cost)} {facts.cost_unit}".rstrip())
    if math.isfinite(step.penalty):
        lines.append(f"{facts.penalty_name} {wording.amount(step.penalty)}")
    for sign, names in (("+", step.entered), ("-", step.left)):
        if names:
            lines.append(f"{sign} {few(names)}")
    # The tags above are ours, what stands between them may be anybody's.
    return "<br>".join([lines[0], *(as_text(line) for line in lines[1:])])


def as_text(words: str) -> str:
    """Return words that plotly shows as they are: it reads a few tags, and not all entities."""
    return html.escape(words, quote=False)


def layout(x_title: str, y_title: str, x: Sequence[float]) -> dict[str, Any]:
    """Return the layout that all figures share; the axis of wide spans of `x` is logarithmic."""
    grid = {"gridcolor": "var(--rule)", "zeroline": False, "automargin": True, "fixedrange": True}
    return {
        "height": HEIGHT,
        "margin": {"l": 60, "r": 16, "t": 12, "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--text)", "size": 13, "family": "system-ui, sans-serif"},
        "hoverlabel": {
            "bgcolor": "var(--card)",
            "bordercolor": "var(--rule)",
            "font": {"color": "var(--text)"},
            "align": "left",
        },
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": {**grid, "title": {"text": as_text(x_title)}, "type": _scale(x)},
        "yaxis": {**grid, "title": {"text": as_text(y_title)}},
    }


def _scale(x: Sequence[float]) -> str:
    known = [value for value in x if math.isfinite(value)]
    if not known or min(known) <= 0 or max(known) < LOG_FROM * min(known):
        return "linear"
    return "log"


def number(value: float) -> float | None:
    """Return a number as JSON has it: none where there is none, no more digits than can be seen."""
    return float(f"{value:.8g}") if math.isfinite(value) else None
