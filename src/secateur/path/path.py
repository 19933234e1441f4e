"""`SelectionPath`: the steps of one run, and `Selection`: the step chosen from it."""

from __future__ import annotations

import html
import json
import math
import operator
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from secateur import __version__, exceptions
from secateur.exceptions import ComparisonError, ParameterError
from secateur.path import codec, rendering
from secateur.path.comparing import require_steps
from secateur.path.cutting import CuttingRule
from secateur.path.rules import as_rule, rule_from_document, rule_to_document
from secateur.path.step import (
    Refrozen,
    Score,
    Step,
    frozen_integers,
    frozen_mapping,
    listed,
    set_fields,
)
from secateur.path.stopping import StopReason
from secateur.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import os

    import pandas as pd
    from rich.console import RenderableType

MAX_SELECTED = 60  # names that are shown of a selection


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection(Refrozen):
    """The features chosen, and why these.

    Parameters
    ----------
    index : int
        Which step of the path was chosen.
    support : array of int, shape (n_features,)
        The chosen features, sorted.
    names : tuple of str
        Their names, aligned with `support`.
    rule : str
        The rule that chose, as it prints itself.
    sentence : str
        How it was chosen, in one plain sentence.
    score : Score or None
    cost : float
        Cost of the selected features; NaN if unknown.
    n_features_in : int
        How many features there were to choose from.
    chooser : CuttingRule or None, default=None
        The rule itself.

    Examples
    --------
    >>> chosen = Selection(0, [1], ("height",), "Best()", "1 of 3 features.", None, 2.0, 3)
    >>> print(chosen)
    1 of 3 features.
    >>> chosen.mask
    array([False,  True, False])
    """

    index: int
    support: IntArray
    names: tuple[str, ...]
    rule: str
    sentence: str
    score: Score | None
    cost: float
    n_features_in: int
    chooser: CuttingRule | None = None

    def __post_init__(self) -> None:
        support = frozen_integers("support", self.support)
        set_fields(self, support=support, names=tuple(self.names))
        if len(self.names) != self.support.size:
            raise ParameterError(
                "'names' must have one name for each feature of 'support'. Got "
                f"{len(self.names)} names for {self.support.size} features. Use SelectionPath.cut."
            )

    @property
    def n_features(self) -> int:
        """How many features were chosen."""
        return int(self.support.size)

    @property
    def mask(self) -> BoolArray:
        """The support as a mask of shape (n_features_in,)."""
        mask = np.zeros(self.n_features_in, dtype=np.bool_)
        mask[self.support] = True
        return mask

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"Selection({self.n_features} of {self.n_features_in} features, {self.rule})"

    def __rich__(self) -> RenderableType:
        from rich.panel import Panel
        from rich.text import Text

        body = Text(self.sentence)
        if self.names:
            body.append("\n" + listed(self.names, MAX_SELECTED), style="bold")
        return Panel(body, title=Text(self.rule), expand=False)

    def _repr_html_(self) -> str:
        names = html.escape(listed(self.names, MAX_SELECTED))
        below = f"<p><b>{names}</b></p>" if names else ""
        return f"<div><p>{html.escape(self.sentence)}</p>{below}</div>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SelectionPath(codec.Saved, Refrozen):
    """The steps of one run in order, why they ended, and the names and units to read them by.

    A path without steps is allowed (a limit may be crossed by the first step); cutting it is not.

    Parameters
    ----------
    steps : sequence of Step
    stop_reason : StopReason
    feature_names : sequence of str
        A name for every feature of the problem, used or not.
    algorithm : str
    penalty_name : str, default="penalty"
        What ``Step.penalty`` is called.
    cost_unit : str, default=""
    parameters : mapping of str to JSON value, default={}
    versions : mapping of str to str, default={}
        Which versions made the path.

    Examples
    --------
    >>> path = SelectionPath(
    ...     [Step.of([2]), Step.of([2, 0])], StopReason.FINISHED, ["age", "size", "sex"], "demo"
    ... )
    >>> path
    SelectionPath('demo', 2 steps, 1 to 2 of 3 features, finished)
    >>> print(path.cut("best"))
    2 of 3 features: the last step; no step was scored (cv=0, or too few rows), so fewer ...
    """

    _format: ClassVar[codec.Format] = codec.Format(
        "secateur.path", 2, "path", "Save it again from the run that made it."
    )
    steps: tuple[Step, ...]
    stop_reason: StopReason
    feature_names: tuple[str, ...]
    algorithm: str
    penalty_name: str = field(default="penalty", metadata=codec.saved("control_name"))
    cost_unit: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = tuple(self.feature_names)
        set_fields(
            self,
            steps=tuple(self.steps),
            stop_reason=StopReason(self.stop_reason),
            # of a wide table the names are many, and text already
            feature_names=names if set(map(type, names)) == {str} else tuple(map(str, names)),
            parameters=frozen_mapping("parameters", self.parameters),
            versions=frozen_mapping("versions", self.versions),
        )
        largest = max((int(step.support[-1]) for step in self if step.n_features), default=-1)
        if largest >= self.n_features_in:
            raise ParameterError(
                f"Every feature must have a name. Got {self.n_features_in} names and feature "
                f"{largest}. Pass a name for every feature of the problem, used or not."
            )
        kinds = {step.score.key for step in self if step.score}
        if len(kinds) > 1:
            raise ComparisonError(
                "The scores of one path must be of one metric and one origin. "
                f"Got {sorted(kinds)}. Score all steps in the same way."
            )

    @classmethod
    def _upgraded(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Scores of version 1 as those of version 2, which are scikit-learn's metrics."""
        evidence = document.get("evidence")
        is_whole = isinstance(evidence, dict) and evidence.get("all_features") is not None
        steps = document.get("steps")
        for step in steps if isinstance(steps, list) else ():
            score = step.get("score") if isinstance(step, dict) else None
            if isinstance(score, dict):
                _upgrade(score, is_whole=is_whole)
        return document

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> SelectionPath: ...
    def __getitem__(self, index: int | slice) -> Step | SelectionPath:
        found = self.steps[index]
        return replace(self, steps=found) if isinstance(found, tuple) else found

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def n_features_in(self) -> int:
        """How many features there were to choose from."""
        return len(self.feature_names)

    @property
    def n_features(self) -> IntArray:
        """How many features each step uses."""
        return np.array([step.n_features for step in self.steps], dtype=np.int64)

    @property
    def costs(self) -> FloatArray:
        """The cost of each step, NaN where it is unknown."""
        return np.array([step.cost for step in self.steps], dtype=np.float64)

    @property
    def scores(self) -> FloatArray:
        """The mean score of each step, NaN where there is none."""
        return self._of_scores("mean")

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each score, NaN where it is unknown."""
        return self._of_scores("standard_error")

    @property
    def utilities(self) -> FloatArray:
        """The scores, signed so that larger is better."""
        return self._of_scores("utility")

    def _of_scores(self, name: str) -> FloatArray:
        return np.array([getattr(step.score, name, math.nan) for step in self.steps], np.float64)

    @property
    def has_scores(self) -> bool:
        """Whether any step carries a score."""
        return any(step.score is not None for step in self.steps)

    def names_of(self, step: Step) -> tuple[str, ...]:
        """Return the names of the features of `step`, aligned with its support."""
        return self._names(step.support)

    def entered(self, index: int) -> tuple[str, ...]:
        """Return the names that step `index` has and the one before had not, in order of entry."""
        order = self.steps[index].order
        return self._names(order[~np.isin(order, self._support_before(index))])

    def left(self, index: int) -> tuple[str, ...]:
        """Return the names that the step before `index` had and this one has not."""
        before = self._support_before(index)
        return self._names(before[~np.isin(before, self.steps[index].support)])

    def cut(self, rule: CuttingRule | str | int | None = None) -> Selection:
        """Choose one step.

        Parameters
        ----------
        rule : CuttingRule, {"best", "one_se", "elbow"}, int or None, default=None
            A number means at most so many features; None means ``OneStandardError()``.
        """
        chooser = as_rule(rule)
        require_steps(self)
        index = operator.index(chooser.choose(self))
        if not 0 <= index < len(self):
            raise ParameterError(
                f"A cutting rule must choose a step from 0 to {len(self) - 1}. "
                f"Got {index} from {chooser!r}. Correct its method 'choose'."
            )
        step = self.steps[index]
        return Selection(
            index=index,
            support=step.support,
            names=self.names_of(step),
            rule=repr(chooser),
            sentence=chooser.sentence(self, index),
            score=step.score,
            cost=step.cost,
            n_features_in=self.n_features_in,
            chooser=chooser,
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one plain dict for each step, its details as ``details.<key>``."""
        return [
            {
                "step": index,
                "n_features": step.n_features,
                "cost": step.cost,
                "score": getattr(step.score, "mean", math.nan),
                "standard_error": getattr(step.score, "standard_error", math.nan),
                "metric": getattr(step.score, "metric", None),
                "origin": getattr(step.score, "origin", None),
                "penalty": step.penalty,
                "objective": step.objective,
                "seconds": step.seconds,
                "entered": list(self.entered(index)),
                "left": list(self.left(index)),
                **{f"details.{key}": value for key, value in step.details.items()},
            }
            for index, step in enumerate(self)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""
        pandas = exceptions.import_optional("pandas", "A frame", "pandas", ", or use to_rows()")
        return pandas.DataFrame(self.to_rows())

    def to_json(self, *, evidence: str | None = None, rule: CuttingRule | None = None) -> str:
        """Return the path as strict JSON, without its models; see `save`."""
        extra = {"cut": rule_to_document(rule), "evidence": evidence and json.loads(evidence)}
        kept = {key: value for key, value in extra.items() if value is not None}
        return codec.to_json(self, **kept)

    def save(
        self,
        file: str | os.PathLike[str],
        *,
        evidence: str | None = None,
        rule: CuttingRule | None = None,
    ) -> None:
        """Write the path to a file, whole or not at all, without its models.

        Parameters
        ----------
        file : path-like
        evidence : str, optional
            JSON that is kept with the path, as ``gather_evidence(...).to_json()`` gives it.
        rule : CuttingRule, optional
            As ``Selection.chooser``, for `load_rule`. A rule of the user's own is not kept.
        """
        codec.write_whole(file, self.to_json(evidence=evidence, rule=rule) + "\n")

    def __repr__(self) -> str:
        return f"SelectionPath({rendering.summary(self)})"

    def __rich__(self) -> RenderableType:
        return rendering.rich_table(*rendering.table(self), text_column=5)

    def _repr_html_(self) -> str:
        return rendering.curve_svg(self) + rendering.html_table(*rendering.table(self))

    def _names(self, features: IntArray) -> tuple[str, ...]:
        return tuple([self.feature_names[feature] for feature in features.tolist()])

    def _support_before(self, index: int) -> IntArray:
        position = range(len(self))[index]  # counts negative indices from the end
        return self.steps[position - 1].support if position else np.empty(0, dtype=np.int64)


def _upgrade(score: dict[str, Any], *, is_whole: bool) -> None:
    """Turn a score of version 1 into one of version 2."""
    metric = score.get("metric")
    if metric == "poisson" or (metric == "squared_error" and score.get("origin") == "inner"):
        for key in ("mean", "spread"):
            score[key] = 2.0 * float(score[key])
        score["folds"] = [2.0 * float(each) for each in score["folds"]]
    elif metric == "squared_error" and not is_whole:
        # one name for half the squared error of a selector and the whole of `held_out`
        score["metric"] = "squared_error or half of it"
    names = {"poisson": "poisson_deviance", "quantile": "pinball_loss"}
    score["metric"] = names.get(score["metric"], score["metric"])


def versions() -> dict[str, str]:
    """Return the versions of secateur, numpy and Python."""
    return {"secateur": __version__, "numpy": np.__version__, "python": platform.python_version()}


def load_rule(file: str | os.PathLike[str]) -> CuttingRule | None:
    """Read the rule that a saved path was cut by; None if the file has none."""
    with codec.naming(file):
        return rule_from_document(saved_with(file, "cut"))


def saved_with(file: str | os.PathLike[str], key: str) -> Any:
    """What was saved with a path by that key; None if the file has none."""
    return codec.read_document(SelectionPath, Path(file).read_bytes()).get(key)
