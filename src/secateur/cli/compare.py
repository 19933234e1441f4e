"""``secateur compare``: a comparison of methods on one file."""

from __future__ import annotations

import csv
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import Console, interrupts_end_the_command, json_text
from secateur.cli.options import flag, option
from secateur.exceptions import InputError

if TYPE_CHECKING:
    from secateur.model_selection.comparison import Comparison
    from secateur.storage.reading.dataset import Dataset


METHODS = "Methods"


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """The options of this command alone."""

    methods: str | None = option(
        METHODS,
        "Separated by commas: agbm, gbfs, gtgbm, fg, grafting, featboost, iis, f_classif, "
        "f_regression, mutual_info, mrmr, mrmr_mi, l1, group_lasso, hsic_lasso, rf_topk, "
        "gbdt_topk, xgb_topk, fcbf, relieff, mission, svm_rfe, rfecv, boruta, cegb, random, all; "
        "for rankings agbm, gbfs, gtgbm, gbdt_topk, xgb_topk, cegb, random, all.",
    )
    validators: str | None = option(
        METHODS,
        "Models that score the subsets: logistic (or ridge), knn, trees; also 1nn, naive_bayes, "
        "rbf_svm, lightgbm.",
    )
    sizes: str | None = option(METHODS, "Largest numbers of features, as 1,5,20.")
    time_limit: float | None = option(METHODS, "Seconds for one method on one fold.", min=0)
    resume: bool = flag(METHODS, "Continue an interrupted comparison.", "--resume")


def compare(
    data: options.Data,
    task_column: Annotated[str | None, typer.Option("--task-column", hidden=True)] = None,
    *,
    own: CompareOptions,
    out: options.Out = None,
    given: options.DataOptions,
    validation: options.ValidationOptions,
    console: Console,
) -> None:
    """Compare methods on DATA: features are selected inside the folds, several models score them.

    A method that fails or times out is reported, and the others go on. Finished trials are kept
    next to the output folder until it is written.
    """
    from secateur.cli.data import DataRequest, load
    from secateur.cli.output import reserved_folder
    from secateur.data.memory import require_memory
    from secateur.storage.reading.formats import check_file
    from secateur.storage.reading.read_file import needed_memory

    if task_column is not None:  # an option of `select` that may be tried here
        raise typer.BadParameter(
            f"a comparison is about one task; got '--task-column' {task_column}. Leave it out to "
            "use the task as a feature, or use 'secateur select --method multitask --task-column'."
        )
    parts = options.split_names([own.sizes or ""])
    if own.sizes is not None and not all(p.isdigit() and int(p) for p in parts or [""]):
        raise typer.BadParameter(f"'--sizes' must be whole numbers, as 1,5,20; got {own.sizes!r}.")
    sizes = None if own.sizes is None else [int(part) for part in parts]
    request, default = DataRequest.of(data, given), f"{data.name.partition('.')[0]}-comparison"
    check_file(data)
    require_memory(
        needed_memory(data),
        f"A comparison on the rows of {data.name} in memory",
        "Compare on fewer rows, or use secateur select, which can use a table on disk.",
    )
    with reserved_folder(out, default, force=console.force, data=data) as folder:
        # where finished trials are kept until the output folder is written
        trials = folder.absolute().with_name(f"{folder.name}.trials.json")
        if trials.exists() and not own.resume:
            if not console.force:
                raise InputError(
                    f"{trials.name} has the trials of an interrupted comparison. Got neither "
                    "--resume nor --force. Continue with --resume, or start again with --force."
                )
            trials.unlink()
        dataset = load(request, console)
        comparison = _compared(dataset, own, sizes, validation, console, trials)
        _finish(comparison, folder, trials, dataset, console)


