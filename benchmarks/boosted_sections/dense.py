"""A dense table of 80,000 x 500: with penalties that keep 40 and 20 features, and without any."""

from __future__ import annotations

import tempfile

import numpy as np
from adapters.hist_gradient_boosting import HistGradientBoosting
from adapters.lightgbm import LightGBM
from common.data import Split, made
from common.measure import TOTAL, Times, say, take_turns
from common.options import Options
from common.spawn import spawn
from common.table import Section

from boosted_sections import versus
from boosted_sections.versus import OURS, THEIRS, Pair

FIT = "fit(X, y)"


def problem(options: Options) -> Split:
    """20 informative features, no redundant ones, noise for the rest."""
    if options.quick:
        return made(4_000, 2_000, 60, 20, n_redundant=0)
    return made(80_000, 20_000, 500, 20, n_redundant=0)


def run(options: Options) -> Section:
    section = Section("dense")
    split = problem(options)
    n_rounds = 20 if options.quick else 100
    free = versus.plain(split, n_rounds)
    section.add(
        f"`make_wide`: {split.shape}, 20 informative features; {n_rounds} rounds of depth 4; test "
        f"AUC on {len(split.y_test):,} rows more. LightGBM goes through the table "
        f"{free.theirs.layout.replace('its own', 'by its own')}, the fastest of its layouts here.",
    )
    for most in (40, 20):
        limited = versus.priced(split, free, most)
        section.add(
            f"**With a penalty that keeps at most {most} features**: A-GBM at penalty "
            f"{limited.ours.penalty:.3g}, LightGBM with `cegb_penalty_feature_coupled` 1 and "
            f"`cegb_tradeoff` {limited.theirs.tradeoff:.3g}.",
        )
        found = _measure(split, limited, options, reference=False)
        _report(section, found, split, alone(split, limited.theirs, options))
        versus.aim(section, found, f"at most {most} features", training=0.35, **{TOTAL: 0.5})
    section.add("**Without a penalty**:")
    found = _measure(split, free, options, reference=True)
    _report(section, found, split, alone(split, free.theirs, options))
    versus.aim(section, found, "without a penalty", training=0.6)
    return section


def _measure(split: Split, pair: Pair, options: Options, *, reference: bool) -> dict[str, Times]:
    say("measuring")
    X, y = split.X, split.y
    methods = {
        OURS: lambda: pair.ours.run(X, y),
        THEIRS: lambda: pair.theirs.run(X, y),
        f"{OURS}, {FIT}": lambda: pair.ours.run_estimator(X, y),
        f"{THEIRS}, {FIT}": lambda: pair.theirs.run_estimator(X, y),
    }
    if reference:
        hist = HistGradientBoosting(pair.ours.n_rounds)
        methods["HistGradientBoosting, fit(X, y)"] = lambda: hist.run(X, y)
    return take_turns(methods, options.repeats)


def alone(split: Split, theirs: LightGBM, options: Options) -> dict[str, float]:
    """The best seconds of LightGBM in a process of its own: does company hold it back?"""
    say("LightGBM alone")
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", split.X)
        np.save(f"{folder}/y.npy", split.y)
        result = (theirs.n_rounds, theirs.tradeoff, theirs.layout, options.repeats)
        return spawn("lightgbm_alone", *result, BENCHMARK_TABLE=folder)


def _report(
    section: Section, found: dict[str, Times], split: Split, by_itself: dict[str, float]
) -> None:
    compared = [
        ("training", OURS, THEIRS, "training"),
        ("binning", OURS, THEIRS, "binning"),
        ("binning and training", OURS, THEIRS, TOTAL),
        (f"{FIT} of the estimators", f"{OURS}, {FIT}", f"{THEIRS}, {FIT}", TOTAL),
    ]
    theirs = found[THEIRS]
    section.add(
        versus.methods_table(found, split),
        versus.ratios_table(found, compared),
        "LightGBM here over LightGBM in a process without secateur: binning "
        f"{theirs.best('binning') / by_itself['binning']:.2f}, training "
        f"{theirs.best('training') / by_itself['training']:.2f}.",
    )
