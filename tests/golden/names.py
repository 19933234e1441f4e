"""Names of the public API that the golden results use and that may be renamed: one place."""

from __future__ import annotations

from typing import Any

FEATURE_GROUPS = "feature_groups"
"""Parameter of selectors and of FeatureCosts: features that are paid for together."""

KIND_OF_TARGET = "target_type"
"""Parameter of FeatureGradientsSelector: classification, ordinal or regression."""

TASK_OF_ROWS = "task"
"""Argument of ``fit``, ``predict`` and ``open_table`` for the task of each row."""

STEP = {
    "order": "order",
    "penalty": "penalty",
    "objective": "objective",
    "cost": "cost",
    "weight": "weight",
    "supports": "supports",
}
"""Attributes of a step of a path, by the name in the golden files."""

SCORE = {"mean": "mean", "standard_error": "standard_error", "metric": "metric", "origin": "origin"}
"""Attributes of a score, by the name in the golden files."""

DOCUMENT: dict[str, str] = {
    "target_type": "task",
    "unstable": "doubtful",
    "feature_groups": "groups",
}
"""Keys of ``selection.json`` that were renamed: new name to the name in the golden files."""

NOT_COMPARED = {
    "verification",
    "answer",
    "command",
    "comparison",
    "files",
    "fits",
    "folder",
    "format",
    "notes",
    "seconds",
    "sentence",
    "unstable_sentence",
    "version",
    "versions",
}
"""Keys of ``selection.json`` that hold sentences, versions, paths or times."""


def of_step(step: Any, name: str) -> Any:
    """One attribute of a step, by its name in the golden files."""
    return getattr(step, STEP[name])


def of_score(score: Any, name: str) -> Any:
    """One attribute of a score, by its name in the golden files."""
    return getattr(score, SCORE[name])
