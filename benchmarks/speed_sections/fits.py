"""Single fits against LightGBM at its fastest, with the accuracy on other rows beside the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from adapters.lightgbm import LightGBM
from common.data import Split, missing, whole
from common.measure import Run, Stopwatch, say, take_turns
from common.options import Options
from common.table import Section, table

from secateur import AGBMClassifier
from secateur.engines.boosted.trees import min_leaf_rows

TEST_SHARE = 0.2
TRIAL_ROUNDS = 20  # in which the fastest LightGBM is found
MORE_REPEATS = 3  # a fit takes a fraction of a second: so many times the repeats
HEADER = ["", "penalty", "rounds", "ours, s", "LightGBM, s", "ratio", "wanted",
          "accuracy, ours", "LightGBM", "LightGBM runs"]  # fmt: skip


class Work(NamedTuple):
    """Fits of one table at some penalties, and the largest ratio of seconds wanted."""

    name: str
    penalties: tuple[float, ...]
    n_rounds: int
    limit: float


SMALL = (
    Work("breast_cancer", (0.0, 0.001), 200, 0.6),
    Work("spambase", (0.0, 0.001), 200, 0.6),
    Work("digits", (0.0, 0.001), 200, 0.6),
)
WIDE = (Work("leukemia", (0.0, 0.01), 100, 0.3), Work("arcene", (0.0, 0.01), 100, 0.3))
CLASSES = (Work("COIL20", (0.01,), 100, 0.6),)
SPARSE = (Work("BASEHOCK", (0.0, 0.01), 100, 0.8), Work("RELATHE", (0.0, 0.01), 100, 0.8))


def section(name: str, works: Sequence[Work]) -> Callable[[Options], Section]:
    """The section of some tables."""
    return partial(_run, name, works)


def _run(name: str, works: Sequence[Work], options: Options) -> Section:
    found = Section(name)
    rows: list[list[Any]] = []
    for work in works:
        split = load(work.name)
        if split is None:
            found.skip(missing(work.name))
            continue
        rows += _compare(found, work, split, options)
    found.add(
        "`AGBMClassifier(penalty=...).fit(X, y)` against `Dataset` and `train` of LightGBM without "
        "penalty: depth 4, 16 leaves, rate 0.1, 255 bins, as many rows in a leaf; the best of "
        f"{options.repeats * MORE_REPEATS} in alternation. LightGBM runs as was fastest in "
        f"{TRIAL_ROUNDS} rounds: one or two threads, by rows or columns, plain or quantised.",
        table(HEADER, rows),
    )
    return found


def load(name: str) -> Split | None:
    """A table by name, classes numbered from 0; a fifth of the rows is for the test."""
    if name in {"breast_cancer", "digits"}:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        found = whole(name)
        if found is None:
            return None
        X, y = found
    y = np.unique(y, return_inverse=True)[1].astype(np.float64)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [int(TEST_SHARE * len(y))])
    return Split(X[train], y[train], X[test], y[test])


def _compare(found: Section, work: Work, split: Split, options: Options) -> list[list[Any]]:
    """A row for each penalty."""
    n_rounds = 10 if options.quick else work.n_rounds
    n_classes = int(split.y.max()) + 1
    leaf = int(min_leaf_rows("auto", np.ones(len(split.y))))
    theirs = LightGBM(n_rounds, n_classes=n_classes, min_leaf=leaf)
    say(f"{work.name}: the fastest LightGBM")
    theirs = theirs.fastest(split.X, split.y, min(n_rounds, TRIAL_ROUNDS))
    setting = f"{theirs.n_threads} threads, {theirs.layout}{', quantised' * theirs.quantised}"
    rows = []
    for penalty in work.penalties:
        say(f"{work.name}, penalty {penalty:g}")
        _fit(split, penalty, n_rounds)  # compile
        methods = {
            "ours": partial(_fit, split, penalty, n_rounds),
            "theirs": partial(theirs.run, split.X, split.y),
        }
        times = take_turns(methods, options.repeats * MORE_REPEATS)
        seconds = [times[name].best() for name in methods]
        accuracy = [_accuracy(times[name].last, split) for name in methods]
        ratio = seconds[0] / seconds[1]
        what = f"{work.name}, {split.shape}, {n_classes} classes"
        wanted = f"<= {work.limit:g}"
        rows.append([what, f"{penalty:g}", n_rounds, *seconds, ratio, wanted, *accuracy, setting])
        found.aim(f"{work.name}, penalty {penalty:g}: ratio", ratio, work.limit)
    return rows


def _fit(split: Split, penalty: float, n_rounds: int) -> Run:
    """Ours, from the table to the fitted selector."""
    selector = AGBMClassifier(penalty=penalty, max_iter=n_rounds)
    watch = Stopwatch()
    with watch("fit"):
        selector.fit(split.X, split.y)
    return Run(watch.stages, int(selector.support_.sum()), selector.predict_proba)


def _accuracy(run: Run, split: Split) -> float:
    """The share of test rows whose class is predicted."""
    scores = np.asarray(run.decide(split.X_test))
    guess = scores > 0.5 if scores.ndim == 1 else scores.argmax(axis=1)
    return float(np.mean(guess == split.y_test))
