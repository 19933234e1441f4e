"""A Dask cluster for one command: at an address, or started here and closed with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from secateur.cli.console import Console
from secateur.cli.options import ScalingOptions
from secateur.exceptions import ClusterError, ParameterError, import_optional

SECONDS = 10.0  # for a scheduler to answer


@contextmanager
def executor_of(options: ScalingOptions, console: Console) -> Iterator[Any]:
    """The executor of a command: None for this process, or one on a cluster, closed at the end."""
    address, workers = options.dask, options.workers
    if address is None and workers is None:
        yield None
        return
    if address is not None and workers is not None:
        raise ParameterError("--dask and --workers cannot be combined. Got both. Use one of them.")
    import_optional("distributed", "A cluster", "secateur[dask]")
    from secateur.execution.dask import DaskExecutor

    with _client(address, workers) as client:
        n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
        if n_workers == 0:
            raise ClusterError(
                f"A cluster must have a worker. Got none at {address}. Run 'dask worker {address}'."
            )
        console.message(f"Computing on {n_workers} {'worker' if n_workers == 1 else 'workers'}.")
        yield DaskExecutor(client)


@contextmanager
def _client(address: str | None, workers: int | None) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        # without the logs of Dask on connections that are closed here
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.ERROR)
        place: Any = address
        if address is None:
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",  # any free port: a second command would warn otherwise
                silence_logs=logging.CRITICAL,
            )
            place = stack.enter_context(cluster)
        try:
            limit = SECONDS if address else "30s"
            client = Client(place, timeout=limit, set_as_default=False, direct_to_workers=True)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise ClusterError(
                f"A scheduler must answer at {place!r}. Got none in {SECONDS:g} s ({reason}). "
                "Use the address that 'dask scheduler' prints, as tcp://10.0.0.1:8786."
            ) from error
        yield stack.enter_context(client)
