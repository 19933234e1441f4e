"""What a selection algorithm leaves behind, and all that can be done with it."""

from __future__ import annotations

from secateur.path.comparing import check_comparable, explain_difference, paths_equal
from secateur.path.comparison import Comparison
from secateur.path.cutting import (
    AtMost,
    Best,
    CuttingRule,
    OneStandardError,
    WithinBudget,
    as_rule,
)
from secateur.path.elbow import Elbow
from secateur.path.path import SelectionPath, StopReason
from secateur.path.provenance import versions
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
from secateur.path.storing import load_rule
from secateur.path.trial import Subset, Trial, TrialStatus

__all__ = [
    "AtMost",
    "Best",
    "Comparison",
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
    "Subset",
    "TimeLimit",
    "Trial",
    "TrialStatus",
    "WithinBudget",
    "as_rule",
    "check_comparable",
    "explain_difference",
    "load_rule",
    "paths_equal",
    "versions",
]
