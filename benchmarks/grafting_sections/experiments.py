"""The experiments of the paper: problems A, B, C and D, eight methods less one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from adapters import paper_rivals
from common.data import missing, whole
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table

from grafting_sections.figure import draw
from secateur.datasets import make_grafting_a, make_grafting_b, make_grafting_c
from secateur.model_selection.statistics import saliency

# Table 2 of the paper: (l1, l0) of linear and network grafting, C of the two machines.
SETTINGS = {
    "A": ((3e-4, 0.005), (1e-6, 0.005), 0.01, 10.0),
    "B": ((1e-4, 0.005), (1e-6, 0.005), 0.01, 0.1),
    "C": ((0.2, 0.001), (0.1, 0.001), 0.001, 100.0),
    "D": ((0.005, 0.001), (3e-4, 0.001), 1.0, 1.0),
}
METHODS = {
    "a": "linear grafting",
    "b": "network grafting",
    "c": "L1 gradient descent",
    "e": "linear SVM",
    "f": "RBF SVM",
    "g": "RBF SVM, wrapper",
    "h": "RBF SVM, filter",
}
MAKERS = {"A": make_grafting_a, "B": make_grafting_b, "C": make_grafting_c}


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Rows to train on and to test on, standardised by the former; the truth where it is known."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    informative: Any = None
    copies: Any = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one method made of one instance."""

    error: float
    n_features: int
    saliency: float
    seconds: float


def run(options: Options) -> Section:
    section = Section("experiments", is_timed=False)
    n_instances = 2 if options.quick else 10
    outcomes: dict[str, dict[str, list[Outcome]]] = {}
    for name in SETTINGS:
        instances = list(_instances(name, n_instances))
        if not instances:
            section.skip(missing("mfeat"))
            continue
        outcomes[name] = _all(name, instances, options)
    section.add(
        f"{n_instances} instances of the synthetic problems, one of D (digit 0 against the rest), "
        "penalties and C as in Table 2 of the paper. Error is the share of wrong labels on 1,000 "
        "test rows, mean and standard error. Saliency counts a copy of an informative feature as "
        "that feature, once. The wrapper fits thousands of machines for one choice: it saw one "
        "instance of A, B and C (all, and D, with `--full`). Seconds are of one fit, "
        f"{N_THREADS} threads, on a machine that was not quiet: to read along.",
        *(_table(name, found) for name, found in outcomes.items()),
    )
    for name in ("A", "B"):
        found = outcomes[name]
        ours = float(np.mean([o.error for o in found["b"]]))
        rest = min(np.mean([o.error for o in found[m]]) for m in found if m != "b")
        section.aim(f"{name}: error of network grafting / best other", ours / float(rest), 0.7)
        worst = 1.0 - float(np.mean([o.saliency for o in found["b"]]))
        section.aim(f"{name}: 1 - saliency of network grafting", worst, 0.1)
    if not options.quick:
        draw({name: _means(found) for name, found in outcomes.items()}, METHODS)
        section.add("![Error, share of features and saliency](grafting.png)")
    return section


def _instances(name: str, n_instances: int) -> Iterator[Instance]:
    if name == "D":
        yield from _digits()
        return
    for seed in range(n_instances):
        train = MAKERS[name](random_state=seed)
        test = MAKERS[name](n_rows=1000, random_state=1000 + seed)
        copies = np.full(train.X.shape[1], -1)
        copies[train.relevant] = train.relevant
        copies[train.redundant] = np.arange(len(train.redundant)) % len(train.relevant)
        yield _standardised(train.X, train.y, test.X, test.y, train.relevant, copies)


def _digits() -> Iterator[Instance]:
    found = whole("mfeat")
    if found is None:
        return
    X, labels = found
    y = (labels == 0).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1000], order[1000:]
    yield _standardised(X[train], y[train], X[test], y[test])


def _standardised(X: Any, y: Any, X_test: Any, y_test: Any, *truth: Any) -> Instance:
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return Instance((X - mean) / spread, y, (X_test - mean) / spread, y_test, *truth)


def _all(name: str, instances: list[Instance], options: Options) -> dict[str, list[Outcome]]:
    methods = _methods(name)
    out: dict[str, list[Outcome]] = {}
    for letter, fit in methods.items():
        some = instances if letter != "g" or options.full else instances[:1]
        if letter == "g" and name == "D" and not options.full:
            continue
        start = time.perf_counter()
        out[letter] = [_outcome(fit, instance) for instance in some]
        say(f"{name}, {METHODS[letter]}: {time.perf_counter() - start:.0f} s")
    return out


def _methods(name: str) -> dict[str, Callable[[Any, Any], Any]]:
    (l1, l0), (net_l1, net_l0), linear_c, rbf_c = SETTINGS[name]
    return {
        "a": lambda X, y: _graft(X, y, "linear", l1, l0),
        "b": lambda X, y: _graft(X, y, "mlp", net_l1, net_l0),
        "c": lambda X, y: paper_rivals.gradient_descent(X, y, l1),
        "e": lambda X, y: paper_rivals.linear_svm(X, y, linear_c),
        "f": lambda X, y: paper_rivals.rbf_svm(X, y, rbf_c),
        "g": lambda X, y: paper_rivals.wrapped_svm(X, y, rbf_c),
        "h": lambda X, y: paper_rivals.filtered_svm(X, y, rbf_c),
    }


def _graft(X: Any, y: Any, model: str, l1: float, l0: float) -> Any:
    from secateur import GraftingClassifier

    # the last step: what the criterion itself chooses, as in the paper
    selector = GraftingClassifier(model=model, l1=l1, l0=l0, cv=0, n_jobs=N_THREADS).fit(X, y)
    return np.flatnonzero(selector.support_), selector.predict


def _outcome(fit: Callable[[Any, Any], Any], instance: Instance) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        chosen, predict = fit(instance.X, instance.y)
        seconds = time.perf_counter() - start
        error = float(np.mean(predict(instance.X_test) != instance.y_test))
    if chosen is None:
        return Outcome(error, instance.X.shape[1], np.nan, seconds)
    worth = np.nan
    if instance.informative is not None:
        worth = saliency(chosen, instance.informative, instance.copies)
    return Outcome(error, len(chosen), worth, seconds)


def _means(found: dict[str, list[Outcome]]) -> dict[str, dict[str, float]]:
    return {
        letter: {
            "error": float(np.mean([o.error for o in outcomes])),
            "spread": _standard_error([o.error for o in outcomes]),
            "n_features": float(np.mean([o.n_features for o in outcomes])),
            "saliency": float(np.mean([o.saliency for o in outcomes])),
            "seconds": float(np.mean([o.seconds for o in outcomes])),
        }
        for letter, outcomes in found.items()
    }


def _standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def _table(name: str, found: dict[str, list[Outcome]]) -> str:
    rows = []
    for letter, m in _means(found).items():
        spread = "" if np.isnan(m["spread"]) else f" ± {m['spread']:.3f}"
        worth = None if np.isnan(m["saliency"]) else f"{m['saliency']:.2f}"
        rows.append(
            [
                f"({letter}) {METHODS[letter]}",
                f"{m['error']:.3f}{spread}",
                f"{m['n_features']:.1f}",
                worth,
                f"{m['seconds']:.2f}",
            ]
        )
    return table([f"problem {name}", "error", "features", "saliency", "s"], rows)
