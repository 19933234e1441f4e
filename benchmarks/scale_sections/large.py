"""The paper's large case: GBFS in memory and from a store, beside LightGBM with penalties.

What is compared is fixed before anything is run:

1. GBFS in memory at ``PENALTY``: so many features.
2. The penalty at which LightGBM keeps as many is searched on ``SAMPLE_ROWS`` rows, off the clock,
   for at most ``TUNING`` seconds.
3. LightGBM on all rows at that penalty, for at most ``RIVAL`` seconds.
4. GBFS from Parquet at ``PENALTY``.
5. While there is time: LightGBM once more, at a penalty corrected by what the first run kept, or
   at the same one if that was right; GBFS in memory again, of which the quicker run counts; GBFS
   at the other penalties, for the picture alone.

Of LightGBM the run that is nearest in features is compared, the quicker of two that are as near.
Seconds are those of a tree: a method that was stopped has fewer, and its first ones are taken
to cost as much as all.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.data import missing
from common.measure import say
from common.options import Options
from common.spawn import spawn
from common.table import Section, table

from scale_sections import kdd
from scale_sections.figure import PICTURE, draw
from secateur.data.memory import resolve_limit

LIMIT = "1.5GB"
SMALL_LIMIT = "800MB"
PENALTY = 2_000.0
"""Of a feature for GBFS, in units of its loss: the one that is compared."""

MORE_PENALTIES = (50_000.0, 20.0)
"""Further ones for the picture: of high and low cost."""

SAMPLE_ROWS = 50_000
TUNING = 210.0
RIVAL = 720.0
MOST_SECONDS = 25 * 60
"""No further fit is begun that would end later than this, by how long the first one took."""

WHO = {
    "memory": "GBFS, in memory",
    "store": "GBFS, from Parquet",
    "lightgbm": "LightGBM with penalties, in memory",
}


@dataclass(frozen=True, slots=True)
class Fit:
    """One fit of one method, and what its process found."""

    who: str
    penalty: float
    found: dict[str, Any]

    @property
    def n_features(self) -> int:
        return int(self.found["curve"][-1][0])

    @property
    def training(self) -> float:
        """Seconds of a tree."""
        return float(self.found["training"]) / self.n_trees

    @property
    def n_trees(self) -> int:
        return int(self.found["trees"])

    @property
    def peak(self) -> float:
        return float(self.found["peak"]) / 1e9

    def row(self) -> list[Any]:
        error = 100 * self.found["curve"][-1][1]
        result = [WHO[self.who], f"{self.penalty:g}", self.n_trees, self.n_features, error]
        seconds = [self.found["training"], self.found["total"], 1e3 * self.training]
        return [*result, *seconds, self.peak]


@dataclass(slots=True)
class Benchmark:
    """The fits of one run, in order."""

    files: kdd.Files
    n_rounds: int
    limit: str
    fits: list[Fit] = field(default_factory=list)

    def fit(self, who: str, penalty: float) -> Fit:
        """Run a method; penalties are those of the full size: fewer rows, smaller penalties."""
        say(f"{WHO[who]} at {penalty:g}")
        own = penalty * self.files.n_rows / kdd.N_ROWS
        limit = RIVAL if who == "lightgbm" else self.limit
        found = spawn("scale_fit", who, self.files.folder, self.n_rounds, own, limit)
        self.fits.append(Fit(who, penalty, found))
        return self.fits[-1]

    def tuned(self, wanted: int) -> dict[str, Any]:
        """The penalty at which LightGBM keeps as many features, by a sample; not timed."""
        say(f"the penalty at which LightGBM keeps {wanted} features")
        folder = self.files.folder
        found = spawn("scale_tune", folder, self.n_rounds, wanted, SAMPLE_ROWS, TUNING)
        scale = kdd.N_ROWS / self.files.n_rows
        tried = [(penalty * scale, n) for penalty, n in found["tried"]]
        return {**found, "penalty": found["penalty"] * scale, "tried": tried}

    def of(self, who: str, penalty: float | None = None) -> list[Fit]:
        return [f for f in self.fits if f.who == who and penalty in {None, f.penalty}]


def run(options: Options) -> Section:
    section = Section("large")
    start = time.perf_counter()
    n_rows = 150_000 if options.quick else kdd.N_ROWS
    n_rounds = 20 if options.quick else 500
    with tempfile.TemporaryDirectory() as name:
        files = kdd.prepare(Path(name), n_rows)
        if files is None:
            section.skip(missing("kddcup99_10pct"))
            return section
        benchmark = Benchmark(files, n_rounds, SMALL_LIMIT if options.quick else LIMIT)
        tuned = _compare(benchmark)
        _go_on(benchmark, tuned, start + (120 if options.quick else MOST_SECONDS))
    section.add(
        f"KDD Cup 99, {n_rows:,} x {kdd.N_COLUMNS} (rows drawn with replacement from its 10 % "
        f"file), {n_rounds} trees of depth 4, rate 0.1; "
        f"test error on the labelled test file. The store has a limit of {benchmark.limit}. "
        f"The penalty of LightGBM was searched on {tuned['rows']:,} rows, off the clock."
    )
    _report(section, benchmark)
    if options.write:
        draw(benchmark.fits, WHO)
        section.add(f"![Test error against the number of features]({PICTURE.name})")
    return section


def _compare(benchmark: Benchmark) -> dict[str, Any]:
    """What the targets are about."""
    wanted = benchmark.fit("memory", PENALTY).n_features
    tuned = benchmark.tuned(wanted)
    benchmark.fit("lightgbm", tuned["penalty"])
    benchmark.fit("store", PENALTY)
    return tuned


def _put_right(tuned: dict[str, Any], wanted: int, got: int) -> float:
    """The penalty that gave, on the sample, as many features too few as the first gave too many."""
    if got == wanted:
        return float(tuned["penalty"])
    sampled = dict(tuned["tried"])[tuned["penalty"]]
    aim = max(1, sampled + wanted - got)
    return float(min(tuned["tried"], key=lambda pair: abs(pair[1] - aim))[0])


def _go_on(benchmark: Benchmark, tuned: dict[str, Any], until: float) -> None:
    """Further fits, while there is time for them."""
    ours, theirs = benchmark.of("memory")[0], benchmark.of("lightgbm")[0]
    again = _put_right(tuned, ours.n_features, theirs.n_features)
    for who, penalty in (("lightgbm", again), *(("memory", p) for p in (PENALTY, *MORE_PENALTIES))):
        needed = (theirs if who == "lightgbm" else ours).found["wall"]
        if time.perf_counter() + needed > until:
            say(f"no time for {WHO[who]} at {penalty:g}")
        else:
            benchmark.fit(who, penalty)


def _report(section: Section, benchmark: Benchmark) -> None:
    header = ["", "penalty", "trees", "features", "test error, %", "training, s", "in all, s"]
    header += ["ms a tree", "peak, GB"]
    section.add(table(header, [fit.row() for fit in benchmark.fits]))
    ours = min(benchmark.of("memory", PENALTY), key=lambda fit: fit.training)
    stored = benchmark.of("store")[0]
    section.add("Test error by features at that penalty: " + _curve(ours.found["curve"]))
    same = stored.found["curve"] == ours.found["curve"]
    section.add(f"The store gives the same path and the same errors: {'yes' if same else 'NO'}.")
    rivals = benchmark.of("lightgbm")
    theirs = min(rivals, key=lambda f: (abs(f.n_features - ours.n_features), f.training))
    section.add(f"Compared: {ours.n_features} features, and {theirs.n_features} of LightGBM.")
    section.aim(
        "a tree, GBFS over LightGBM with penalties, in memory", ours.training / theirs.training, 0.4
    )
    section.aim("a tree, store over memory", stored.training / ours.training, 1.3)
    section.aim("peak of the store, GB", stored.peak, resolve_limit(benchmark.limit) / 1e9)


def _curve(curve: list[list[float]]) -> str:
    """A few points of a path: the best error at so many features or fewer."""
    result, best = [], 1.0
    for n_features, error in curve:
        if error < best:
            best = error
            result.append(f"{n_features:g}: {100 * error:.2f} %")
    return "; ".join(result[-12:]) + "."
