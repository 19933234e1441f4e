"""``secateur select``, ``demo`` and ``warm-up``: selections, and compiled code for them."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import Console
from secateur.cli.options import flag, option
from secateur.exceptions import ClusterError, ParameterError, import_optional

SECONDS = 10.0  # for a scheduler to answer
QUICK = ["cv=3", "learning_rate=0.2", "max_iter=100", "max_depth=2"]
"""Few and large rounds, to be quick. And shallow trees: in the small leaves of deep ones, on 569
rows, some decoy of low cost gains by chance."""


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """The options of this command alone."""

    task_column: str | None = option(
        options.COLUMNS, "The task of each row, for --method multitask."
    )
    test: Path | None = option(options.VALIDATION, "A file of further rows, scored at the end.")
    verify: bool = option(
        options.VALIDATION,
        "Repeat the selection in folds after the answer, to say how far to trust it.",
        "--verify/--no-verify",
        default=True,
    )
    write_data: bool = flag(
        options.OUTPUT, "Write the reduced file too, in the format of DATA.", "--write-data"
    )


def select(
    data: options.Data,
    *,
    method: options.MethodOptions,
    costs: options.CostOptions,
    own: SelectOptions,
    out: options.Out = None,
    given: options.DataOptions,
    validation: options.ValidationOptions,
    scaling: options.ScalingOptions,
    console: Console,
) -> None:
    """Select features of DATA and write selection, path, names and report into a folder.

    The answer is printed after the first fit. Then several methods are compared, and nested
    cross-validation repeats the selection in folds to score it on rows that it has not seen.
    Ctrl-C after the answer ends the command and writes what is known.
    """
    from secateur.cli.data import DataRequest, read_feature_costs
    from secateur.cli.output import reserved_folder
    from secateur.data.memory import resolve_limit
    from secateur.storage.reading.dataset import read_test
    from secateur.storage.reading.formats import check_file, kind_of_name

    tasks = own.task_column
    request = DataRequest.of(data, given, costs.keep, tasks)
    check_file(data)
    default = f"{kind_of_name(data.name).stem}-selection"
    resolve_limit(scaling.memory_limit)  # raises before any work
    with (
        reserved_folder(out, default, force=console.force, data=data) as folder,
        executor_of(scaling, console) as executor,
    ):
        dataset, method = _loaded(request, console, method, scaling, executor, validation, own)
        feature_costs, notes = read_feature_costs(dataset, costs, request.roles.keep)
        console.message(*notes)
        rows = None if own.test is None else read_test(own.test, dataset, request.reading, tasks)
        # slow to import: by now everything that is wrong with the files has been reported
        from secateur.cli.methods import build_selector, notes_on_bins
        from secateur.cli.selection import SelectionRun

        selector = build_selector(method, dataset, feature_costs, validation)
        on_bins = notes_on_bins(selector, method)
        console.message(*on_bins)
        run = SelectionRun(selector, dataset, feature_costs, validation, console, own.verify)
        entry, answer, facts = run.select()
        if rows is not None and not facts["is_interrupted"]:
            facts |= run.score_test_rows(rows, answer, facts)
        facts |= {"file": data.name, "method": method.method, "seed": validation.seed}
        facts["notes"] = [*dataset.notes, *notes, *on_bins]
        run.write(entry, facts, folder, request if own.write_data else None)


def _loaded(
    request: Any,
    console: Console,
    method: options.MethodOptions,
    scaling: options.ScalingOptions,
    executor: Any,
    validation: options.ValidationOptions,
    own: SelectOptions,
) -> tuple[Any, options.MethodOptions]:
    """The data, in memory or on disk, and the method for it, if none was asked for."""
    from secateur.cli.data import load, load_stored

    default = "auto"
    if method.for_model is None and (method.penalty is not None or method.settings):
        default = "agbm"  # which these are parameters of
    wanted = method.method
    dataset = load_stored(
        request, console, scaling, executor, wanted or "agbm", validation, own.write_data
    )
    if dataset is not None and wanted is None:
        default = "agbm"
        console.message("Methods are compared in memory only: this is A-GBM on the whole table.")
    dataset = dataset or load(request, console, wanted or default)
    if dataset.target_type == "ranking":
        default = "agbm"
    return dataset, replace(method, method=wanted or default)


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
    from secateur.cli.methods import build_selector
    from secateur.cli.output import reserved_folder
    from secateur.cli.selection import SelectionRun
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
    method, validation = options.MethodOptions("agbm", settings=QUICK), options.ValidationOptions(3)
    selector = build_selector(method, dataset, costs, validation)
    with reserved_folder(out, "", force=console.force) as folder:
        run = SelectionRun(selector, dataset, costs, validation, console)
        entry, _, facts = run.select()
        facts |= {"file": "the breast cancer data of scikit-learn", "method": "agbm", "seed": 0}
        run.write(entry, facts, folder)


def warm_up(
    folder: Annotated[
        Path | None,
        typer.Option(help="Where compiled code is kept; set NUMBA_CACHE_DIR to it afterwards."),
    ] = None,
    *,
    console: Console,
) -> None:
    """Compile what common fits need, for instance into the image of a container."""
    from secateur.selectors.warm_up import warm_up as compile_all

    console.message("Compiling. This takes some minutes.")
    compile_all(folder)
    place = "" if folder is None else f" into {folder}. Set NUMBA_CACHE_DIR={folder.resolve()}"
    document = {"folder": None if folder is None else str(folder)}
    console.result(document, f"Compiled{place}.")


@contextmanager
def executor_of(scaling: options.ScalingOptions, console: Console) -> Iterator[Any]:
    """The executor of a command: None for this process, or one on a cluster, closed at the end."""
    address, workers = scaling.dask, scaling.workers
    if address is None and workers is None:
        yield None
        return
    if address is not None and workers is not None:
        raise ParameterError("--dask and --workers cannot be combined. Got both. Use one of them.")
    import_optional("distributed", "A cluster", "secateur[dask]")
    from distributed import Client, LocalCluster

    from secateur.execution.dask import DaskExecutor

    with ExitStack() as stack:
        # without the logs of Dask on connections that are closed here
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.ERROR)
        place, limit = address, SECONDS
        if address is None:
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",  # any free port: a second command would warn otherwise
                silence_logs=logging.CRITICAL,
            )
            place, limit = stack.enter_context(cluster), 30.0
        try:
            client = Client(place, timeout=limit, set_as_default=False, direct_to_workers=True)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise ClusterError(
                f"A scheduler must answer at {place!r}. Got none in {SECONDS:g} s ({reason}). "
                "Use the address that 'dask scheduler' prints, as tcp://10.0.0.1:8786."
            ) from error
        n_workers = len(stack.enter_context(client).scheduler_info(n_workers=-1)["workers"])
        if n_workers == 0:
            raise ClusterError(
                f"A cluster must have a worker. Got none at {address}. Run 'dask worker {address}'."
            )
        console.message(f"Computing on {n_workers} {'worker' if n_workers == 1 else 'workers'}.")
        yield DaskExecutor(client)