def _compared(
    dataset: Dataset,
    own: CompareOptions,
    sizes: list[int] | None,
    validation: options.ValidationOptions,
    console: Console,
    trials: Path,
) -> Comparison:
    from secateur.cli.methods import folds_of
    from secateur.model_selection.compare import compare as compare_methods

    reported: set[tuple[str, str]] = set()

    def on_trial(trial: Any, done: int, total: int) -> None:
        progress.done(done, total)
        if not trial.is_done and (trial.method, trial.message) not in reported:
            reported.add((trial.method, trial.message))
            console.message(
                f"{trial.method}, fold {trial.fold + 1}: {trial.status}. {trial.message}"
            )

    console.message("Comparing: each method selects features inside each fold.")
    try:
        with (
            console.warnings_as_messages(),
            interrupts_end_the_command(),
            console.progress("Comparing", 1) as progress,
        ):
            comparison = compare_methods(
                dataset.features.X,
                dataset.y,
                selectors=own.methods,
                validators=own.validators,
                sizes=sizes,
                time_limit=own.time_limit or None,
                cv=folds_of(dataset, validation.cv),
                target_type=dataset.target_type,
                scoring=validation.scoring,
                groups=dataset.group,
                qid=dataset.query,
                sample_weight=dataset.weight,
                resume=trials,
                on_trial=on_trial,
                random_state=validation.seed,
                n_jobs=validation.jobs,
            )
    except KeyboardInterrupt:
        if trials.exists():
            console.message(f"Finished trials are in {trials.name}: continue with --resume.")
        raise
    return replace(comparison, feature_names=dataset.plan.names)


def _finish(
    comparison: Comparison, folder: Path, trials: Path, dataset: Dataset, console: Console
) -> None:
    """Write the output folder and show the comparison; an error if no method finished."""
    from secateur.cli.documents import written
    from secateur.cli.output import files_in, new_folder
    from secateur.report import write_page

    document, rows = _summary(comparison, dataset), comparison.to_rows()
    with new_folder(folder, force=console.force) as draft:
        comparison.save(draft / "comparison.json")
        (draft / "summary.json").write_text(json_text(document), encoding="utf-8")
        with (draft / "scores.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(rows[0]) if rows else ["method"])
            writer.writeheader()
            writer.writerows(rows)
        about = {"command": document["command"]}
        write_page(draft / "report.html", [], comparison=comparison, about=about)
        document |= files_in(draft, folder)
    with suppress(OSError):
        trials.unlink(missing_ok=True)  # all of it is in comparison.json now
    console.result(document, comparison, str(comparison), written(document))
    if not any(trial.is_done for trial in comparison.trials):
        raise InputError(
            "A comparison needs a method that finishes. Got none; the first message was: "
            f"{comparison.failures[0].message} Use other --methods, or a larger --time-limit."
        )


def _summary(comparison: Comparison, dataset: Dataset) -> dict[str, Any]:
    from secateur.cli.documents import command_line

    rows, n_features = dataset.features.X.shape
    timings, stability = comparison.seconds(), comparison.stability()
    points: dict[str, list[Any]] = {name: [] for name in comparison.methods}
    for curve in comparison.curves():
        for point in (*curve.points, *([curve.own] if curve.own else [])):
            shown = {"size": point.size, "n_features": point.n_features, **asdict(point.score)}
            points[curve.method].append({"validator": curve.validator, **shown})
    return {
        "format": "secateur.comparison_summary",
        "version": 1,
        "sentences": str(comparison),
        "target_type": comparison.target_type,
        "target": dataset.target,
        "metric": comparison.metric,
        "greater_is_better": comparison.greater_is_better,
        "data": {"rows": rows, "features": n_features},
        "notes": list(dataset.notes),
        "ranks": [{"method": r.method, "mean": r.mean} for r in comparison.ranks()],
        "methods": {
            name: {
                "seconds": timings[name].median,
                "stability": stability[name].index,
                "stability_interval": [stability[name].low, stability[name].high],
                "scores": points[name],
            }
            for name in comparison.methods
        },
        "failures": [
            {"method": t.method, "fold": t.fold, "status": str(t.status), "message": t.message}
            for t in comparison.failures
        ],
        "seed": comparison.seed,
        "versions": dict(comparison.versions),
        "command": command_line(),
    }
