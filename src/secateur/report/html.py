"""The page: one HTML file that needs no network, filled in from facts by Jinja2 templates."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from secateur.exceptions import ParameterError, import_optional, printable, some_of
from secateur.model_selection.comparison import Comparison
from secateur.path.codec import write_whole
from secateur.path.step import count_of, format_amount, thawed_json
from secateur.report import comparison as comparing
from secateur.report import figures
from secateur.report.evidence import Evidence
from secateur.report.facts import RULES, Entry, EntryFacts, entry_facts
from secateur.report.figures import number
from secateur.report.from_data import gather_evidence
from secateur.report.sentences import MIN_FREQUENCY, short

MAX_NAME = 300  # characters of a name in the data of the script


def report(
    selector: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    title: str = "",
    random_state: Any = 0,
    **options: Any,
) -> Path:
    """Write a page about a selection: nested cross-validation, evidence and page in one call.

    Parameters
    ----------
    selector : estimator of secateur or HeldOut
        A selector is cloned and evaluated by `held_out`, a result of `held_out` shown as it is.
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
    y : array or series of shape (n_rows,)
    path : path-like, default="report.html"
        The page; an existing file is replaced.
    title : str, default=""
        The title; the name of the algorithm by default.
    random_state : int, RandomState or None, default=0
        Of the folds.
    **options
        More of `held_out`, as ``cv``, ``groups``, ``qid``, ``scoring``; or ``grid_shape``.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import secateur
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = secateur.GraftingClassifier(l1=[0.1, 0.03])
    >>> secateur.report(selector, X, y, "tumours.html", cv=3).name  # doctest: +SKIP
    'tumours.html'
    """
    from secateur.model_selection.held_out import HeldOut, held_out  # loads scikit-learn
    from secateur.model_selection.rows import target_type_of

    shown = {name: options.pop(name) for name in ("grid_shape", "sample_limit") if name in options}
    if isinstance(selector, HeldOut):
        if options:
            raise ParameterError(
                f"A result of held_out is shown as it is. Got {some_of(sorted(options))} besides. "
                "Pass them to held_out, or give a selector."
            )
        held = selector
    else:
        held = held_out(selector, X, y, random_state=random_state, **options)
    fitted = held.selector
    known = fitted.get_params(deep=False)
    is_class = getattr(fitted, "target_type_", "regression") != "regression"  # found by the fit
    given = ("costs", "feature_groups", "keep", "categorical_features")
    evidence = gather_evidence(
        X,
        y,
        held.path,
        target_type=target_type_of(fitted) or ("classification" if is_class else "regression"),
        selection=fitted.selection_,
        fold_paths=held.fold_paths,
        all_features=held.all_features,
        all_features_model=held.all_features_model,
        selector=fitted,
        **{name: known[name] for name in given if name in known},
        **shown,
    )
    name = title or held.path.algorithm
    return write_page(path, [Entry(name, held.path, fitted.selection_, evidence)])


def write_page(
    file: str | os.PathLike[str],
    entries: Sequence[Entry],
    *,
    comparison: Comparison | None = None,
    about: Mapping[str, Any] | None = None,
) -> Path:
    """Write a page about paths, and about a comparison of methods if there is one.

    Parameters
    ----------
    file : path-like
        Written completely or not at all.
    entries : sequence of Entry
        The paths to show, in this order.
    comparison : Comparison, optional
    about : mapping, optional
        What else to show, for instance which file was read; ``"title"`` is the title of the page,
        ``"command"`` the command that reproduces it, and ``"methods"`` the rows of a table of
        methods: name, features, score, difference to the best, seconds. A ``"warning"`` is shown
        at the top.

    Returns
    -------
    Path
        The file.
    """
    return write_whole(file, page(entries, comparison=comparison, about=about))


def is_page(file: Path) -> bool:
    """Whether a file is a page that secateur wrote."""
    with file.open("rb") as stream:
        return b'<meta name="generator" content="secateur">' in stream.read(4000)


def page(
    entries: Sequence[Entry],
    *,
    comparison: Comparison | None = None,
    about: Mapping[str, Any] | None = None,
) -> str:
    """Return the page as text; see `write_page`."""
    if not entries and comparison is None:
        raise ParameterError("A page needs a path or a comparison. Got neither. Pass an Entry.")
    facts = [entry_facts(entry, n_entries=len(entries)) for entry in entries]
    compared, shared = None, dict[str, figures.Figure]()  # by the end of the id of their element
    if comparison is not None:
        compared = comparing.comparison_facts(comparison)
        for at, validator in enumerate(comparison.validators):
            shared[f"curves{at}"] = comparing.curves_figure(comparison, validator)
        shared["seconds"] = comparing.seconds_figure(comparison)
        shared["stability"] = comparing.stability_figure(comparison)
    if together := figures.all_paths(facts):
        shared["paths"] = together
    title = "Selected features" if facts else "Comparison of methods"
    if len(facts) == 1:
        title = f"Features of {facts[0].title}"
    other = dict(about or {})
    drawn = {"entries": [_entry_data(each) for each in facts], "figures": shared}
    template = _environment().get_template("page.html")
    return template.render(
        title=str(other.pop("title", "") or title),
        command=other.pop("command", None),
        methods=other.pop("methods", []),
        warning=other.pop("warning", ""),
        about=other,
        entries=facts,
        comparison=compared,
        figures=shared,
        data={**printable(drawn), "min_frequency": MIN_FREQUENCY},
    )


@cache
def _environment() -> Any:
    import_optional("jinja2", "A page", "secateur[report]")
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("secateur.report")
    blocks = {"trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        # text from outside without control characters; markup is ours
        finalize=lambda value: value if hasattr(value, "__html__") else printable(value),
        **blocks,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {"short": short, "amount": format_amount, "counted": count_of}
    environment.filters |= {"thawed": thawed_json, "literal": _literal, "cells": _cells}

    def asset(name: str) -> Any:
        """A style sheet or script of ours, as it is: braces in it are not those of templates."""
        return Markup(loader.get_source(environment, name)[0])  # noqa: S704 - a file of this package

    environment.globals |= {"asset": asset, "draw": figures, "rules": RULES}
    return environment


def _cells(rows: Sequence[Sequence[str]]) -> list[list[tuple[str, Any]]]:
    """The texts of a table with what each is sorted by: its first number, or itself."""

    def value(text: str) -> Any:
        try:
            return float(text.split(" ", maxsplit=1)[0])
        except ValueError:
            return text

    return [[(text, value(text)) for text in row] for row in rows]


def _literal(value: Any) -> str:
    plain = thawed_json(value)
    if isinstance(plain, float) and not math.isfinite(plain):
        return f'float("{plain}")'
    return json.dumps(plain) if isinstance(plain, str) else repr(plain)


def _entry_data(facts: EntryFacts) -> dict[str, Any]:
    # the data of the script: short keys, no more digits than are shown
    data: dict[str, Any] = {
        "cut": facts.cut,
        "features": [
            [short(each.name, MAX_NAME), number(each.cost, 6), each.known]
            for each in facts.features
        ],
        "steps": [
            {name: getattr(step, name) for name in ("label", "answer", "reason", "unstable")}
            | {
                "n": step.step.n_features,
                "more": step.n_unlisted,
                "rows": step.rows,
                "place": step.place if step.n_unlisted else None,
                "gain": [number(gain, 3) for gain in step.gain],
                "paid": [number(paid, 6) for paid in step.paid] or None,
                "frequency": [number(each, 3) for each in step.frequency] or None,
                "substitutes": step.substitutes if any(step.substitutes) else None,
                "tasks": step.tasks or None,
            }
            for step in facts.steps
        ],
        "figures": figures.score_curves(facts),
    }
    return data if facts.evidence is None else data | _evidence_data(facts, facts.evidence)


def _evidence_data(facts: EntryFacts, evidence: Evidence) -> dict[str, Any]:
    row_of = {each.feature: row for row, each in enumerate(facts.features)}
    # columns without a row in the table have numbers below zero, and are listed by name
    others = sorted({f for each in evidence.substitutes for f, _ in each} - row_of.keys())
    data: dict[str, Any] = {
        "names": {str(-1 - f): short(facts.path.feature_names[f]) for f in others},
        "correlated": [
            [[row_of.get(feature, -1 - feature), round(100 * r)] for feature, r in each]
            for each in evidence.substitutes
        ],
        "association": [
            [None if math.isnan(r) else round(100 * r) for r in row[:at]]
            for at, row in enumerate(evidence.association)
        ],
    }
    if evidence.grid_shape:
        grey = bytes(round(255 * min(max(value, 0.0), 1.0)) for value in evidence.backdrop)
        data |= {"grid": evidence.grid_shape, "cells": list(row_of)}
        data["grey"] = base64.b64encode(grey).decode("ascii")
    return data
