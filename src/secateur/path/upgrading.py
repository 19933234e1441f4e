"""Saved paths of older versions, turned into documents of today's."""

from __future__ import annotations

from typing import Any

UNCERTAIN = "squared_error or half of it"
"""Version 1 saved half the squared error of a selector and the whole of `held_out` by one name."""


def upgraded_path(document: dict[str, Any]) -> dict[str, Any]:
    """Scores of version 1 as those of version 2, which are scikit-learn's metrics."""
    evidence = document.get("evidence")
    is_whole = isinstance(evidence, dict) and evidence.get("all_features") is not None
    steps = document.get("steps")
    for step in steps if isinstance(steps, list) else ():
        score = step.get("score") if isinstance(step, dict) else None
        if isinstance(score, dict):
            _upgrade(score, is_whole=is_whole)
    return document


def _upgrade(score: dict[str, Any], *, is_whole: bool) -> None:
    metric = score.get("metric")
    if metric == "poisson" or (metric == "squared_error" and score.get("origin") == "inner"):
        for key in ("mean", "spread"):
            score[key] = 2.0 * float(score[key])
        score["folds"] = [2.0 * float(each) for each in score["folds"]]
    elif metric == "squared_error" and not is_whole:
        score["metric"] = UNCERTAIN
    names = {"poisson": "poisson_deviance", "quantile": "pinball_loss"}
    score["metric"] = names.get(score["metric"], score["metric"])
