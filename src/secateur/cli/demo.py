"""``secateur demo``: the main job on an embedded data set, with no arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.exit import ends_well
from secateur.cli.options import unbundled

TARGET = "diagnosis"
QUICK = ("cv=3", "learning_rate=0.2", "max_iter=100", "max_depth=2")
"""Half as many rounds of twice the size: nobody waits long for a demonstration. And shallow trees:
in the small leaves of deep ones, on 569 rows, some cheap decoy looks good by chance."""


@ends_well
@unbundled
def demo(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder of results; a temporary one otherwise."),
    ] = None,
    *,
    talking: options.TalkingOptions,
) -> None:
    """Tell two kinds of tumour apart with few minutes of measuring, and write a report.

    569 tumours, ten measurements of each as mean, error and worst value, and as many decoys. A
    measurement takes 1 to 8 minutes and is paid for once.
    """
    import tempfile

    from secateur.cli.console import Talk
    from secateur.cli.folder import check_folder
    from secateur.cli.job import Judging, Wish, build_selector, conclude, select_features

    folder = out or Path(tempfile.mkdtemp(prefix="secateur-demo-"))
    check_folder(folder, force=talking.force)
    talk = Talk(as_json=talking.as_json, quiet=talking.quiet)
    dataset, costs, told = _problem()
    talk.note(told)
    selector = build_selector(Wish(settings=QUICK), dataset, costs, 0, None)
    outcome = select_features(selector, dataset, costs, Judging(cv=3), talk)
    rows, columns = dataset.features.X.shape
    more: dict[str, Any] = {
        "method": "agbm",
        "target_type": dataset.target_type,
        "target": TARGET,
        "data": {
            "file": "the breast cancer set of scikit-learn",
            "rows": rows,
            "features": columns,
        },
        "notes": [],
        "seed": 0,
    }
    conclude(outcome, folder, talk, title=TARGET, more=more, force=talking.force)


def _problem() -> tuple[Any, Any, str]:
    """The data set, its costs, and what it is about."""
    from secateur.data.costs import FeatureCosts
    from secateur.datasets import load_demo
    from secateur.storage.reading.dataset import Roles, make_dataset
    from secateur.storage.reading.formats import FileKind, RawTable

    problem = load_demo()
    raw = RawTable(
        problem.X, problem.feature_names, FileKind("demo", "", "demo", ""), {}, {TARGET: problem.y}
    )
    dataset = make_dataset(raw, Roles(TARGET))
    costs = FeatureCosts(problem.costs, feature_groups=list(problem.groups), unit="minutes")
    n_rows, n_features = problem.X.shape
    n_decoys = len(problem.decoys)
    told = (
        f"{n_rows} tumours, {n_features} features: {n_features - n_decoys} are real, {n_decoys} "
        "are decoys, the same columns shuffled. A measurement takes 1 to 8 minutes. Which are "
        "worth it?"
    )
    return dataset, costs, told
