"""Stands in for the FD.io CSIT library `MLRsearch` 1.2.1: a program that uses it changes its import to this.

The classes have the names, fields and defaults of that library. Loads are selected by brimful's own engine, so a search
takes fewer trials.
"""

from brimful.mlrsearch.config import Config
from brimful.mlrsearch.discrete_load import DiscreteLoad
from brimful.mlrsearch.goal_result import GoalResult
from brimful.mlrsearch.multiple_loss_ratio_search import MultipleLossRatioSearch
from brimful.mlrsearch.pep3140 import Pep3140Dict
from brimful.mlrsearch.search_goal import SearchGoal
from brimful.mlrsearch.search_goal_tuple import SearchGoalTuple
from brimful.mlrsearch.trial_measurement import AbstractMeasurer, MeasurementResult
from brimful.mlrsearch.trimmed_stat import TargetStat, TrimmedStat

__all__ = [
    "AbstractMeasurer",
    "Config",
    "DiscreteLoad",
    "GoalResult",
    "MeasurementResult",
    "MultipleLossRatioSearch",
    "Pep3140Dict",
    "SearchGoal",
    "SearchGoalTuple",
    "TargetStat",
    "TrimmedStat",
]
