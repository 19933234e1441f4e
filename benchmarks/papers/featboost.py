"""FeatBoost and IIS: figures and tables

Alsahaf, Petkov, Shenoy and Azzopardi, *A framework for feature selection through boosting*,
chapter 4 of Alsahaf's thesis, 2020. Every figure and table of the paper
that public data allow, made again by one command each. The chapter has no experiment with IIS.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common.data import whole
from common.kept import Kept
from common.table import table

from papers import featboost_runs as runs
from papers.featboost_runs import METHODS, SETS
from papers.figure import Figure, Shown

COLOURS = ("#cc4125", "#0b5394", "#38761d", "#6fa8dc", "#888888")
TREE_SIZES = (2, 5, 10, 20)
WEIGHTINGS = ("FeatBoost (KNN)", "AdaBoost weights", "no weights")
CANDIDATE_SETS = ("madelon", "warpPIE10P", "ORL")

# Table 4.1: features, rows, classes. Table 4.2: minutes by method.
TABLE_1 = {
    "Madelon": (500, 2600, 2), "Isolet": (617, 1560, 26), "Basehock": (4862, 1993, 2),
    "PCMAC": (3289, 1943, 2), "Relathe": (4322, 1427, 2), "Coil20": (1024, 1440, 20),
    "ORL": (1024, 400, 40), "Orlraws10P": (10394, 100, 10), "Pixraw10P": (10000, 100, 10),
    "WarpAR10P": (2400, 130, 10), "WarpPIE10P": (2420, 210, 10), "GLI": (22283, 85, 2),
    "GLI-BRA": (49151, 180, 4), "TOX": (5748, 171, 4), "SMK-CAN": (19993, 187, 2),
    "CLL-SUB": (11340, 111, 3), "Colon": (2000, 62, 2),
}  # fmt: skip
TABLE_2 = {  # XGB-FS, FeatBoost (XGB), FeatBoost (KNN), ReliefF, Boruta
    "Madelon": (0.250, 58.707, 3.556, 1.022, 20.813),
    "Isolet": (1.035, 168.452, 52.527, 0.717, 154.914),
    "Basehock": (1.542, 217.516, 73.329, 4.342, 131.142),
    "PCMAC": (1.108, 186.073, 45.071, 2.809, 105.667),
    "Relathe": (1.076, 163.376, 60.920, 2.773, 91.732),
    "Coil20": (1.181, 333.852, 36.673, 2.193, 241.225),
    "ORL": (0.556, 168.383, 18.179, 0.571, 102.347),
    "Orlraws10P": (0.477, 12.915, 6.432, 6.159, 48.654),
    "Pixraw10P": (0.374, 6.912, 3.400, 5.869, 41.150),
    "WarpAR10P": (0.158, 15.463, 2.969, 2.025, 13.746),
    "WarpPIE10P": (0.245, 22.914, 5.270, 3.281, 24.119),
    "TOX": (0.337, 16.148, 6.646, 1.744, 16.513),
    "Colon": (0.009, 0.717, 0.092, 0.054, 0.661),
}
TABLE_2_METHODS = ("XGB-FS", "FeatBoost (XGB)", "FeatBoost (KNN)", "ReliefF", "Boruta")


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _panels(n: int) -> tuple[Any, Any, Any]:
    plt = _pyplot()
    n_rows = -(-n // 4)
    size = (11, 2.5 * n_rows)
    figure, axes = plt.subplots(
        n_rows, min(n, 4), figsize=size, squeeze=False, layout="constrained"
    )
    for axis in axes.ravel()[n:]:
        axis.axis("off")
    for axis in axes.ravel():
        axis.tick_params(labelsize=7)
    return plt, figure, axes.ravel()


def _save(plt: Any, figure: Any, axes: Any, picture: Path) -> None:
    known: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    where = {"loc": "outside lower center", "ncols": 5, "fontsize": 8}
    figure.legend(known.values(), known.keys(), **where)
    figure.savefig(picture, dpi=70)
    plt.close(figure)


# ---- Table 4.1 --------------------------------------------------------------------------------


def run_sets(quick: bool, kept: Kept) -> dict[str, Any]:  # noqa: ARG001  # nothing is fitted
    found = {}
    for name, theirs in SETS.items():
        table_ = whole(name)
        if table_ is not None:
            X, y = table_
            found[theirs] = [X.shape[1], X.shape[0], len(np.unique(y))]
    return {"protocol": "Counted.", "found": found}


def show_sets(values: dict[str, Any], picture: Path) -> Shown:
    found = values["found"]
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for name, (features, rows, _) in TABLE_1.items():
        is_here = name in found
        axis.plot(
            rows, features, "o" if is_here else "x", color="#0b5394" if is_here else "#cc4125"
        )
        axis.annotate(name, (rows, features), fontsize=6, xytext=(3, 2), textcoords="offset points")
    axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="features")
    figure.savefig(picture, dpi=90)
    plt.close(figure)
    rows_ = []
    for name, paper in TABLE_1.items():
        ours = found.get(name)
        said = "not at hand" if ours is None else "the same" if tuple(ours) == paper else "differs"
        rows_.append([name, *(f"{n:,}" for n in paper), said])
    differ = [name for name, ours in found.items() if tuple(ours) != TABLE_1[name]]
    return Shown(
        f"{len(found)} of 17 sets are at hand; {', '.join(differ) or 'none'} with another shape.",
        "Crosses are sets that were not at hand: GLI, GLI-BRA, SMK-CAN and CLL-SUB. Orlraws10P "
        "has 10,304 features, which are 112 by 92 pixels; the chapter's 10,394 looks like a slip.",
        (table(["set", "features", "rows", "classes", "here"], rows_),),
    )


# ---- Figures 4.1, 4.4 and 4.5, Table 4.2 ------------------------------------------------------


def _selections(quick: bool, kept: Kept, methods: tuple[str, ...]) -> dict[str, Any]:
    plan, shared = runs.planned(quick=quick)
    sets = tuple(name for name in plan.sets if whole(name))
    one, cheap = runs.first_fold(plan), tuple(m for m in methods if m != "FeatBoost (XGB)")
    runs.run_all(plan, shared, cheap, kept.has, sets[:1])  # all folds of the cheapest set
    runs.run_all(one, shared, methods[:3], kept.has, sets)  # the others seldom end within the limit
    runs.run_all(one, shared, methods, kept.has, sets)
    done = runs.run_all(plan, shared, methods, kept.has, sets)
    return {name: by_method for name, by_method in done.items() if any(by_method.values())}


def _protocol(plan: runs.Plan, done: dict[str, Any]) -> str:
    counts = {len(each) for by in done.values() for each in by.values() if each}
    span = " to ".join(map(str, sorted({min(counts), max(counts)}))) if counts else "no"
    return (
        f"{plan.describe()}. Run so far: {span} folds for a method and set, listed below; a method "
        "that reached its limit has what it had accepted by then. Subsets are cut at the mode of "
        "their sizes, smaller ones left out."
    )


def run_main(quick: bool, kept: Kept) -> dict[str, Any]:
    plan, _ = runs.planned(quick=quick)
    methods = ("XGB-FS", "FeatBoost (KNN)", "ReliefF") if quick else tuple(METHODS)
    done = _selections(quick, kept, methods)
    found = {
        name: {m: runs.summary(each) for m, each in by_method.items() if each}
        for name, by_method in done.items()
    }
    return {"protocol": _protocol(plan, done), "found": found}


def _curves(values: dict[str, Any], validator: str, picture: Path) -> list[str]:
    """Draw a panel for each set; who is best at the size that all reach, by set."""
    found = values["found"]
    plt, figure, axes = _panels(len(found))
    best = []
    for axis, (name, by_method) in zip(axes, found.items(), strict=False):
        ends = {}
        for colour, method in zip(COLOURS, METHODS, strict=True):
            curve = by_method.get(method, {}).get("curves", {}).get(validator, [])
            if len(curve):
                axis.plot(range(1, len(curve) + 1), curve, color=colour, label=method, lw=1.3)
                ends[method] = curve
        axis.set_title(SETS[name], fontsize=9)
        axis.set_xlabel("features", fontsize=7)
        axis.set_ylabel("accuracy", fontsize=7)
        if len(ends) > 1:
            size = min(10, *(len(curve) for curve in ends.values()))
            at = {method: curve[size - 1] for method, curve in ends.items()}
            best.append(f"{SETS[name]} {max(at, key=lambda m: at[m])} ({size})")
    _save(plt, figure, axes, picture)
    return best


def _sizes(found: dict[str, Any], validator: str, methods: Sequence[str]) -> str:
    rows = []
    for name, by_method in found.items():
        cells: list[str | None] = []
        for method in methods:
            each = by_method.get(method)
            curve = (each or {}).get("curves", {}).get(validator, [])
            if not each or not len(curve):
                cells.append(None if not each else f"limit ({each['n_runs']})")
                continue
            mark = ">" if each["n_stopped"] else ""
            error = each.get("se", {}).get(validator)
            spread = f" ± {error:.3f}" if error else ""
            cells.append(f"{curve[-1]:.3f}{spread} at {mark}{each['mode']} ({each['n_runs']})")
        rows.append([SETS[name], *cells])
    return table(["set", *methods], rows)


def _show_curves(values: dict[str, Any], picture: Path, validator: str) -> Shown:
    best = _curves(values, validator, picture)
    wins = sum("FeatBoost" in each for each in best)
    return Shown(
        f"The best at ten features, or at the largest size that all methods of a set reach (in "
        f"brackets): {', '.join(best)}. FeatBoost is best on {wins} of {len(best)} sets.",
        "Accuracy at the end of each curve with its standard error over the folds, its number of "
        "features (`>`: some fold was stopped by the limit of time), and in brackets the folds "
        "that were run; `limit`: nothing within the limit. One or a few folds of 30 are not the "
        "chapter's means, and differences of a few hundredths are chance. XGBoost is 3.x with "
        "histograms, not 0.90 with exact splits. ReliefF is our own, equal to Skrebate's for two "
        "classes; for more it is Kononenko's formula.",
        (_sizes(values["found"], validator, tuple(METHODS)),),
    )


def show_nearest(values: dict[str, Any], picture: Path) -> Shown:
    return _show_curves(values, picture, "1-NN")


def show_bayes(values: dict[str, Any], picture: Path) -> Shown:
    return _show_curves(values, picture, "naive Bayes")


def show_times(values: dict[str, Any], picture: Path) -> Shown:
    found = values["found"]
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
    x = np.arange(len(found))
    for place, (colour, method) in enumerate(zip(COLOURS, METHODS, strict=True)):
        seconds = [by.get(method, {}).get("seconds", np.nan) for by in found.values()]
        axis.bar(x + 0.16 * (place - 2), seconds, 0.16, color=colour, label=method)
    axis.set_yscale("log")
    axis.set_ylabel("CPU seconds")
    axis.set_xticks(x, [SETS[name] for name in found], rotation=40, fontsize=7)
    axis.legend(fontsize=7)
    figure.savefig(picture, dpi=90)
    plt.close(figure)
    rows = []
    for name, by_method in found.items():
        cells: list[str | None] = []
        for method, paper in zip(TABLE_2_METHODS, TABLE_2[SETS[name]], strict=True):
            each = by_method.get(method)
            mark = "> " if each and each["n_stopped"] else ""
            ours = f"{mark}{each['seconds'] / 60:.3f}" if each else "-"
            cells.append(f"{ours} ({paper:g})")
        rows.append([SETS[name], *cells])
    return Shown(
        "CPU minutes of one selection, mean over the folds, the chapter's minutes in brackets; "
        "`>`: stopped at the limit.",
        "One thread, on a machine that others used as well; the chapter does not name its machine. "
        "FeatBoost computes 1-NN distances of all candidates together, which is why "
        "its time is nearly all fits of XGBoost.",
        (table(["set", *TABLE_2_METHODS], rows),),
    )


def run_trees(quick: bool, kept: Kept) -> dict[str, Any]:
    """Figure 4.4: XGBoost with its defaults on beginnings of the orders of fold 0."""
    from xgboost import XGBClassifier

    plan, _ = runs.planned(quick=quick)
    methods = ("XGB-FS", "FeatBoost (KNN)", "ReliefF") if quick else tuple(METHODS)
    done = _selections(quick, Kept("none", quick=quick, minutes=0), methods)
    found: dict[str, Any] = {}
    for name, by_method in done.items():
        part = runs.part_of(name, 0, 0, plan.n_folds)
        for method, some in by_method.items():
            sizes = [k for k in TREE_SIZES if some and k <= len(some[0]["order"])]
            key = f"{name}-{method}".replace(" ", "_")
            if not sizes or not kept.has(key):
                continue
            order = some[0]["order"]

            def evaluate(p: Any = part, o: Any = order, s: Any = sizes) -> dict[str, Any]:
                def make() -> Any:
                    return XGBClassifier(n_estimators=10 if quick else 100, n_jobs=1)

                return {"sizes": s, "accuracy": runs.accuracies(make, p, o, s)}

            found.setdefault(name, {})[method] = kept.get(key, evaluate)
    return {
        "protocol": f"The first fold of Figure 4.1, at {', '.join(map(str, TREE_SIZES))} features.",
        "found": found,
    }


def show_trees(values: dict[str, Any], picture: Path) -> Shown:
    found = values["found"]
    plt, figure, axes = _panels(max(1, len(found)))
    rows = []
    for axis, (name, by_method) in zip(axes, found.items(), strict=False):
        for colour, method in zip(COLOURS, METHODS, strict=True):
            each = by_method.get(method)
            if each:
                axis.plot(each["sizes"], each["accuracy"], "o-", color=colour, label=method, ms=3)
        axis.set_title(SETS[name], fontsize=9)
        axis.set_xlabel("features", fontsize=7)
        ends = [by_method.get(m) for m in METHODS]
        rows.append(
            [
                SETS[name],
                *(f"{e['accuracy'][-1]:.3f} at {e['sizes'][-1]}" if e else None for e in ends),
            ]
        )
    _save(plt, figure, axes, picture)
    return Shown(
        "Accuracy at the largest of these sizes that a method reaches is in the table.",
        "One fold of 30 and four sizes, because every point is a fit of 100 trees for each class. "
        "XGBoost's defaults, as in the chapter.",
        (table(["set", *METHODS], rows),),
    )


# ---- Figures 4.2, 4.3 and 4.6 -----------------------------------------------------------------


def run_candidates(quick: bool, kept: Kept) -> dict[str, Any]:
    plan, shared = runs.planned(quick=quick)
    sets = plan.sets if quick else CANDIDATE_SETS
    one = runs.first_fold(plan)
    done = runs.run_all(one, shared, ("m = 50", "m = 1"), kept.has, sets)
    return {
        "protocol": f"The first of 30 folds, at most {plan.limit:.0f} CPU seconds, no reset.",
        "found": {n: {m: e[0] for m, e in by.items() if e} for n, by in done.items()},
    }


def show_candidates(values: dict[str, Any], picture: Path) -> Shown:
    found = {name: by for name, by in values["found"].items() if by}
    plt, figure, axes = _panels(len(found))
    rows, parts = [], []
    for axis, (name, by_method) in zip(axes, found.items(), strict=False):
        for colour, (method, each) in zip(COLOURS, by_method.items(), strict=False):
            axis.plot(range(1, len(each["1-NN"]) + 1), each["1-NN"], color=colour, label=method)
            ranks = each.get("ranks", [])
            if method == "m = 50":
                for k, rank in enumerate(ranks[:12]):
                    axis.annotate(str(rank), (k + 1, each["1-NN"][k]), fontsize=6)
            if each["1-NN"]:
                mark = ">" if each["stopped"] else ""
                end = f"{each['1-NN'][-1]:.3f} at {mark}{len(each['order'])}"
                rows.append([f"{SETS[name]}, {method}", f"{each['inner'][-1]:.3f}", end])
        axis.set_title(SETS[name], fontsize=9)
        axis.set_xlabel("features", fontsize=7)
        one, many = (by_method.get(m, {}).get("1-NN", []) for m in ("m = 1", "m = 50"))
        size = min(len(one), len(many))
        if size:
            parts.append(
                f"{SETS[name]}: {many[size - 1]:.3f} with m = 50 against {one[size - 1]:.3f} with "
                f"m = 1 at {size} features"
            )
    _save(plt, figure, axes, picture)
    return Shown(
        "; ".join(parts) + ".",
        "Numbers at the line of m = 50 are ranks of the winners, 1 the best ranked. Accuracy of "
        "1-NN on held-out rows of one fold; the chapter does not say whether its accuracy is that "
        "of held-out rows. `>`: stopped by the limit of time.",
        (table(["set, variant", "inner accuracy", "held-out accuracy"], rows),),
    )


def run_weights(quick: bool, kept: Kept) -> dict[str, Any]:
    plan, shared = runs.planned(quick=quick)
    sets = tuple(name for name in plan.sets if whole(name))
    many = runs.run_all(plan, shared, WEIGHTINGS, kept.has, sets[:1])
    done = runs.run_all(runs.first_fold(plan), shared, WEIGHTINGS, kept.has, sets)
    return {
        "folds": {n: {m: runs.summary(e) for m, e in by.items() if e} for n, by in many.items()},
        "protocol": f"The first of 30 folds, at most {plan.limit:.0f} CPU seconds.",
        "found": {
            name: {m: e[0] for m, e in by.items() if e}
            for name, by in done.items()
            if all(by.values())
        },
    }


def _over_folds(folds: dict[str, Any]) -> str:
    """Accuracies at the end of the curves of all folds of a set."""
    texts = []
    for name, by_method in folds.items():
        ends = {m: each["curves"].get("1-NN", [])[-1:] for m, each in by_method.items()}
        listed = ", ".join(f"{m} {end[0]:.3f}" for m, end in ends.items() if end)
        n = max(each["n_runs"] for each in by_method.values())
        texts.append(f" {SETS[name]}, mean of up to {n} folds at the mode of the sizes: {listed}.")
    return "".join(texts)


def show_weights(values: dict[str, Any], picture: Path) -> Shown:
    found = values["found"]
    plt, figure, axes = _panels(max(1, len(found)))
    rows = []
    worse = dict.fromkeys(WEIGHTINGS[1:], 0)
    for axis, (name, by_method) in zip(axes, found.items(), strict=False):
        cells = []
        size = min(len(each["1-NN"]) for each in by_method.values())
        for colour, method in zip(COLOURS[1:], WEIGHTINGS, strict=False):
            each = by_method[method]
            inner, resets = each.get("inner", []), each.get("after_reset", [])
            first = resets.index(True) if True in resets else len(inner)
            x = np.arange(1, len(inner) + 1)
            axis.plot(x[: first + 1], inner[: first + 1], color=colour, label=method, lw=1.2)
            axis.plot(x[first:], inner[first:], ":", color=colour, lw=1.2)
            mark = ">" if each["stopped"] else ""
            held = f"{each['1-NN'][size - 1]:.3f}" if size else "-"
            cells.append(f"{held}, {mark}{len(inner)}, {sum(resets)}")
        axis.set_title(SETS[name], fontsize=9)
        axis.set_xlabel("features", fontsize=7)
        rows.append([f"{SETS[name]} ({size})", *cells])
        if size:
            ours = by_method[WEIGHTINGS[0]]["1-NN"][size - 1]
            for method in worse:
                worse[method] += ours > by_method[method]["1-NN"][size - 1]
    _save(plt, figure, axes, picture)
    n = len(found)
    return Shown(
        f"Held-out accuracy at the size that all three reach: the chapter's weights are ahead of "
        f"AdaBoost's on {worse['AdaBoost weights']} of {n} sets and of no weights at all on "
        f"{worse['no weights']} of {n}. Where they are not, re-weighting does not help."
        f"{_over_folds(values.get('folds', {}))}",
        "Lines are inner accuracies of 1-NN, dotted after the first reset that led on. The first "
        "table has one fold, so a difference on one set means little: held-out accuracy at the "
        "common size (in brackets), features, steps after a reset; `>`: stopped by the limit. The "
        "second has all folds that were run of one set, as in Figure 4.1. The third line, without "
        "weights, is not in the chapter. As printed, AdaBoost's factor is the same for all rows "
        "and cancels: only rows that are wrong are raised.",
        (table(["set", *WEIGHTINGS], rows), _sizes(values.get("folds", {}), "1-NN", WEIGHTINGS)),
    )


FIGURES: dict[str, Figure] = {
    "table4_1": Figure(
        "Table 4.1: the sets", "Seventeen sets, from 62 to 2,600 rows.", run_sets, show_sets,
    ),
    "fig4_1": Figure(
        "Figure 4.1: accuracy of 1-NN on the subsets",
        "FeatBoost selects better features in the leading ranks than XGB-FS on all sets, and in "
        "most outperforms Boruta and ReliefF with fewer features, above all on Coil20, Isolet "
        "and ORL.",
        run_main, show_nearest, needs=("colon",),
    ),
    "table4_2": Figure(
        "Table 4.2: minutes of a selection",
        "XGB-FS takes least, then ReliefF; FeatBoost with 1-NN is several times as fast as Boruta, "
        "with XGBoost a little slower.",
        run_main, show_times, needs=("colon",), is_slow=True,
    ),
    "fig4_2": Figure(
        "Figure 4.2: 50 candidates or one",
        "With m = 50 FeatBoost is better than with m = 1, where the best ranked feature is taken "
        "untried; the winner is often not the best ranked.",
        run_candidates, show_candidates, needs=("colon",),
    ),
    "fig4_3": Figure(
        "Figures 4.3 and 4.6: weights and reset",
        "The proposed weights reach higher training accuracy than AdaBoost's, and a reset often "
        "leads to further features.",
        run_weights, show_weights, needs=("colon",),
    ),
    "fig4_4": Figure(
        "Figure 4.4: accuracy of XGBoost on the subsets",
        "FeatBoost with 1-NN inside does well where XGBoost evaluates too.",
        run_trees, show_trees, needs=("colon",), is_slow=True,
    ),
    "fig4_5": Figure(
        "Figure 4.5: accuracy of naive Bayes on the subsets",
        "The order of the methods is as with 1-NN.",
        run_main, show_bayes, needs=("colon",), is_slow=True,
    ),
}  # fmt: skip
