"""All that a page shows of a comparison of methods: facts, cells of tables, figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from secateur.model_selection.comparison import Comparison
from secateur.model_selection.comparison_text import shortened
from secateur.model_selection.statistics import Agreement, Curve, PairedTest, Point, Timing
from secateur.path import rendering
from secateur.path.step import format_score
from secateur.report.figures import LOG_FROM, Figure, as_text, brief, layout, number, with_legend
from secateur.report.sentences import short

N_COLOURS = 8
DASHES = ("solid", "dash", "dot")
ROW_HEIGHT = 30
NONE = "\N{EN DASH}"

Cell = tuple[str, float | str]
"""The text of a cell, and what the column is sorted by."""


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """One method; `scores` are those of its own number of features, by validator."""

    name: str
    rank: float
    n_features: float
    scores: Mapping[str, tuple[float, float]]
    agreement: Agreement
    timing: Timing


@dataclass(frozen=True, slots=True)
class Failure:
    """A method that failed: on how many folds, and its first message."""

    method: str
    status: str
    n_folds: int
    message: str


@dataclass(frozen=True, slots=True)
class ComparisonFacts:
    """All that is shown of a comparison; methods come by mean rank."""

    answer: str
    sentences: tuple[str, ...]
    validators: tuple[str, ...]
    score_kind: str
    greater_is_better: bool
    n_folds: int
    methods: tuple[MethodFacts, ...]
    curves: Mapping[str, tuple[Curve, ...]]
    tests: tuple[PairedTest, ...]
    failures: tuple[Failure, ...]
    settings: Mapping[str, str]
    parameters: Mapping[str, object]

    @property
    def method_rows(self) -> list[list[Cell]]:
        """The rows of the table of methods."""
        return [
            [
                (each.name, each.name),
                _cell(each.rank, f"{each.rank:.1f}"),
                _cell(each.n_features, f"{each.n_features:.3g}"),
                *(_score_cell(each.scores.get(validator)) for validator in self.validators),
                _cell(each.agreement.index, str(each.agreement)),
                _cell(each.timing.median, brief(each.timing.median)),
                (f"{each.timing.n_done} of {self.n_folds}", float(each.timing.n_done)),
            ]
            for each in self.methods
        ]

    @property
    def test_rows(self) -> list[list[Cell]]:
        """The rows of the table of paired tests."""
        return [
            [
                (test.validator, test.validator),
                (test.method, test.method),
                (test.other, test.other),
                _cell(
                    test.difference,
                    f"{test.difference:+.4f} ± {format_score(test.standard_error)}",
                ),
                _cell(test.p, f"{test.p:.2g}"),
                _cell(test.p_adjusted, f"{test.p_adjusted:.2g}"),
            ]
            for test in self.tests
        ]


def comparison_facts(comparison: Comparison) -> ComparisonFacts:
    """Compute all that is shown of a comparison."""
    methods = _methods(comparison)
    order = [method.name for method in methods]
    lines = str(comparison).splitlines()
    best = next((line for line in lines if line.startswith("By ")), lines[0])
    return ComparisonFacts(
        answer=best,
        sentences=tuple(line for line in lines if line != best),
        validators=comparison.validators,
        score_kind=f"held-out {comparison.metric}".replace("_", " "),
        greater_is_better=comparison.greater_is_better,
        n_folds=comparison.n_folds,
        methods=methods,
        curves={
            validator: tuple(
                sorted(comparison.curves(validator), key=lambda each: order.index(each.method))
            )
            for validator in comparison.validators
        },
        tests=_tests(comparison, order),
        failures=_failures(comparison),
        settings={
            "Target": comparison.target_type,
            "Folds": f"{comparison.n_folds}; features are selected inside each of them",
            "Sizes": ", ".join(map(str, comparison.sizes)) or "the methods' own",
            "Seed": str(comparison.seed),
            "Versions": ", ".join(f"{key} {value}" for key, value in comparison.versions.items()),
        },
        parameters=comparison.parameters,
    )


def _methods(comparison: Comparison) -> tuple[MethodFacts, ...]:
    rank_of = {rank.method: rank.mean for rank in comparison.ranks()}
    agreement, seconds = comparison.stability(), comparison.seconds()
    curves = comparison.curves()
    found = []
    for name in comparison.methods:
        own = {c.validator: c.own for c in curves if c.method == name and c.own is not None}
        scores = {v: (point.score.mean, point.score.standard_error) for v, point in own.items()}
        count = next((point.n_features for point in own.values()), math.nan)
        rank = rank_of.get(name, math.nan)
        found.append(MethodFacts(name, rank, count, scores, agreement[name], seconds[name]))
    return tuple(sorted(found, key=lambda each: (math.isnan(each.rank), each.rank)))


def _tests(comparison: Comparison, order: list[str]) -> tuple[PairedTest, ...]:
    """For each validator the best-ranked method with a number of its own against all others."""
    tests: list[PairedTest] = []
    for validator in comparison.validators:
        made = (comparison.paired_tests(validator, against=best) for best in order)
        tests += next((each for each in made if each), ())
    return tuple(tests)


def _failures(comparison: Comparison) -> tuple[Failure, ...]:
    found: dict[tuple[str, str], list[str]] = {}
    for trial in comparison.failures:
        found.setdefault((trial.method, trial.status.value), []).append(trial.message)
    return tuple(
        Failure(method, status, len(messages), shortened(messages[0]))
        for (method, status), messages in found.items()
    )


def _cell(value: float, text: str) -> Cell:
    return (NONE, math.inf) if math.isnan(value) else (text, value)


def _score_cell(score: tuple[float, float] | None) -> Cell:
    if score is None:
        return NONE, math.inf
    mean, error = score
    words = "" if math.isnan(error) else f" ± {format_score(error)}"
    return f"{format_score(mean)}{words}", mean


# ---- figures --------------------------------------------------------------------------------


def comparison_figures(facts: ComparisonFacts) -> dict[str, Figure]:
    """All figures of the comparison, by the end of the id of their element."""
    drawn = {f"curves{at}": curves_figure(facts, v) for at, v in enumerate(facts.validators)}
    return drawn | {"seconds": seconds_figure(facts), "stability": stability_figure(facts)}


def curves_figure(facts: ComparisonFacts, validator: str) -> Figure:
    """Score against number of features by one validator, a line for each method."""
    position = {method.name: at for at, method in enumerate(facts.methods)}
    data, sizes = [], [1.0]
    for curve in facts.curves[validator]:
        data += _traces(facts, curve, position[curve.method])
        points = curve.points if curve.own is None else (*curve.points, curve.own)
        sizes += [point.n_features for point in points]
    return with_legend(data, layout("number of features", facts.score_kind, sizes[1:] or sizes))


def seconds_figure(facts: ComparisonFacts) -> Figure:
    """The median seconds of a selection, a bar for each method."""
    known = [(_label(each), each.timing.median) for each in facts.methods]
    known = [(name, seconds) for name, seconds in known if math.isfinite(seconds)]
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [name for name, _ in known],
        "x": [number(seconds) for _, seconds in known],
        "hovertext": [f"{name}: {seconds:.3g} s" for name, seconds in known],
        "hoverinfo": "text",
        "marker": {"color": "var(--line)"},
    }
    drawn = _rows_layout("seconds per fold, median", len(known))
    values = [seconds for _, seconds in known if seconds > 0]
    if values and max(values) > LOG_FROM * min(values):
        drawn["xaxis"]["type"] = "log"
    return {"data": [bars], "layout": drawn}


def stability_figure(facts: ComparisonFacts) -> Figure:
    """Nogueira's stability of each method with its confidence interval."""
    known = [(_label(each), each.agreement) for each in facts.methods]
    known = [(name, each) for name, each in known if math.isfinite(each.index)]
    points = {
        "type": "scatter",
        "mode": "markers",
        "y": [name for name, _ in known],
        "x": [number(each.index) for _, each in known],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [number(each.high - each.index) for _, each in known],
            "arrayminus": [number(each.index - each.low) for _, each in known],
            "color": "var(--soft)",
        },
        "hovertext": [f"{name}: {each}" for name, each in known],
        "hoverinfo": "text",
        "marker": {"color": "var(--line)", "size": 10},
    }
    return {"data": [points], "layout": _rows_layout("stability over folds", len(known))}


