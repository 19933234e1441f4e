"""Figures as data: plotly's as plain dicts, histograms as SVG paths.

Colours are names of CSS variables, so that light and dark themes work. plotly itself is not needed:
the page contains its script.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from secateur.path.step import format_amount, format_features, format_score
from secateur.report.evidence import Distribution
from secateur.report.facts import EntryFacts, StepFacts
from secateur.report.sentences import few, short
from secateur.typing import IntArray

Figure = dict[str, Any]
HEIGHT = 340
# Where sizes span more than this factor, the axis is logarithmic.
LOG_FROM = 40
SVG_WIDTH, SVG_HEIGHT = 132, 34


def score_by_size(facts: EntryFacts) -> Figure:
    """Score against the number of features, with the standard error, the cut marked."""
    sizes = [float(step.n_features) for step in facts.steps]
    figure = _curve(facts, sizes, "number of features")
    score = None if facts.evidence is None else facts.evidence.all_features
    if score is not None and score.is_usable:
        label = f"all {format_features(facts.path.n_features_in)}: {format_score(score.mean)}"
        _add_level(figure, sizes, score.mean, label)
    return figure


def score_by_cost(facts: EntryFacts) -> Figure:
    """Score against cost, with the standard error, the cut marked."""
    unit = f" ({facts.path.cost_unit})" if facts.path.cost_unit else ""
    return _curve(facts, [step.cost for step in facts.steps], f"cost{unit}")


def all_paths(entries: Sequence[EntryFacts]) -> Figure | None:
    """Score against number of features of several paths; None if they cannot be compared."""
    kinds = {(each.score_kind, each.greater_is_better) for each in entries}
    if len(entries) < 2 or len(kinds) > 1 or not entries[0].score_kind:
        return None
    data: list[dict[str, Any]] = []
    for at, facts in enumerate(entries):
        sizes = [float(step.n_features) for step in facts.steps]
        best = _best_steps(facts, sizes)
        name = as_text(short(facts.title))
        line = _scatter(
            "lines+markers",
            [sizes[each] for each in best],
            [facts.steps[each].score for each in best],
            name=name,
            line={"color": f"var(--g{at % 8})", "width": 2},
        )
        line["hovertext"] = [f"{name}<br>{_hover(facts, facts.steps[each])}" for each in best]
        data.append(line | {"hoverinfo": "text"})
    x = [float(step.n_features) for facts in entries for step in facts.steps]
    return with_legend(data, layout("number of features", entries[0].score_kind, x))


def with_legend(data: list[dict[str, Any]], drawn: dict[str, Any]) -> Figure:
    """A figure with the names of its lines below."""
    drawn |= {
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.28, "font": {"size": 12}},
        "margin": {**drawn["margin"], "b": 110},
        "height": 440,
    }
    return {"data": data, "layout": drawn}


def best_at_each(x: npt.ArrayLike, y: npt.ArrayLike, *, greater_is_better: bool) -> IntArray:
    """Return the positions of the best finite `y` at each finite `x`, from left to right."""
    places, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    sign = -1.0 if greater_is_better else 1.0
    known = np.flatnonzero(np.isfinite(places) & np.isfinite(values))
    known = known[np.lexsort([sign * values[known], places[known]])]
    _, first = np.unique(places[known], return_index=True)
    return known[first].astype(np.int64)


def as_text(words: str) -> str:
    """Return words that plotly shows as they are: it reads a few tags, and not all entities."""
    return html.escape(words, quote=False)


def number(value: float) -> float | None:
    """Return a number for JSON: None if not finite, no more digits than can be seen."""
    return float(f"{value:.8g}") if math.isfinite(value) else None


def layout(x_title: str, y_title: str, x: Sequence[float]) -> dict[str, Any]:
    """Return the layout of all figures; the axis is logarithmic where `x` spans a wide range."""
    grid = {"gridcolor": "var(--rule)", "zeroline": False, "automargin": True, "fixedrange": True}
    known = [value for value in x if math.isfinite(value)]
    is_log = bool(known) and min(known) > 0 and max(known) >= LOG_FROM * min(known)
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
        "xaxis": {
            **grid,
            "title": {"text": as_text(x_title)},
            "type": "log" if is_log else "linear",
        },
        "yaxis": {**grid, "title": {"text": as_text(y_title)}},
    }


def _curve(facts: EntryFacts, x: Sequence[float], title: str) -> Figure:
    steps = facts.steps
    points = _scatter(
        "markers", x, [step.score for step in steps], marker={"color": "var(--line)", "size": 7}
    )
    points |= {"hovertext": [_hover(facts, step) for step in steps], "hoverinfo": "text"}
    ring = {"color": "var(--accent)", "width": 3}
    marker = {"color": "rgba(0,0,0,0)", "size": 18, "line": ring}
    cut = _scatter("markers", [x[facts.cut]], [facts.chosen.score], marker=marker)
    best = _best_steps(facts, x)
    line = _scatter(
        "lines",
        [x[at] for at in best],
        [steps[at].score for at in best],
        line={"color": "var(--line)", "width": 2},
    )
    drawn = layout(title, facts.score_kind or "score", x)
    return {"data": [points, cut, _band(facts, x, best), line], "layout": drawn}


def _scatter(mode: str, x: Sequence[float], y: Sequence[float], **options: Any) -> dict[str, Any]:
    values = {"x": [number(each) for each in x], "y": [number(each) for each in y]}
    return {"type": "scatter", "mode": mode, "hoverinfo": "skip", **values, **options}


def _best_steps(facts: EntryFacts, x: Sequence[float]) -> list[int]:
    scores = [step.score for step in facts.steps]
    best = best_at_each(x, scores, greater_is_better=facts.greater_is_better)
    return [int(at) for at in best]


def _band(facts: EntryFacts, x: Sequence[float], best: Sequence[int]) -> dict[str, Any]:
    """One standard error to either side, as one area: along the top, and back below."""
    known = [at for at in best if math.isfinite(facts.steps[at].standard_error)]
    top = [(x[at], facts.steps[at].score + facts.steps[at].standard_error) for at in known]
    bottom = [(x[at], facts.steps[at].score - facts.steps[at].standard_error) for at in known]
    outline = [*top, *reversed(bottom)]
    return _scatter(
        "lines",
        [value for value, _ in outline],
        [value for _, value in outline],
        fill="toself",
        fillcolor="var(--band)",
        line={"width": 0},
    )


def _add_level(figure: Figure, x: Sequence[float], y: float, label: str) -> None:
    """Add a dashed line, with its label above the figure: inside, the curve may be anywhere."""
    line = {"color": "var(--muted)", "width": 1.5, "dash": "dash"}
    level = _scatter("lines", [min(x), max(x)], [y, y], line=line)
    level |= {"hovertext": [as_text(label)] * 2, "hoverinfo": "text"}
    figure["data"].append(level)
    drawn = figure["layout"]
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
    score = "no score" if math.isnan(step.score) else format_score(step.score)
    error = "" if math.isnan(step.standard_error) else f" ± {format_score(step.standard_error)}"
    lines = [f"{facts.score_kind} {score}{error}"]
    if facts.has_costs:
        lines.append(f"cost {format_amount(step.cost)} {facts.path.cost_unit}".rstrip())
    if math.isfinite(step.penalty):
        lines.append(f"{facts.path.penalty_name} {format_amount(step.penalty)}")
    for sign, names in (("+", step.entered), ("-", step.left)):
        if names:
            lines.append(f"{sign} {few(names)}")
    # these tags are ours, the names between them may be anything
    return "<br>".join([f"<b>{format_features(step.n_features)}</b>", *map(as_text, lines)])


# ---- histograms -----------------------------------------------------------------------------


def histogram_paths(values: Distribution) -> list[tuple[int, str]]:
    """The SVG path of each group of the target that has rows: its number, and ``d``."""
    shares = [_shares(counts) for counts in values.counts]
    highest = max((share for group in shares for share in group), default=0.0) or 1.0
    return [(at, _outline(group, highest)) for at, group in enumerate(shares) if any(group)]


def _outline(shares: Sequence[float], highest: float) -> str:
    width = SVG_WIDTH / len(shares)
    tops = [round((SVG_HEIGHT - 1) * (1 - share / highest) + 0.5, 1) for share in shares]
    steps = "".join(f"V{top:g}H{round(width * (at + 1), 1):g}" for at, top in enumerate(tops))
    return f"M0 {SVG_HEIGHT}{steps}V{SVG_HEIGHT}Z"


def describe(name: str, values: Distribution, groups: Sequence[str]) -> str:
    """Describe a histogram in words: its range or its values, and the missing ones.

    >>> values = Distribution(("no", "yes"), (), ((3, 1), (0, 4)), (0, 2))
    >>> describe("smoker", values, ("healthy", "ill"))
    'smoker: healthy: no 75%, yes 25%; ill: no 0%, yes 100%; 20% missing'
    """
    words = [f"from {values.edges[0]:g} to {values.edges[-1]:g}"] if values.edges else []
    for group, counts in zip(groups, values.counts, strict=True):
        if values.labels:
            pairs = zip(values.labels, _shares(counts), strict=True)
            words.append(f"{group}: {', '.join(f'{label} {share:.0%}' for label, share in pairs)}")
        elif sum(counts):
            middle = np.searchsorted(np.cumsum(counts), sum(counts) / 2)
            median = (values.edges[middle] + values.edges[middle + 1]) / 2
            words.append(f"{group}: median near {float(f'{median:.3g}'):g}")
    n_missing = sum(values.missing)
    if n_missing:
        words.append(f"{n_missing / (n_missing + sum(map(sum, values.counts))):.0%} missing")
    return f"{name}: {'; '.join(words)}"


def value_range(values: Distribution) -> str:
    """The range of a histogram in a few characters."""
    if values.edges:
        return f"{brief(values.edges[0])} … {brief(values.edges[-1])}"
    if len(values.labels) <= 2:
        return ", ".join(short(label, 12) for label in values.labels)
    return f"{len(values.labels)} values"


def brief(value: float) -> str:
    """Return three digits, without an exponent where that is as short."""
    return f"{float(f'{value:.3g}'):g}"


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]
