"""The paper's large case: GBFS in memory and from a store, beside LightGBM with prices."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from common.data import missing
from common.measure import say
from common.options import Options
from common.spawn import spawn
from common.table import Section, table

from scale_sections import kdd

LIMIT = "1.5GB"
SMALL_LIMIT = "800MB"
PENALTIES = (20.0, 2_000.0, 50_000.0)
"""Prices of GBFS, in units of its loss: cheap, middling, dear."""

TRADEOFFS = (200.0, 5_000.0, 20_000.0, 500_000.0)
"""Of LightGBM likewise; all of them are raced, and the one nearest in features is compared."""

WHO = {
    "memory": "GBFS, in memory",
    "store": "GBFS, from Parquet",
    "lightgbm": "LightGBM with prices, in memory",
}


def run(options: Options) -> Section:
    section = Section("large")
    n_rows = 150_000 if options.quick else kdd.N_ROWS
    n_rounds = 20 if options.quick else 500
    limit = SMALL_LIMIT if options.quick else LIMIT
    with tempfile.TemporaryDirectory() as name:
        files = kdd.prepare(Path(name), n_rows)
        if files is None:
            section.skip(missing("kddcup99_10pct"))
            return section
        section.add(
            f"KDD Cup 99, {n_rows:,} x {kdd.N_COLUMNS}, {n_rounds} trees of depth 4, rate 0.1; "
            f"test error on the labelled test file. The store has a limit of {limit}."
        )
        # Prices are in units of a sum over rows: fewer rows, smaller prices.
        found = {
            (who, price): _fit(who, files, n_rounds, price * n_rows / kdd.N_ROWS, limit)
            for who, price in _plan(options)
        }
    _tell(section, found)
    return section


def _plan(options: Options) -> list[tuple[str, float]]:
    ours, theirs = PENALTIES, TRADEOFFS
    if options.quick:
        ours, theirs = PENALTIES[1:2], TRADEOFFS[1:3]
    return [
        *(("memory", price) for price in ours),
        *(("lightgbm", price) for price in theirs),
        ("store", ours[len(ours) // 2]),
    ]


def _fit(who: str, files: kdd.Files, n_rounds: int, price: float, limit: str) -> dict[str, Any]:
    say(f"{WHO[who]} at {price:g}")
    return spawn("scale_fit", who, files.folder, n_rounds, price, limit)


def _tell(section: Section, found: dict[tuple[str, float], dict[str, Any]]) -> None:
    rows = [
        [
            WHO[who],
            f"{price:g}",
            one["curve"][-1][0],
            100 * one["curve"][-1][1],
            one["training"],
            one["total"],
            one["peak"] / 1e9,
        ]
        for (who, price), one in found.items()
    ]
    header = ["", "price", "features", "test error, %", "training, s", "in all, s", "peak, GB"]
    section.add(table(header, rows))
    (_, price), stored = next((key, one) for key, one in found.items() if key[0] == "store")
    ours = found["memory", price]
    section.add("Test error by features at that price: " + _curve(ours["curve"]))
    same = stored["curve"] == ours["curve"]
    section.add(f"The store gives the same path and the same errors: {'yes' if same else 'NO'}.")
    theirs = _nearest(found, ours["curve"][-1][0])
    section.aim(
        "training, GBFS over LightGBM with prices, in memory",
        ours["training"] / theirs["training"],
        0.4,
    )
    section.aim("training, store over memory", stored["training"] / ours["training"], 1.3)
    section.aim("peak of the store, GB", stored["peak"] / 1e9, 1.5)


def _nearest(found: dict[tuple[str, float], dict[str, Any]], n: int) -> dict[str, Any]:
    rivals = [one for (who, _), one in found.items() if who == "lightgbm"]
    return min(rivals, key=lambda one: abs(one["curve"][-1][0] - n))


def _curve(curve: list[list[float]]) -> str:
    """A few points of a path: the best error at so many features or fewer."""
    told, best = [], 1.0
    for n_features, error in curve:
        if error < best:
            best = error
            told.append(f"{n_features:g}: {100 * error:.2f} %")
    return "; ".join(told[-12:]) + "."
