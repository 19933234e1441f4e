"""The part of a page about a comparison of methods, as HTML; everything not ours is escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from secateur.model_selection.comparison_summary import Curve, Point
from secateur.path import wording
from secateur.path.values import thawed_json
from secateur.report.answers import short
from secateur.report.comparison_facts import ContestFacts, MethodFacts
from secateur.report.drawings import brief
from secateur.report.figures import Figure, as_text, layout, number, with_legend
from secateur.report.sections import definition_list, plot_place

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
            "array": [number(point.score.standard_error) or 0.0 for point in points],
            "thickness": 1,
            "width": 2,
        },
        "hovertext": [_hover(facts, method, point) for point in points],
    }


def _hover(facts: ContestFacts, method: str, point: Point) -> str:
    asked = "its own choice" if point.size is None else f"at most {point.size}"
    lines = [
        f"{point.n_features:.4g} features ({asked})",
        f"{facts.score_kind} {wording.score_with_error(point.score)}",
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


Cell = tuple[str, float | str]
NONE = "\N{EN DASH}"


def contest_figures(facts: ContestFacts) -> dict[str, Figure]:
    """All figures of the comparison, by the end of the id of their place."""
    drawn = {f"curves{at}": curves_figure(facts, v) for at, v in enumerate(facts.validators)}
    return drawn | {"seconds": seconds_figure(facts), "stability": stability_figure(facts)}


def contest_section(facts: ContestFacts, figures: dict[str, Figure]) -> str:
    """All that is shown of a comparison."""
    first, *others = facts.sentences
    best = next((line for line in others if line.startswith("By ")), first)
    rest = [line for line in (first, *others) if line != best]
    parts = [
        f'<header><h2>Comparison of methods</h2><p class="answer">{escape(best)}</p>'
        + "".join(f'<p class="reason">{escape(line)}</p>' for line in rest)
        + "</header>",
        _curves(facts, figures),
        _methods(facts),
        _small_figures(figures),
        _tests(facts),
        _failures(facts),
        _done(facts),
    ]
    body = "\n".join(part for part in parts if part)
    return f'<article class="entry contest" id="comparison">\n{body}\n</article>'


def _curves(facts: ContestFacts, figures: dict[str, Figure]) -> str:
    drawn = "".join(
        plot_place(f"curves{at}", f"Judged by {validator}", figures[f"curves{at}"])
        for at, validator in enumerate(facts.validators)
    )
    better = "higher" if facts.greater_is_better else "lower"
    return f"""<section class="figures">{drawn}
<p class="note">{escape(facts.score_kind)}, mean over {facts.n_folds} folds with one standard error:
{better} is better. A star is a method's own choice. Click a name to hide a method.</p></section>"""


def _small_figures(figures: dict[str, Figure]) -> str:
    return f"""<section class="figures">{plot_place("seconds", "Time", figures["seconds"])}
{plot_place("stability", "Stability", figures["stability"])}
<p class="note">Stability is Nogueira's index of the features chosen in the folds, with its
interval: 1 if they are the same in all, 0 as if drawn at random.</p></section>"""


def _methods(facts: ContestFacts) -> str:
    heads = ["Method", "Mean rank", "Features", *facts.validators, "Stability", "Seconds", "Folds"]
    rows = [_method_row(facts, method) for method in facts.methods]
    return f"""<section><h3>Methods</h3>{sortable(heads, rows, "Methods")}
<p class="note">Ranks over folds, sizes and judges, 1 is best. Scores are those of the number of
features that a method chooses itself.</p></section>"""


def _method_row(facts: ContestFacts, method: MethodFacts) -> list[Cell]:
    scores = [method.scores.get(validator) for validator in facts.validators]
    index = method.agreement.index
    done = f"{method.timing.n_done} of {facts.n_folds}"
    return [
        (method.name, method.name),
        _cell(method.rank, f"{method.rank:.1f}"),
        _cell(method.n_features, f"{method.n_features:.3g}"),
        *(_score_cell(score) for score in scores),
        _cell(index, str(method.agreement)),
        _cell(method.timing.median, brief(method.timing.median)),
        (done, float(method.timing.n_done)),
    ]


def _cell(value: float, text: str) -> Cell:
    return (NONE, math.inf) if math.isnan(value) else (text, value)


def _score_cell(score: tuple[float, float] | None) -> Cell:
    if score is None:
        return NONE, math.inf
    mean, standard_error = score
    error = "" if math.isnan(standard_error) else f" ± {wording.number(standard_error)}"
    return f"{wording.number(mean)}{error}", mean


def _tests(facts: ContestFacts) -> str:
    if not facts.tests:
        return ""
    heads = ["Judge", "Method", "Against", "Difference", "p", "p, corrected"]
    rows = [
        [
            (test.validator, test.validator),
            (test.method, test.method),
            (test.other, test.other),
            _cell(
                test.difference, f"{test.difference:+.4f} ± {wording.number(test.standard_error)}"
            ),
            _cell(test.p, f"{test.p:.2g}"),
            _cell(test.p_adjusted, f"{test.p_adjusted:.2g}"),
        ]
        for test in facts.tests
    ]
    return f"""<section><h3>Paired tests</h3>{sortable(heads, rows, "Paired tests")}
<p class="note">Own choices on the same folds; a difference below zero is worse than the best-ranked
method. The t test is corrected for folds that share training rows, the last column for the number
of tests (Holm).</p></section>"""


def _failures(facts: ContestFacts) -> str:
    if not facts.failures:
        return ""
    items = "".join(
        f"<li><b>{escape(each.method)}</b> {_status(each.status)} on {each.n_folds} of "
        f"{facts.n_folds} folds: {escape(each.message)}</li>"
        for each in facts.failures
    )
    return f"<section><h3>What did not come to an end</h3><ul>{items}</ul></section>"


def _status(status: str) -> str:
    return "took too long" if status == "timed_out" else "failed"


def _done(facts: ContestFacts) -> str:
    listed = definition_list(dict(facts.done))
    given = definition_list({key: thawed_json(value) for key, value in facts.parameters.items()})
    more = f"<details><summary>Parameters</summary>{given}</details>" if facts.parameters else ""
    return f'<section class="done"><h3>What was done</h3>{listed}{more}</section>'


def sortable(heads: Sequence[str], rows: Sequence[Sequence[Cell]], label: str) -> str:
    """A table whose columns sort; a cell is what is shown and what it is sorted by."""
    head = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{escape(each)}</button></th>'
        for each in heads
    )
    body = "\n".join(f"<tr>{''.join(_td(cell) for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="features sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _td(cell: Cell) -> str:
    text, value = cell
    kind = "s" if isinstance(value, str) else "n"
    shown: Any = value if isinstance(value, str) else repr(float(value))
    return f'<td data-{kind}="{escape(str(shown))}">{escape(text)}</td>'
