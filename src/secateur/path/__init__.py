"""The result of a selection: steps, the rules that stop and cut a path, and its JSON."""

from __future__ import annotations

from secateur.path.cutting import (
    AtMost,
    Best,
    CuttingRule,
    Elbow,
    OneStandardError,
    WithinBudget,
    as_rule,
)
from secateur.path.path import Selection, SelectionPath, load_rule, versions
from secateur.path.step import Score, Step
from secateur.path.stopping import (
    CostBudget,
    History,
    MaxFeatures,
    Patience,
    StoppingRule,
    StopReason,
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
    "load_rule",
    "versions",
]
