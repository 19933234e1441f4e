"""GT-GBM of secateur as an engine: sums of groups, then training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from common.measure import Run, Stopwatch

from adapters.secateur_boosted import AGBM
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.group_design import GroupTesting, largest_group
from secateur.engines.boosted.groups import sum_groups


@dataclass(frozen=True, slots=True)
class GTGBM:
    """The parameters of A-GBM and of group testing; the defaults of the selectors."""

    boosting: AGBM
    expected_features: int
    delta: float = 0.1
    leaf_size: int | None = None
    paper: bool = False

    def result(self, n_rows: int) -> GroupTesting:
        largest = None if self.paper else largest_group(n_rows)
        return GroupTesting(self.expected_features, self.delta, self.leaf_size, largest=largest)

    def train(self, data: BoostedData) -> Run:
        """Add up the groups of a table that is binned already, then train."""
        watch = Stopwatch()
        with watch("grouping"):
            result = self.result(data.columns.n_rows)
            groups = sum_groups(data.columns, data.weight, result, data.threads)
        if groups is None:
            raise ValueError("Group testing does not pay on this table. Take a wider one.")
        run = self.boosting.train(replace(data, groups=groups))
        design = groups.plan.design
        facts: dict[str, Any] = {**run.facts, "design": design, "bytes": groups.codes.nbytes}
        return Run({**watch.stages, **run.stages}, run.n_features, run.decide, facts)
