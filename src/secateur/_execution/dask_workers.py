"""The workers of a dask cluster: which there are, how long one waits for them, how they line up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from secateur.exceptions import ClusterError

PAUSE = 0.2
"""Seconds between two looks at a cluster without workers."""

AGAIN = "then go on with resume= where there is one, or begin again."
"""What to do after a cluster is lost."""


class Workers:
    """Those workers of a cluster that may be used.

    Parameters
    ----------
    client : dask.distributed.Client
    chosen : frozenset of str, or None
        Their addresses; None is all that there are.
    patience : float
        Seconds that a cluster without workers is given to find some.
    """

    def __init__(self, client: Any, chosen: frozenset[str] | None, patience: float) -> None:
        self._client = client
        self._patience = patience
        self.chosen = chosen

    def there(self) -> dict[str, int]:
        """Those that are there now, and their threads; waits a while for the first."""
        until = time.monotonic() + self._patience
        while not (found := self._look()):
            if time.monotonic() > until:
                msg = (
                    f"A cluster must have a worker. Got none for {self._patience:g} seconds. Start "
                    f"workers; {AGAIN}"
                )
                raise ClusterError(msg)
            time.sleep(PAUSE)
        return found

    def _look(self) -> dict[str, int]:
        try:
            found = self._client.sync(self._client.scheduler.identity)["workers"]
        except (OSError, AttributeError, TimeoutError) as error:
            raise lost_scheduler(error) from error
        return {
            address: int(told["nthreads"])
            for address, told in found.items()
            if self.chosen is None or address in self.chosen
        }


def lost_scheduler(error: BaseException) -> ClusterError:
    """The error of a client that is alone."""
    return ClusterError(
        f"The client must reach its scheduler. Got none: {error}. Connect to a cluster again; "
        f"{AGAIN}"
    )


def trees_of(hosts: Sequence[Any], fan_in: int) -> list[tuple[Any, Any]]:
    """Hosts as at most so many trees, in which each has at most so many below it.

    >>> trees_of([1, 2, 3, 4, 5], 2)
    [(1, [(2, []), (3, [])]), (4, [(5, [])])]
    """
    n_trees = min(fan_in, len(hosts))
    cuts = [-(-len(hosts) * k // n_trees) for k in range(n_trees + 1)] if n_trees else []
    parts = [hosts[a:b] for a, b in pairwise(cuts)]
    return [(part[0], trees_of(part[1:], fan_in)) for part in parts]
