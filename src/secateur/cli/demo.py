"""``secateur demo``: a selection on a data set of the package, with no arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.cli import options
from secateur.cli.console import Console

QUICK = ["cv=3", "learning_rate=0.2", "max_iter=100", "max_depth=2"]
"""Few and large rounds, to be quick. And shallow trees: in the small leaves of deep ones, on 569
rows, some cheap decoy looks good by chance."""


def demo(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The output folder; a temporary one by default."),
    ] = None,
    *,
    console: Console,
) -> None:
    """Select features that separate benign from malignant tumours at low cost, with a report.

    569 tumours, ten measurements of each as mean, error and worst value, and as many decoys. A
    measurement takes 1 to 8 minutes and is paid for once.
    """
    import tempfile

    from secateur.cli.methods import build_selector
    from secateur.cli.output import reserved_folder
    from secateur.cli.selection import select_features, write_results
    from secateur.data.costs import FeatureCosts
    from secateur.datasets import load_demo
    from secateur.storage.reading.dataset import Roles, make_dataset
    from secateur.storage.reading.formats import FileKind, RawTable

    out = out or Path(tempfile.mkdtemp(prefix="secateur-demo-"))
    problem = load_demo()
    kind, extra = FileKind("demo", "", "demo", ""), {"diagnosis": problem.y}
    raw = RawTable(problem.X, problem.feature_names, kind, extra=extra)
    dataset = make_dataset(raw, Roles("diagnosis"))
    costs = FeatureCosts(problem.costs, feature_groups=list(problem.feature_groups), unit="minutes")
    n_rows, n_features = problem.X.shape
    n_decoys = len(problem.decoys)
    console.message(
        f"{n_rows} tumours, {n_features} features: {n_features - n_decoys} are real, {n_decoys} "
        "are decoys, the same columns shuffled. A measurement takes 1 to 8 minutes. Which are "
        "needed?"
    )
    method, validation = options.MethodOptions(settings=QUICK), options.ValidationOptions(cv=3)
    selector = build_selector(method, dataset, costs, validation)
    with reserved_folder(out, "", force=console.force) as folder:
        result = select_features(selector, dataset, costs, validation, console)
        facts = {"file": "the breast cancer data of scikit-learn", "method": "agbm", "seed": 0}
        write_results(result, dataset, folder, console, facts)