def _traces(facts: ComparisonFacts, curve: Curve, at: int) -> list[dict[str, Any]]:
    colour, dash = f"var(--g{at % N_COLOURS})", DASHES[at // N_COLOURS % len(DASHES)]
    name = as_text(short(curve.method))
    common = {"type": "scatter", "legendgroup": str(at), "name": name, "hoverinfo": "text"}
    traces = []
    if curve.points:
        line = {"mode": "lines+markers", "line": {"color": colour, "dash": dash, "width": 2}}
        traces.append(common | line | _values(facts, name, curve.points))
    if curve.own is not None:
        star = {"symbol": "star", "size": 13, "color": colour}
        own = {"mode": "markers", "marker": star, "showlegend": not curve.points}
        traces.append(common | own | _values(facts, name, (curve.own,)))
    return traces


def _values(facts: ComparisonFacts, name: str, points: tuple[Point, ...]) -> dict[str, Any]:
    errors = [number(point.score.standard_error) or 0.0 for point in points]
    return {
        "x": [number(point.n_features) for point in points],
        "y": [number(point.score.mean) for point in points],
        "error_y": {"type": "data", "array": errors, "thickness": 1, "width": 2},
        "hovertext": [_hover(facts, name, point) for point in points],
    }


def _hover(facts: ComparisonFacts, name: str, point: Point) -> str:
    limit = "its own number" if point.size is None else f"at most {point.size}"
    size = f"{point.n_features:.4g} features ({limit})"
    score = as_text(f"{facts.score_kind} {rendering.score_with_error(point.score)}")
    return f"<b>{name}</b><br>{size}<br>{score}"


def _label(method: MethodFacts) -> str:
    return as_text(short(method.name, 16))


def _rows_layout(title: str, n_rows: int) -> dict[str, Any]:
    drawn = layout(title, "", [1.0])
    drawn["height"] = 90 + ROW_HEIGHT * max(n_rows, 1)
    drawn["xaxis"]["rangemode"] = "tozero"
    drawn["yaxis"] |= {"autorange": "reversed", "type": "category", "ticksuffix": " "}
    return drawn
