"""All that a page shows of a comparison of methods: facts, cells of tables, figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from secateur.model_selection.comparison import Comparison
from secateur.model_selection.comparison_text import Cell, by_rank, cell, cells, shortened
from secateur.model_selection.statistics import Point
from secateur.path import rendering
from secateur.path.step import format_score
from secateur.report import figures
from secateur.report.figures import Figure, as_text, number
from secateur.report.sentences import short

DASHES = ("solid", "dash", "dot")
ROW_HEIGHT = 30


def comparison_facts(comparison: Comparison) -> dict[str, Any]:
    """All that is shown of a comparison but for its figures; methods come by mean rank."""
    tests: list[list[Cell]] = []
    # for each validator the best-ranked method with a number of its own against all others
    for validator in comparison.validators:
        found = (comparison.paired_tests(validator, against=best) for best in by_rank(comparison))
        for test in next((each for each in found if each), ()):
            names = [(name, name) for name in (test.validator, test.method, test.other)]
            words = f"{test.difference:+.4f} ± {format_score(test.standard_error)}"
            p = [cell(value, f"{value:.2g}") for value in (test.p, test.p_adjusted)]
            tests.append([*names, cell(test.difference, words), *p])
    messages: dict[tuple[str, str], list[str]] = {}
    for trial in comparison.failures:
        messages.setdefault((trial.method, trial.status.value), []).append(trial.message)
    failures = [
        {"method": name, "status": status, "n_folds": len(all_), "message": shortened(all_[0])}
        for (name, status), all_ in messages.items()
    ]
    lines = str(comparison).splitlines()
    best_line = next((line for line in lines if line.startswith("By ")), lines[0])
    return {
        "comparison": comparison,
        "answer": best_line,
        "sentences": [line for line in lines if line != best_line],
        "score_kind": score_kind(comparison),
        "has_own_sizes": any(curve.own for curve in comparison.curves()),
        "table": cells(comparison),
        "tests": tests,
        "failures": failures,
    }


def score_kind(comparison: Comparison) -> str:
    """What was measured, in words."""
    return f"held-out {comparison.metric}".replace("_", " ")


def curves_figure(comparison: Comparison, validator: str) -> Figure:
    """Score against number of features by one validator, a line for each method."""
    curves = {curve.method: curve for curve in comparison.curves(validator)}
    data, sizes = [], []
    for at, method in enumerate(by_rank(comparison)):
        curve, look = curves[method], divmod(at, figures.N_COLOURS)
        colour, dash = f"var(--g{look[1]})", DASHES[look[0] % len(DASHES)]
        line = {"mode": "lines+markers", "line": {"color": colour, "dash": dash, "width": 2}}
        star = {"mode": "markers", "marker": {"symbol": "star", "size": 13, "color": colour}}
        own = () if curve.own is None else (curve.own,)
        traces = [_trace(comparison, method, curve.points) | line] if curve.points else []
        if own:
            traces.append(_trace(comparison, method, own) | star)
            traces[-1]["showlegend"] = not curve.points
        data += [trace | {"legendgroup": str(at)} for trace in traces]
        sizes += [point.n_features for point in (*curve.points, *own)]
    drawn = figures.layout(figures.N_FEATURES, score_kind(comparison), sizes)
    return figures.with_legend(data, drawn)


def _trace(comparison: Comparison, method: str, points: tuple[Point, ...]) -> dict[str, Any]:
    name = as_text(short(method))
    sizes, scores = zip(*((point.n_features, point.score) for point in points), strict=True)
    hover = []
    for point in points:
        limit = "its own number" if point.size is None else f"at most {point.size}"
        score = as_text(f"{score_kind(comparison)} {rendering.score_with_error(point.score)}")
        size = f"{point.n_features:.4g} features ({limit})"
        hover.append(f"<b>{name}</b><br>{size}<br>{score}")
    errors = [number(score.standard_error) or 0.0 for score in scores]
    bars = {"type": "data", "array": errors, "thickness": 1, "width": 2}
    means = [score.mean for score in scores]
    return figures.scatter("", sizes, means, hover, name=name, error_y=bars)


def seconds_figure(comparison: Comparison) -> Figure:
    """The median seconds of a selection, a bar for each method."""
    timings = comparison.seconds()
    values = {name: timings[name].median for name in by_rank(comparison)}
    words = [f"{seconds:.3g} s" for seconds in values.values()]
    bars = {"type": "bar", "orientation": "h", "marker": {"color": "var(--line)"}}
    figure = _by_method(values, words, bars, "seconds per fold, median")
    known = [seconds for seconds in values.values() if seconds > 0]
    if known and max(known) > figures.LOG_FROM * min(known):
        figure["layout"]["xaxis"]["type"] = "log"
    return figure


def stability_figure(comparison: Comparison) -> Figure:
    """Nogueira's stability of each method with its confidence interval."""
    found = comparison.stability()
    values = {name: found[name].index for name in by_rank(comparison)}
    known = [found[name] for name, index in values.items() if math.isfinite(index)]
    above = [number(each.high - each.index) for each in known]
    below = [number(each.index - each.low) for each in known]
    interval = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    points = {"type": "scatter", "mode": "markers", "marker": {"color": "var(--line)", "size": 10}}
    points["error_x"] = interval | {"color": "var(--soft)"}
    words = [str(found[name]) for name in values]
    return _by_method(values, words, points, "stability over folds")


def _by_method(
    values: Mapping[str, float], words: Sequence[str], trace: dict[str, Any], title: str
) -> Figure:
    pairs = zip(values.items(), words, strict=True)
    known = [(as_text(short(m, 16)), v, word) for (m, v), word in pairs if math.isfinite(v)]
    trace |= {"y": [name for name, _, _ in known], "x": [number(value) for _, value, _ in known]}
    trace |= {"hovertext": [f"{name}: {word}" for name, _, word in known], "hoverinfo": "text"}
    drawn = figures.layout(title, "", [1.0])
    drawn["height"] = 90 + ROW_HEIGHT * max(len(known), 1)
    drawn["xaxis"]["rangemode"] = "tozero"
    drawn["yaxis"] |= {"autorange": "reversed", "type": "category", "ticksuffix": " "}
    return {"data": [trace], "layout": drawn}
