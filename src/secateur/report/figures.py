"""Figures as data, coloured by CSS variables: plotly's as plain dicts, histograms as SVG paths."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from secateur.path.cutting import format_cost
from secateur.path.rendering import score_with_error
from secateur.path.step import QUERY_QUANTILES, count_of, format_amount, format_score
from secateur.report.evidence import Distribution
from secateur.report.facts import EntryFacts, StepFacts
from secateur.report.sentences import few, short
from secateur.typing import AnyArray, IntArray

Figure = dict[str, Any]
HEIGHT = 340
LOG_FROM = 40  # where sizes span more than this factor, the axis is logarithmic
N_COLOURS = 8
N_FEATURES = "number of features"
MAX_TICKS = 12  # with a tick at every whole number
SVG_WIDTH, SVG_HEIGHT = 132, 34


def score_curves(facts: EntryFacts) -> dict[str, Figure]:
    """Score against number of features and, where there are costs, against cost."""
    if not facts.score_kind:
        return {}
    sizes = facts.shown.n_features
    drawn = {"size": _curve(facts, sizes, N_FEATURES)}
    score = None if facts.evidence is None else facts.evidence.all_features
    if score is not None and score.is_usable:
        count = count_of(facts.path.n_features_in)
        label = as_text(f"all {count}: {format_score(score.mean)}")
        line = {"color": "var(--muted)", "width": 1.5, "dash": "dash"}
        ends = [sizes.min(), sizes.max()]
        level = scatter("lines", ends, [score.mean] * 2, [label] * 2, line=line)
        drawn["size"]["data"].append(level)
        # above the figure: inside, the curve may be anywhere
        words = {"text": f"- - -  {label}", "font": {"color": "var(--muted)", "size": 12}}
        place = {"xref": "paper", "yref": "paper", "x": 1, "y": 1, "showarrow": False}
        place |= {"xanchor": "right", "yanchor": "bottom"}
        shown = drawn["size"]["layout"]
        shown |= {"margin": {**shown["margin"], "t": 30}, "annotations": [words | place]}
    if facts.has_query_quantiles:
        drawn["queries"] = _queries(facts, sizes)
    if facts.has_costs:
        title = f"cost ({facts.path.cost_unit})" if facts.path.cost_unit else "cost"
        drawn["cost"] = _curve(facts, facts.shown.costs, title)
    return drawn


def all_paths(entries: Sequence[EntryFacts]) -> Figure | None:
    """Score against number of features of several paths, of one kind and from the same data."""
    kinds = set()
    for each in entries:
        data_set: tuple[Any, ...] = each.path.feature_names  # what distinguishes data sets
        if each.evidence is not None:
            known = each.evidence
            data_set = known.n_rows, known.target_groups, known.target_counts
        kinds.add((each.score_kind, each.greater_is_better, data_set))
    if len(entries) < 2 or len(kinds) > 1 or not entries[0].score_kind:
        return None
    data = []
    for at, facts in enumerate(entries):
        name = as_text(short(facts.title))
        sizes, scores = facts.shown.n_features, facts.shown.scores
        best = best_at_each(sizes, scores, greater_is_better=facts.greater_is_better)
        hover = [f"{name}<br>{_hover(facts, facts.steps[each])}" for each in best]
        line = {"color": f"var(--g{at % N_COLOURS})", "width": 2}
        values = sizes[best], scores[best]
        data.append(scatter("lines+markers", *values, hover, line=line, name=name))
    x = np.concatenate([facts.shown.n_features for facts in entries])
    return with_legend(data, layout(N_FEATURES, entries[0].score_kind, x))


def with_legend(data: list[dict[str, Any]], drawn: dict[str, Any]) -> Figure:
    """A figure with the names of its lines below."""
    legend = {"orientation": "h", "y": -0.28, "font": {"size": 12}}
    margin = {**drawn["margin"], "b": 110}
    more = {"showlegend": True, "legend": legend, "margin": margin, "height": 440}
    return {"data": data, "layout": drawn | more}


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


def number(value: float, n_digits: int = 8) -> float | None:
    """Return a number for JSON: None if not finite, no more digits than can be seen."""
    return float(f"{value:.{n_digits}g}") if math.isfinite(value) else None


def layout(x_title: str, y_title: str, x: Iterable[float]) -> dict[str, Any]:
    """Return the layout of all figures; the axis is logarithmic where `x` spans a wide range."""
    grid = {"gridcolor": "var(--rule)", "zeroline": False, "automargin": True, "fixedrange": True}
    known = [value for value in x if math.isfinite(value)]
    is_log = bool(known) and min(known) > 0 and max(known) >= LOG_FROM * min(known)
    label = {"bgcolor": "var(--card)", "bordercolor": "var(--rule)", "align": "left"}
    kind = "log" if is_log else "linear"
    x_axis: dict[str, Any] = {"title": {"text": as_text(x_title)}, "type": kind}
    if x_title == N_FEATURES and known and not is_log and max(known) - min(known) <= MAX_TICKS:
        x_axis["dtick"] = 1  # whole numbers
    return {
        "height": HEIGHT,
        "margin": {"l": 60, "r": 16, "t": 12, "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--text)", "size": 13, "family": "system-ui, sans-serif"},
        "hoverlabel": {**label, "font": {"color": "var(--text)"}},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": grid | x_axis,
        "yaxis": {**grid, "title": {"text": as_text(y_title)}},
    }


def scatter(
    mode: str, x: Iterable[float], y: Iterable[float], hover: Sequence[str] = (), **options: Any
) -> dict[str, Any]:
    """Points or lines, with a text for each point if it has any."""
    shown = {"hovertext": list(hover), "hoverinfo": "text"} if hover else {"hoverinfo": "skip"}
    values = {"x": [number(each) for each in x], "y": [number(each) for each in y]}
    return {"type": "scatter", "mode": mode, **values, **shown, **options}


def _curve(facts: EntryFacts, x: AnyArray, title: str) -> Figure:
    """All steps, the cut, a band of one standard error, and a line through the best steps."""
    scores, errors = facts.shown.scores, facts.shown.standard_errors
    hover = [_hover(facts, step) for step in facts.steps]
    data = _with_bands(facts, x, scores, hover, [(scores + errors, scores - errors)])
    return {"data": data, "layout": layout(title, facts.score_kind, x)}


def _queries(facts: EntryFacts, x: AnyArray) -> Figure:
    """The same of the median over test queries, with bands of the middle half and nine tenths."""
    steps = facts.shown
    found = [[step.details.get(name, math.nan) for step in steps] for name in QUERY_QUANTILES]
    least, low, median, high, most = np.array(found, np.float64)
    hover = [
        f"<b>{count_of(int(size))}</b><br>median {format_score(m)}<br>half of the queries from "
        f"{format_score(a)} to {format_score(b)}"
        for size, m, a, b in zip(x, median, low, high, strict=True)
    ]
    data = _with_bands(facts, x, median, hover, [(most, least), (high, low)])
    kind = facts.score_kind.removeprefix("held-out ")
    return {"data": data, "layout": layout(N_FEATURES, f"{kind} of a test query", x)}


def _with_bands(
    facts: EntryFacts,
    x: AnyArray,
    values: AnyArray,
    hover: Sequence[str],
    bands: Sequence[tuple[AnyArray, AnyArray]],
) -> list[dict[str, Any]]:
    """A point for each step, the cut, bands of (top, bottom), a line through the best steps."""
    points = scatter("markers", x, values, hover, marker={"color": "var(--line)", "size": 7})
    ring = {"color": "var(--accent)", "width": 3}
    marker = {"color": "rgba(0,0,0,0)", "size": 18, "line": ring}
    chosen = scatter("markers", x[[facts.cut]], values[[facts.cut]], marker=marker)
    best = best_at_each(x, facts.shown.scores, greater_is_better=facts.greater_is_better)
    data = [points, chosen]
    for top, bottom in bands:  # one area: along the top, and back below
        known = best[np.isfinite(top[best])]
        outline = np.concatenate([top[known], bottom[known[::-1]]])
        band = scatter("lines", x[np.concatenate([known, known[::-1]])], outline)
        band |= {"fill": "toself", "fillcolor": "var(--band)", "line": {"width": 0}}
        data.append(band)
    line = scatter("lines", x[best], values[best], line={"color": "var(--line)", "width": 2})
    return [*data, line]


def _hover(facts: EntryFacts, shown: StepFacts) -> str:
    step, path = shown.step, facts.path
    score = step.score if step.score and step.score.is_usable else None
    lines = [f"{facts.score_kind} {score_with_error(score) or 'no score'}"]
    if facts.has_costs:
        lines.append(f"cost {format_cost(path, step.cost)}")
    if math.isfinite(step.penalty):
        lines.append(f"{path.penalty_name} {format_amount(step.penalty)}")
    for sign, names in (("+", path.entered(shown.index)), ("-", path.left(shown.index))):
        if names:
            lines.append(f"{sign} {few(names)}")
    # these tags are ours, the names between them may be anything
    return "<br>".join([f"<b>{count_of(step.n_features)}</b>", *map(as_text, lines)])


def shap_rows(facts: EntryFacts) -> list[list[tuple[str, Any]]]:
    """The cells of the table of SHAP values, largest first: texts, and what they are sorted by."""
    shap = {} if facts.evidence is None else facts.evidence.shap
    names = facts.path.feature_names
    return [
        [(short(names[feature]), names[feature]), (f"{size:.3g}", size)]
        for feature, size in sorted(shap.items(), key=lambda item: -item[1])
    ]


def histogram_paths(values: Distribution) -> list[tuple[int, str]]:
    """The SVG path of each group of the target that has rows: its number, and ``d``."""
    shares = [_shares(counts) for counts in values.counts]
    highest = max((share for group in shares for share in group), default=0.0) or 1.0
    paths = []
    for group, heights in enumerate(shares):
        line = f"M0 {SVG_HEIGHT}"
        for at, height in enumerate(heights, 1):
            top = round((SVG_HEIGHT - 1) * (1 - height / highest) + 0.5, 1)
            line += f"V{top:g}H{round(SVG_WIDTH / len(heights) * at, 1):g}"
        if any(heights):
            paths.append((group, f"{line}V{SVG_HEIGHT}Z"))
    return paths


def describe(name: str, values: Distribution, groups: Sequence[str]) -> str:
    """Describe a histogram in words: its range or its values, and the missing ones.

    >>> values = Distribution(("no", "yes"), (), ((3, 1), (0, 4)), (0, 2))
    >>> describe("smoker", values, ("healthy", "ill"))
    'smoker: healthy: no 75%, yes 25%; ill: no 0%, yes 100%; 20% missing'
    """
    words = ["from {:g} to {:g}".format(*values.span)] if values.edges else []
    for group, counts in zip(groups, values.counts, strict=True):
        if values.labels:
            pairs = zip(values.labels, _shares(counts), strict=True)
            words.append(f"{group}: {', '.join(f'{label} {share:.0%}' for label, share in pairs)}")
        elif sum(counts):
            middle = np.searchsorted(np.cumsum(counts), sum(counts) / 2)
            median = (values.edges[middle] + values.edges[middle + 1]) / 2
            words.append(f"{group}: median near {brief(median)}")
    n_missing = sum(values.missing)
    if n_missing:
        words.append(f"{n_missing / (n_missing + sum(map(sum, values.counts))):.0%} missing")
    return f"{name}: {'; '.join(words)}"


def value_range(values: Distribution) -> str:
    """The range of a histogram in a few characters."""
    if values.edges:
        return " … ".join(map(brief, values.span))
    if len(values.labels) <= 2:
        return ", ".join(short(label, 12) for label in values.labels)
    return f"{len(values.labels)} values"


def brief(value: float) -> str:
    """Return three digits, without an exponent where that is as short."""
    return f"{float(f'{value:.3g}'):g}"


def _shares(counts: Sequence[int]) -> list[float]:
    return [count / (sum(counts) or 1) for count in counts]
