"""What ``./dev demo`` runs: tell two kinds of tumour apart with few minutes of measuring."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from secateur import AGBMClassifier, FeatureCosts
from secateur.datasets import load_demo
from secateur.datasets.demo import Demo


def main() -> None:
    """Select features with their costs, and compare with using all of them."""
    console = Console()
    demo = load_demo()
    X = pd.DataFrame(demo.X, columns=list(demo.feature_names))
    X_train, X_test, y_train, y_test = train_test_split(
        X, demo.y, test_size=0.4, random_state=0, stratify=demo.y
    )
    # a measurement is paid for once, and gives its mean, its error and its worst value
    costs = FeatureCosts(demo.costs, groups=demo.groups, unit="minutes")
    all_minutes = costs.bind(demo.feature_names).total(np.arange(X.shape[1]))
    tell_problem(console, demo, all_minutes)

    selector = AGBMClassifier(costs=costs, random_state=0)
    with console.status("Selecting; the first time on a machine this compiles for some seconds"):
        selector.fit(X_train, y_train)
        every = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)

    accuracies = [np.mean(predicted == y_test) for predicted in selector.staged_predict(X_test)]
    whole = every.score(X_test, y_test)
    console.print(path_table(selector, demo, accuracies, whole, all_minutes))
    console.print(f"Chosen: {selector.selection_}\n", highlight=False)
    tell_chosen(console, selector, demo)
    accuracy = accuracies[selector.selection_.index]
    console.print(
        f"\n[bold]{selector.selection_.cost:.0f} minutes of measuring instead of "
        f"{all_minutes:.0f}.[/bold] Of {len(X_test)} tumours not seen before, {accuracy:.1%} are "
        f"told right; {whole:.1%} by scikit-learn's HistGradientBoosting with all features.\n",
        highlight=False,
    )


def tell_problem(console: Console, demo: Demo, all_minutes: float) -> None:
    """Say what there is to choose from."""
    n_rows, n_features = demo.X.shape
    n_decoys = len(demo.decoys)
    console.print(
        f"\n[bold]{n_rows} tumours, {n_features} features.[/bold] {n_features - n_decoys} are "
        "real: ten measurements of cell nuclei, each as mean, error and worst value. The other "
        f"{n_decoys} are decoys: the same columns, shuffled. A measurement takes 1 to 8 minutes, "
        f"all of them {all_minutes:.0f}. Which are worth it?\n",
        highlight=False,
    )


def path_table(
    selector: AGBMClassifier,
    demo: Demo,
    accuracies: list[np.floating],
    whole: float,
    all_minutes: float,
) -> Table:
    """One row for each subset on the path, and one for all features."""
    table = Table(caption="log loss: in folds of the training rows; accuracy: on test rows")
    for head in ("", "penalty", "features", "decoys", "minutes", "log loss", "accuracy"):
        table.add_column(head, justify="right", no_wrap=True)
    for index, step in enumerate(selector.path_):
        is_chosen = index == selector.selection_.index
        table.add_row(
            ">" if is_chosen else "",
            f"{step.control:.4f}",
            f"{step.n_features}",
            f"{np.isin(step.support, demo.decoys).sum()}",
            f"{step.cost:.0f}",
            f"{step.score.mean:.3f} ± {step.score.spread:.3f}",
            f"{accuracies[index]:.1%}",
            style="bold green" if is_chosen else "",
        )
    table.add_section()
    n_all, n_decoys = demo.X.shape[1], len(demo.decoys)
    table.add_row("", "all", f"{n_all}", f"{n_decoys}", f"{all_minutes:.0f}", "", f"{whole:.1%}")
    return table


def tell_chosen(console: Console, selector: AGBMClassifier, demo: Demo) -> None:
    """List the chosen features under the measurements that they come from."""
    share = selector.feature_importances_
    table = Table(box=None, pad_edge=False)
    table.add_column("measurement")
    table.add_column("minutes", justify="right")
    table.add_column("share", justify="right")
    table.add_column("values used")
    bought = dict.fromkeys(demo.groups[j] for j in selector.path_[selector.selection_.index].order)
    for measurement in bought:
        members = [j for j in np.flatnonzero(selector.support_) if demo.groups[j] == measurement]
        minutes = demo.costs[members[0]]
        kinds = [demo.feature_names[j].replace(measurement, "").strip() for j in members]
        used = ", ".join(kind or "a decoy" for kind in kinds)
        table.add_row(measurement, f"{minutes:.0f}", f"{share[members].sum():.0%}", used)
    console.print(table)


if __name__ == "__main__":
    main()
