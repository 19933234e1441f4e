"""The part of a page about a comparison of methods, as HTML; everything not ours is escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from secateur.path import wording
from secateur.path.values import thawed_json
from secateur.report.contest_facts import ContestFacts, MethodFacts
from secateur.report.contest_figures import curves_figure, seconds_figure, stability_figure
from secateur.report.drawings import brief
from secateur.report.figures import Figure
from secateur.report.sections import definition_list, plot_place

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
    mean, spread = score
    error = "" if math.isnan(spread) else f" ± {wording.number(spread)}"
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
            _cell(test.difference, f"{test.difference:+.4f} ± {wording.number(test.spread)}"),
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
