"""What a selection algorithm leaves behind, and all that can be done with it."""

from __future__ import annotations

from secateur.path.codec import load_rule, versions
from secateur.path.comparing import check_comparable, explain_difference, paths_equal
from secateur.path.cutting import (
    AtMost,
    Best,
    CuttingRule,
    Elbow,
    OneStandardError,
    WithinBudget,
    as_rule,
)
from secateur.path.path import SelectionPath, StopReason
from secateur.path.selection import Selection
from secateur.path.step import Score, Step
from secateur.path.stopping import (
    CostBudget,
    History,
    MaxFeatures,
    Patience,
    StoppingRule,
    TimeLimit,
)

__all__ = [
    "AtMost",
    "Best",
    "CostBudget",
    "CuttingRule",
    "Elbow",
    "History",
    "MaxFeatures",
    "OneStandardError",
    "Patience",
    "Score",
    "Selection",
    "SelectionPath",
    "Step",
    "StopReason",
    "StoppingRule",
    "TimeLimit",
    "WithinBudget",
    "as_rule",
    "check_comparable",
    "explain_difference",
    "load_rule",
    "paths_equal",
    "versions",
]
