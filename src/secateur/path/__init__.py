"""The result of a selection: steps, the rules that stop and cut a path, and its JSON."""

from __future__ import annotations

from secateur.path.cutting import AtMost as AtMost
from secateur.path.cutting import Best as Best
from secateur.path.cutting import CuttingRule as CuttingRule
from secateur.path.cutting import Elbow as Elbow
from secateur.path.cutting import NearBest as NearBest
from secateur.path.cutting import OneStandardError as OneStandardError
from secateur.path.cutting import WithinBudget as WithinBudget
from secateur.path.path import Selection as Selection
from secateur.path.path import SelectionPath as SelectionPath
from secateur.path.path import load_rule as load_rule
from secateur.path.path import versions as versions
from secateur.path.rules import as_rule as as_rule
from secateur.path.step import Score as Score
from secateur.path.step import Step as Step
from secateur.path.stopping import CostBudget as CostBudget
from secateur.path.stopping import History as History
from secateur.path.stopping import MaxFeatures as MaxFeatures
from secateur.path.stopping import Patience as Patience
from secateur.path.stopping import StoppingRule as StoppingRule
from secateur.path.stopping import StopReason as StopReason
from secateur.path.stopping import TimeLimit as TimeLimit
