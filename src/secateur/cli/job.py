"""A selection from beginning to end: folds, path, evidence, test rows, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from secateur.cli.console import Talk, metered
from secateur.cli.documents import command_line, selection_document
from secateur.cli.exit import ended_by_interrupts
from secateur.cli.folder import whole_folder
from secateur.cli.show import selection_shown, test_words, written
from secateur.exceptions import ParameterError
from secateur.path import wording

if TYPE_CHECKING:
    from secateur.cli.options import JudgingOptions
    from secateur.data.costs import FeatureCosts
    from secateur.model_selection.held_out import HeldOut
    from secateur.path import Selection, SelectionPath
    from secateur.report import Evidence
    from secateur.storage.reading.dataset import Dataset


TIME_FOLDS = 5

WIDE = 1000
"""From so many columns on the bins of short tables are made coarser: all time goes into them."""

ROWS_PER_BIN = 6
FEWEST_BINS, MOST_BINS = 32, 255


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants of the selection."""

    method: str = "agbm"
    max_features: int | None = None
    budget: float | None = None
    penalty: float | None = None
    cut: str | None = None
    settings: tuple[str, ...] = field(default=())


def build_selector(wish: Wish, dataset: Dataset, costs: Any, seed: int, jobs: int | None) -> Any:
    """The selector that was wished for, not fitted.

    Limits are parameters where the method has them; otherwise the path is cut by them.
    """
    from secateur.cli.methods import parameters_of, read_settings, selector_class

    kind = selector_class(wish.method, dataset.target_type)
    _check_tasks(wish.method, kind, dataset)
    known = parameters_of(kind)
    chosen: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, "costs": costs}
    chosen["cut"] = read_cut(wish.cut)
    if "target_type" in known:
        chosen["target_type"] = dataset.target_type
    if dataset.time is not None:
        chosen["cv"] = _time_splitter(TIME_FOLDS)
    if "max_bins" in known and not dataset.is_stored:
        bins = coarse_bins(*dataset.features.X.shape)
        chosen |= {} if bins is None else {"max_bins": bins}
    chosen |= _limits(wish, known, kind.__name__)
    if dataset.is_stored and wish.max_features is not None and "n_features" in known:
        # a stream has no grid of penalties whose path could be cut: it is steered to that size
        chosen |= {"n_features": wish.max_features, "cut": read_cut(wish.cut)}
    chosen |= read_settings(wish.settings, kind)
    return kind(**{name: value for name, value in chosen.items() if name in known})


