"""What a search is told: one frozen record, the same for all penalties and folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from secateur._engines.feature_gradients.units import GroupMode

STEPS = 100
"""Updates after which "auto" epochs end: what is in and what is out has then settled."""


@dataclass(frozen=True, slots=True)
class SearchParams:
    """How v is searched.

    ``accumulate`` batches give one update of Adam; ``n_epochs`` None is as many as make about a
    hundred updates; ``init`` is v to start from, one number or one per feature.
    """

    order: int = 4
    batch_size: int = 1000
    accumulate: int = 1
    n_epochs: int | None = None
    learning_rate: float = 0.1
    tol: float = 1e-5
    init: Any = 0.0
    group_mode: GroupMode = "hard"
    seed: int = 0

    def epochs(self, n_rows: int) -> int:
        """How many times the rows are gone through.

        >>> SearchParams().epochs(500), SearchParams().epochs(6000)
        (100, 17)
        """
        if self.n_epochs is not None:
            return self.n_epochs
        updates = max(1, self.n_batches(n_rows) // self.accumulate)
        return -(-STEPS // updates)

    def n_batches(self, n_rows: int) -> int:
        """Batches of an epoch: as even as can be, none with a small rest."""
        return max(1, round(n_rows / self.batch_size))
