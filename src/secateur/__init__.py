"""Feature selection that knows what features cost, and shows the whole path of its choices."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.data.costs import FeatureCosts
    from secateur.execution.dask import DaskExecutor
    from secateur.model_selection.compare import compare
    from secateur.model_selection.comparison import Comparison
    from secateur.model_selection.held_out import HeldOut, held_out
    from secateur.model_selection.stability import Stability, stability
    from secateur.path import (
        AtMost,
        Best,
        CostBudget,
        Elbow,
        MaxFeatures,
        OneStandardError,
        Patience,
        Score,
        Selection,
        SelectionPath,
        Step,
        StopReason,
        TimeLimit,
        WithinBudget,
    )
    from secateur.report.display import SelectionPathDisplay
    from secateur.selectors.boosted import (
        AGBMClassifier,
        AGBMRegressor,
        GBFSClassifier,
        GBFSRegressor,
    )
    from secateur.selectors.featboost import FeatBoostClassifier, FeatBoostRegressor, IISRegressor
    from secateur.selectors.feature_gradients import FeatureGradientsSelector
    from secateur.selectors.grafting import GraftingClassifier, GraftingRegressor
    from secateur.selectors.group_testing import GTGBMClassifier, GTGBMRegressor
    from secateur.selectors.multitask import MultitaskAGBMClassifier, MultitaskAGBMRegressor
    from secateur.storage.open_table import open_table

__version__ = "0.1.0"

__all__ = [
    "AGBMClassifier",
    "AGBMRegressor",
    "AtMost",
    "Best",
    "Comparison",
    "CostBudget",
    "DaskExecutor",
    "Elbow",
    "FeatBoostClassifier",
    "FeatBoostRegressor",
    "FeatureCosts",
    "FeatureGradientsSelector",
    "GBFSClassifier",
    "GBFSRegressor",
    "GTGBMClassifier",
    "GTGBMRegressor",
    "GraftingClassifier",
    "GraftingRegressor",
    "HeldOut",
    "IISRegressor",
    "MaxFeatures",
    "MultitaskAGBMClassifier",
    "MultitaskAGBMRegressor",
    "OneStandardError",
    "Patience",
    "Score",
    "Selection",
    "SelectionPath",
    "SelectionPathDisplay",
    "Stability",
    "Step",
    "StopReason",
    "TimeLimit",
    "WithinBudget",
    "compare",
    "held_out",
    "open_table",
    "stability",
]

# Where each public name lives. A name is imported when it is first asked for, so that
# `import secateur` stays quick and loads neither numba nor scikit-learn.
_HOMES = {
    "data.costs": "FeatureCosts",
    "storage.open_table": "open_table",
    "execution.dask": "DaskExecutor",
    "model_selection.compare": "compare",
    "model_selection.held_out": "HeldOut held_out",
    "model_selection.stability": "Stability stability",
    "model_selection.comparison": "Comparison",
    "path": "AtMost Best CostBudget Elbow MaxFeatures OneStandardError Patience Score Selection "
    "SelectionPath Step StopReason TimeLimit WithinBudget",
    "report.display": "SelectionPathDisplay",
    "selectors.boosted": "AGBMClassifier AGBMRegressor GBFSClassifier GBFSRegressor",
    "selectors.grafting": "GraftingClassifier GraftingRegressor",
    "selectors.group_testing": "GTGBMClassifier GTGBMRegressor",
    "selectors.multitask": "MultitaskAGBMClassifier MultitaskAGBMRegressor",
    "selectors.featboost": "FeatBoostClassifier FeatBoostRegressor IISRegressor",
    "selectors.feature_gradients": "FeatureGradientsSelector",
}
_HOME_OF = {name: f"secateur.{home}" for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'secateur' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