def coarse_bins(n_rows: int, n_columns: int) -> int | None:
    """Bins for columns of a short and wide table, about six rows in each; None for other tables.

    Values of a few rows do not tell finer thresholds apart, and a search takes as long as there are
    bins.

    >>> coarse_bins(300, 2000), coarse_bins(60, 2000), coarse_bins(300, 200)
    (50, 32, None)
    """
    if n_columns < WIDE or n_rows >= ROWS_PER_BIN * MOST_BINS:
        return None
    return max(FEWEST_BINS, n_rows // ROWS_PER_BIN)


def told_of_bins(selector: Any, wish: Wish) -> list[str]:
    """What to say where the bins were made coarser."""
    bins = getattr(selector, "max_bins", MOST_BINS)
    if bins >= MOST_BINS or any(setting.startswith("max_bins") for setting in wish.settings):
        return []
    told = (
        f"There are few rows for many columns: at most {bins} bins for each (--set max_bins="
        f"{MOST_BINS} for all that there can be, which takes longer)."
    )
    return [told]


def _check_tasks(method: str, kind: type, dataset: Dataset) -> None:
    from secateur.model_selection.rows import knows_tasks

    if knows_tasks(kind) and dataset.tasks is None:
        raise ParameterError(
            f"{method!r} must know the task of each row. Got no --task-column. Name the column "
            "that tells tasks apart, or use --method agbm for one task."
        )
    if dataset.tasks is not None and not knows_tasks(kind):
        raise ParameterError(
            f"{method!r} does one task. Got --task-column. Use --method multitask, or leave the "
            "column out with --drop."
        )


def read_cut(text: str | None) -> Any:
    """A cutting rule as it stands on the command line: one-se, best, elbow, or a number.

    >>> read_cut("one-se"), read_cut("12")
    ('one_se', 12)
    """
    if text is None:
        return None
    name = text.replace("-", "_")
    if name in {"one_se", "best", "elbow"}:
        return name
    if name.isdigit() and int(name) > 0:
        return int(name)
    raise ParameterError(
        f"'--cut' must be one-se, best, elbow or a number of features. Got {text!r}. Use one-se "
        "for the fewest features that are as good as the best."
    )


def judging_folds(dataset: Dataset, cv: int | None) -> Any:
    """The folds: as many as wanted, later rows judging earlier ones where there is time."""
    if dataset.time is None:
        return cv
    return list(_time_splitter(cv or TIME_FOLDS).split(dataset.y))


def _time_splitter(n_folds: int) -> Any:
    from sklearn.model_selection import TimeSeriesSplit

    return TimeSeriesSplit(n_folds)


def _limits(wish: Wish, known: dict[str, Any], name: str) -> dict[str, Any]:
    """Each limit in the words of the method."""
    from secateur.path import AtMost, WithinBudget

    found: dict[str, Any] = {}
    if wish.max_features is not None:
        if "max_features" in known:
            found["max_features"] = wish.max_features
        else:
            found["cut"] = AtMost(wish.max_features)
    if wish.budget is not None:
        if "cost_budget" in known:
            found["cost_budget"] = wish.budget
        else:
            found["cut"] = WithinBudget(wish.budget)
    if wish.penalty is not None:
        parameter = next((p for p in ("penalty", "l1", "group_penalty") if p in known), None)
        if parameter is None:
            raise ParameterError(
                f"{name} has no penalty. Got --penalty {wish.penalty:g}. Use --max-features or "
                "--budget."
            )
        found[parameter] = wish.penalty
    if "cut" in found and wish.cut is not None:
        raise ParameterError(
            f"{name} can be cut by one rule only. Got --cut beside a limit. Use one of them."
        )
    return found


@dataclass(frozen=True, slots=True)
class Judging:
    """How subsets are judged."""

    cv: Any = None
    scoring: str | None = None
    seed: int = 0
    jobs: int | None = None

    @classmethod
    def of(cls, options: JudgingOptions, folds: Any) -> Judging:
        """As it stands on the command line, with the folds that follow from it."""
        return cls(folds, options.scoring, options.seed, options.jobs)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a selection leaves behind."""

    path: SelectionPath
    selection: Selection
    evidence: Evidence
    selector: Any
    seconds: float


def select_features(
    selector: Any, dataset: Dataset, costs: FeatureCosts | None, judging: Judging, talk: Talk
) -> Outcome:
    """Fit the selector to all rows and inside each fold, and gather what a report needs."""
    from secateur.model_selection.held_out import held_out
    from secateur.selectors.progress import listened

    X, names = dataset.features.X, dataset.features.names
    y, weight, tasks = dataset.beside
    start = perf_counter()
    talk.note("Selecting, on all rows and again without those that judge.")
    with (
        talk.warned(),
        ended_by_interrupts(),
        metered("Selecting", n_fits(judging.cv, len(dataset.y)), quiet=talk.quiet) as meter,
        listened(meter.within),
    ):
        held = held_out(
            selector,
            X,
            y,
            cv=judging.cv,
            groups=dataset.group,
            task=tasks,
            sample_weight=weight,
            scoring=judging.scoring,
            random_state=judging.seed,
            n_jobs=judging.jobs,
            on_fit=meter.parts,
        )
    path, selection = _named(held, names)
    with talk.warned():
        evidence = _evidence(dataset, path, selection, costs, held)
    return Outcome(path, selection, evidence, held.selector, perf_counter() - start)


def _named(held: HeldOut, names: tuple[str, ...]) -> tuple[SelectionPath, Selection]:
    """Path and selection with the names of the file, which a matrix does not have."""
    chosen = held.selector.selection_
    of_chosen = tuple(names[feature] for feature in chosen.support.tolist())
    return replace(held.path, feature_names=names), replace(chosen, names=of_chosen)


def _evidence(
    dataset: Dataset,
    path: SelectionPath,
    selection: Selection,
    costs: FeatureCosts | None,
    held: Any,
) -> Evidence:
    from secateur.report import gather_evidence

    X, y = seen_rows(dataset)
    evidence = gather_evidence(
        X,
        y,
        path,
        target_type=dataset.target_type,
        costs=costs,
        fold_paths=held.fold_paths,
        all_features=held.all_features,
        selection=selection,
    )
    return replace(evidence, n_rows=len(dataset.y))


def seen_rows(dataset: Dataset) -> tuple[Any, Any]:
    """The rows that a report looks at: all, or those of a table on disk that are in memory."""
    from secateur.model_selection.rows import TEST_SAMPLE_SEED
    from secateur.storage.stored_rows import sample_stored

    if not dataset.is_stored:
        return dataset.features.X, dataset.y
    sample = sample_stored(dataset.features.X, TEST_SAMPLE_SEED)
    return sample.X, dataset.y[sample.rows]


def n_fits(cv: Any, n_rows: int) -> int:
    """How many fits there will be: one to all rows, two in each fold, one of them all columns.

    >>> n_fits(None, 100), n_fits(2, 100), n_fits([([0], [1])], 2)
    (11, 5, 3)
    """
    from secateur.model_selection.folds import MANY_ROWS

    if cv is None:
        cv = 5 if n_rows <= MANY_ROWS else 3
    return 1 + 2 * (cv if isinstance(cv, int) else len(cv))


def conclude(
    outcome: Outcome,
    folder: Path,
    talk: Talk,
    *,
    title: str,
    more: Mapping[str, Any],
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> None:
    """Write the folder of results, whole or not at all, and show what was chosen."""
    told = {**more, "seconds": round(outcome.seconds, 3), "command": command_line()}
    document = selection_document(outcome.path, outcome.selection, outcome.evidence, told)
    names = write_results(
        folder, outcome.path, outcome.selection, outcome.evidence, document, title, force, data
    )
    document |= {"folder": str(folder), "files": names}
    talk.result(document, *selection_shown(document), written(folder, names))


def write_results(
    folder: Path,
    path: SelectionPath,
    selection: Selection,
    evidence: Evidence | None,
    document: Mapping[str, Any],
    title: str,
    force: bool,
    data: tuple[str, bytes] | None = None,
) -> list[str]:
    """Write selection, path, names and page into a folder; give the names of the files."""
    import json

    from secateur.report import Entry, write_page

    with whole_folder(folder, force=force) as draft:
        saved = None if evidence is None else evidence.to_json()
        path.save(draft / "path.json", evidence=saved, rule=selection.chooser)
        text = json.dumps(document, allow_nan=False, indent=2)
        (draft / "selection.json").write_text(text + "\n", encoding="utf-8")
        lines = "".join(f"{name}\n" for name in _one_line(selection.names))
        (draft / "features.txt").write_text(lines, encoding="utf-8")
        entry = Entry(title, path, selection, evidence)
        write_page(draft / "report.html", [entry], about=_about(document))
        if data is not None:
            (draft / data[0]).write_bytes(data[1])
        return sorted(file.name for file in draft.iterdir())


def _about(document: Mapping[str, Any]) -> dict[str, str]:
    """What the page tells of the file and the command, in words."""
    told = {}
    if "data" in document:
        data = document["data"]
        told["data"] = f"{data['file']}: {data['rows']} rows, {wording.features(data['features'])}"
    if document.get("notes"):
        told["what was done to the file"] = " ".join(document["notes"])
    if document.get("test"):
        told["other rows"] = test_words(document["test"])
    if "command" in document:
        told["command"] = document["command"]
    return told


def _one_line(names: tuple[str, ...]) -> list[str]:
    """Names as lines of a file: line breaks inside them become spaces."""
    return [" ".join(name.splitlines()) for name in names]
