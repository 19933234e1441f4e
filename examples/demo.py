"""What ``./dev demo`` runs: tell two kinds of tumour apart with few minutes of measuring."""

from __future__ import annotations

import pandas as pd
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from secateur import AGBMClassifier
from secateur.datasets import load_demo


def main() -> None:
    """Select features with their costs, and compare with using all of them."""
    console = Console()
    demo = load_demo()
    X = pd.DataFrame(demo.X, columns=list(demo.feature_names))
    X_train, X_test, y_train, y_test = train_test_split(
        X, demo.y, test_size=0.4, random_state=0, stratify=demo.y
    )
    console.print(
        f"\n[bold]{X.shape[1]} features[/bold] of {len(X)} tumours; {len(demo.decoys)} of them are "
        f"decoys (shuffled columns). Measuring all takes {demo.costs.sum():.0f} minutes.\n"
    )

    few = AGBMClassifier(costs=demo.costs, random_state=0).fit(X_train, y_train)
    console.print(few.path_)
    console.print(f"\n{few.selection_}\n")

    every = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
    n_decoys = int(few.support_[demo.decoys].sum())
    console.print(f"Selected: {', '.join(few.get_feature_names_out())}")
    console.print(f"Decoys among them: {n_decoys}")
    console.print(
        f"Accuracy on {len(X_test)} tumours not seen before: "
        f"{few.score(X_test, y_test):.3f} with {few.support_.sum()} features "
        f"({demo.costs[few.support_].sum():.0f} minutes), "
        f"{every.score(X_test, y_test):.3f} with all {X.shape[1]} "
        f"({demo.costs.sum():.0f} minutes).\n"
    )


if __name__ == "__main__":
    main()
