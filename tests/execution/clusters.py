"""Clusters of real worker processes, and how one of them is lost."""

from __future__ import annotations

import os
import signal

from distributed import LocalCluster

from secateur.execution.blocks import LocalExecutor


def start(n_workers):
    """A cluster of this machine."""
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
    )


def addresses(client):
    """The workers of a cluster."""
    return list(client.scheduler_info(n_workers=-1)["workers"])


def kill_one(client):
    """End the process of a worker, by its id; gives the address that it had."""
    victim, pid = next(iter(client.run(os.getpid).items()))
    os.kill(pid, signal.SIGKILL)
    return victim


def blocks_here(source, threads):
    """The executor over all blocks of a source in this process."""
    recipes = map(source.recipe, range(len(source.n_rows)))
    return LocalExecutor([source.make(recipe, source.shared, threads) for recipe in recipes])
