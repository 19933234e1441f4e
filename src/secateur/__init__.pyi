from . import report
from .data.costs import FeatureCosts
from .execution.dask import DaskExecutor
from .model_selection.compare import compare
from .model_selection.comparison import Comparison
from .model_selection.held_out import HeldOut, held_out
from .model_selection.stability import Stability, stability
from .path import (
    AtMost,
    Best,
    CostBudget,
    Elbow,
    MaxFeatures,
    NearBest,
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
from .report.display import SelectionPathDisplay
from .selectors.auto import AutoSelector
from .selectors.boosted import (
    AGBMClassifier,
    AGBMRegressor,
    GBFSClassifier,
    GBFSRegressor,
    GTGBMClassifier,
    GTGBMRegressor,
)
from .selectors.featboost import FeatBoostClassifier, FeatBoostRegressor, IISRegressor
from .selectors.feature_gradients import FeatureGradientsSelector
from .selectors.grafting import GraftingClassifier, GraftingRegressor
from .selectors.multitask import MultitaskAGBMClassifier, MultitaskAGBMRegressor
from .selectors.pruning import OptunaPruning
from .selectors.ranking import AGBMRanker, GBFSRanker, GTGBMRanker, MultitaskAGBMRanker
from .selectors.warm_up import warm_up
from .storage.open_table import open_table

__version__: str

__all__ = [
    "AGBMClassifier",
    "AGBMRanker",
    "AGBMRegressor",
    "AtMost",
    "AutoSelector",
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
    "GBFSRanker",
    "GBFSRegressor",
    "GTGBMClassifier",
    "GTGBMRanker",
    "GTGBMRegressor",
    "GraftingClassifier",
    "GraftingRegressor",
    "HeldOut",
    "IISRegressor",
    "MaxFeatures",
    "MultitaskAGBMClassifier",
    "MultitaskAGBMRanker",
    "MultitaskAGBMRegressor",
    "NearBest",
    "OneStandardError",
    "OptunaPruning",
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
    "report",
    "stability",
    "warm_up",
]
