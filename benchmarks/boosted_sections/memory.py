"""Peak memory of a fit beyond its input, per cell of the table."""

from __future__ import annotations

from common.measure import N_THREADS, say
from common.options import Options
from common.spawn import spawn
from common.table import Section, table

LIMIT = 1.4
AGBM_CASES = {"A-GBM, penalty 0.01": 0.01, "A-GBM, penalty 0": 0.0}


def run(options: Options) -> Section:
    section = Section("memory")
    n_rows, n_features = (20_000, 100) if options.quick else (80_000, 500)
    n_rounds = 10 if options.quick else 100
    rows = []
    for name, penalty in AGBM_CASES.items():
        beyond = _beyond("agbm", n_rows, n_features, n_rounds, penalty)
        per_cell = beyond / (n_rows * n_features)
        rows.append([name, beyond / 2**20, per_cell])
        section.aim(f"{name}: peak beyond the input, bytes per cell", per_cell, LIMIT)
    beyond = _beyond("lightgbm", n_rows, n_features, n_rounds, 0.0)
    rows.append(["LightGBM, for reference", beyond / 2**20, beyond / (n_rows * n_features)])
    section.add(
        f"`AGBMClassifier(...).fit(X, y)`, X of {n_rows:,} x {n_features:,} float64 in C order (8 "
        f"bytes per cell, not counted), {n_rounds} rounds of depth 4, {N_THREADS} threads, in a "
        "fresh process after a fit on a tiny table.",
        table(["", "MiB beyond the input", "bytes per cell"], rows),
    )
    return section


def _beyond(who: str, n_rows: int, n_features: int, n_rounds: int, penalty: float) -> float:
    say(f"{who}, penalty {penalty:g}")
    return float(spawn("peak_memory", who, n_rows, n_features, n_rounds, penalty)["beyond"])
