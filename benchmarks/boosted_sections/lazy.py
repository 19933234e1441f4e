"""Lazy search against full search: the same model bit for bit, and the work that it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from adapters.secateur_boosted import AGBM, Leaf, binned, difference
from common.data import Split, missing, real
from common.measure import Times, say, take_turns
from common.options import Options
from common.table import Section, table

from boosted_sections import dense

PENALTIES = (0.01, 0.05)
LEAVES: tuple[Leaf, ...] = ("newton", "mean")
REAL = ("madelon", "BASEHOCK", "PCMAC")

HEADER = [
    "",
    "leaf",
    "penalty",
    "features",
    "same model",
    "share of work left",
    "ratio of seconds, best",
    "median",
]


def run(options: Options) -> Section:
    section = Section("lazy")
    n_rounds = 10 if options.quick else 100
    rows: list[list[Any]] = []
    for name, split in _tables(options):
        if split is None:
            section.skip(missing(name))
        else:
            rows += _compare(name, split, n_rounds, options)
    section.add(
        f"Training of A-GBM, {n_rounds} rounds of depth 4, with lazy search over with full search. "
        "Work is counted in cells of the table that go into histograms. Every pair of models was "
        "held against each other bit for bit: a difference would have ended the run.",
        table(HEADER, rows),
    )
    return section


def _tables(options: Options) -> Iterator[tuple[str, Split | None]]:
    split = dense.problem(options)
    yield f"made, {split.shape}", split
    for name in REAL:
        yield name, real(name)


def _compare(name: str, split: Split, n_rounds: int, options: Options) -> list[list[Any]]:
    rows = []
    with binned(split.X, split.y) as data:
        for leaf in LEAVES:
            for penalty in PENALTIES:
                say(f"{name}, leaf {leaf}, penalty {penalty}")
                lazy = AGBM(n_rounds, penalty, leaf=leaf, lazy=True)
                full = replace(lazy, lazy=False)
                for one in (lazy, full):
                    replace(one, n_rounds=2).train(data)  # compile
                found = take_turns(
                    {"lazy": partial(lazy.train, data), "full": partial(full.train, data)},
                    options.repeats,
                )
                what = [name, leaf, f"{penalty:g}"]
                rows.append([*what, *_facts(" ".join(what), found["lazy"], found["full"])])
    return rows


def _facts(what: str, lazy: Times, full: Times) -> list[Any]:
    """One row of the table; two models that differ end the run."""
    where = difference(lazy.last.facts["step"], full.last.facts["step"])
    assert where is None, f"{what}: lazy and full search differ in {where}"
    return [
        lazy.last.n_features,
        where is None,
        _share(lazy.last.facts["cells"], full.last.facts["cells"]),
        lazy.best() / full.best(),
        lazy.median() / full.median(),
    ]


def _share(lazy: int | None, full: int | None) -> float | None:
    return None if lazy is None or not full else lazy / full
