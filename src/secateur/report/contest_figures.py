"""Figures of a comparison: curves of the methods, their seconds, their stability."""

from __future__ import annotations

import math
from typing import Any

from secateur.path import wording
from secateur.path.contest import Curve, Point
from secateur.report.brevity import short
from secateur.report.contest_facts import ContestFacts, MethodFacts
from secateur.report.figures import Figure, as_text, layout, number, with_legend

N_COLOURS = 8
DASHES = ("solid", "dash", "dot")
ROW_HEIGHT = 30


def curves_figure(facts: ContestFacts, validator: str) -> Figure:
    """Score against number of features by one validator, a line for each method."""
    place = {method.name: at for at, method in enumerate(facts.methods)}
    data = []
    for curve in facts.curves[validator]:
        data += _curve(facts, curve, place[curve.method])
    x = [point.n_features for curve in facts.curves[validator] for point in _points(curve)]
    drawn = layout("number of features", facts.score_kind, x or [1.0])
    return with_legend({"data": data, "layout": drawn})


def seconds_figure(facts: ContestFacts) -> Figure:
    """The median seconds of a selection, a bar for each method."""
    timed = [each for each in facts.methods if math.isfinite(each.timing.median)]
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [_label(each) for each in timed],
        "x": [number(each.timing.median) for each in timed],
        "hovertext": [f"{_label(each)}: {each.timing.median:.3g} s" for each in timed],
        "hoverinfo": "text",
        "marker": {"color": "var(--line)"},
    }
    drawn = _rows_layout("seconds per fold, median", len(timed))
    values = [each.timing.median for each in timed if each.timing.median > 0]
    if values and max(values) > 40 * min(values):
        drawn["xaxis"]["type"] = "log"
    return {"data": [bars], "layout": drawn}


def stability_figure(facts: ContestFacts) -> Figure:
    """Nogueira's index of each method with its interval."""
    known = [each for each in facts.methods if math.isfinite(each.agreement.index)]
    points = {
        "type": "scatter",
        "mode": "markers",
        "y": [_label(each) for each in known],
        "x": [number(each.agreement.index) for each in known],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [number(each.agreement.high - each.agreement.index) for each in known],
            "arrayminus": [number(each.agreement.index - each.agreement.low) for each in known],
            "color": "var(--soft)",
        },
        "hovertext": [f"{_label(each)}: {each.agreement}" for each in known],
        "hoverinfo": "text",
        "marker": {"color": "var(--line)", "size": 10},
    }
    return {"data": [points], "layout": _rows_layout("stability over folds", len(known))}


def _curve(facts: ContestFacts, curve: Curve, at: int) -> list[dict[str, Any]]:
    colour, dash = f"var(--g{at % N_COLOURS})", DASHES[at // N_COLOURS % len(DASHES)]
    name = as_text(short(curve.method))
    common = {"type": "scatter", "legendgroup": str(at), "name": name, "hoverinfo": "text"}
    traces = []
    if curve.points:
        line = {"mode": "lines+markers", "line": {"color": colour, "dash": dash, "width": 2}}
        traces.append(common | line | _values(facts, curve.method, curve.points))
    if curve.own is not None:
        star = {"symbol": "star", "size": 13, "color": colour}
        own = {"mode": "markers", "marker": star, "showlegend": not curve.points}
        traces.append(common | own | _values(facts, curve.method, (curve.own,)))
    return traces


def _points(curve: Curve) -> tuple[Point, ...]:
    return curve.points if curve.own is None else (*curve.points, curve.own)


def _values(facts: ContestFacts, method: str, points: tuple[Point, ...]) -> dict[str, Any]:
    return {
        "x": [number(point.n_features) for point in points],
        "y": [number(point.score.mean) for point in points],
        "error_y": {
            "type": "data",
            "array": [number(point.score.spread) or 0.0 for point in points],
            "thickness": 1,
            "width": 2,
        },
        "hovertext": [_hover(facts, method, point) for point in points],
    }


def _hover(facts: ContestFacts, method: str, point: Point) -> str:
    asked = "its own choice" if point.size is None else f"at most {point.size}"
    lines = [
        f"{point.n_features:.4g} features ({asked})",
        f"{facts.score_kind} {wording.score_with_spread(point.score)}",
    ]
    return "<br>".join([f"<b>{as_text(short(method))}</b>", *map(as_text, lines)])


def _label(method: MethodFacts) -> str:
    return as_text(short(method.name, 16))


def _rows_layout(title: str, n_rows: int) -> dict[str, Any]:
    drawn = layout(title, "", [1.0])
    drawn["height"] = 90 + ROW_HEIGHT * max(n_rows, 1)
    drawn["xaxis"]["rangemode"] = "tozero"
    drawn["yaxis"] |= {"autorange": "reversed", "type": "category", "ticksuffix": " "}
    return drawn
