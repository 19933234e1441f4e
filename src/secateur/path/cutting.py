"""Rules that choose one step of a path: best score, one standard error, elbow, size or cost.

A rule is any object with two methods: ``choose(path)`` returns the index of a step, and
``sentence(path, index)`` says in one sentence why that step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from secateur.exceptions import ParameterError, SecateurError, StorageError
from secateur.path import rendering
from secateur.path.codec import from_document, to_document
from secateur.path.step import best_among, envelope, require_steps, smallest_among, usable
from secateur.path.values import real_number, whole_number, within_budget
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath


@runtime_checkable
class CuttingRule(Protocol):
    """The interface of a cutting rule."""

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        ...

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        ...


@dataclass(frozen=True, slots=True)
class Best:
    """The best score; ties go to fewer features. Without scores, the last step.

    Examples
    --------
    >>> Best() == as_rule("best")
    True
    """

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        require_steps(path)
        return best_among(path, np.arange(len(path))) if path.has_scores else len(path) - 1

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        score = path[index].score
        why = f"the best {rendering.measured(score)}" if score else _LAST_STEP
        return f"{rendering.share(path, index)}: {why}."


@dataclass(frozen=True, slots=True)
class OneStandardError:
    """The fewest features whose score is within a standard error of the best.

    Ties go to the lower cost, then to the better score. Where the standard error of the best
    score is unknown, this is `Best`.

    While some features are better than none, some are chosen: where a step without features would
    be within reach, a step has to keep half of what the best gains over it.

    Parameters
    ----------
    multiple : float, default=1.0
        How many standard errors a step may be worse than the best.

    Examples
    --------
    >>> OneStandardError() == as_rule(None) == as_rule("one_se")
    True
    """

    multiple: float = 1.0

    def __post_init__(self) -> None:
        advice = "Use 1 for the usual rule, 0 for the best score."
        object.__setattr__(self, "multiple", real_number("multiple", self.multiple, advice=advice))

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        best = Best().choose(path)
        slack = self._slack(path, best)
        if math.isnan(slack):
            return best
        near = usable(path)
        gain = _gain_over_none(path, best)
        if 0.0 < gain <= slack:
            near, slack = near[path.n_features[near] > 0], _HALF * gain
        return smallest_among(path, near[path.utilities[near] >= path.utilities[best] - slack])

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        best = Best().choose(path)
        top, score, slack = path[best].score, path[index].score, self._slack(path, best)
        top_size = path[best].n_features
        plain = Best().sentence(path, index)
        if top is None or score is None:
            return plain
        if math.isnan(slack):
            return (
                f"{plain[:-1]}; its standard error is unknown, so no smaller step was considered."
            )
        within = f"{_standard_errors(self.multiple)} ({rendering.number(slack)})"
        fewest = f"{rendering.share(path, index)}: the fewest whose {rendering.measured(score)}"
        best_of = f"the best ({rendering.number(top.mean)}, at {rendering.features(top_size)})"
        if 0.0 < _gain_over_none(path, best) <= slack:
            return (
                f"{fewest} keeps half of what {best_of} gains over no features at all; "
                f"that gain is within {within}, so it is uncertain."
            )
        return f"{fewest} is within {within} of {best_of}."

    def _slack(self, path: SelectionPath, best: int) -> float:
        score = path[best].score
        return self.multiple * score.standard_error if score else math.nan


@dataclass(frozen=True, slots=True)
class AtMost:
    """The best score with at most so many features; without scores, the largest such support.

    Examples
    --------
    >>> as_rule(12)
    AtMost(n_features=12)
    """

    n_features: int

    def __post_init__(self) -> None:
        advice = "Use 'best' for no limit."
        n_features = whole_number("n_features", self.n_features, minimum=1, advice=advice)
        object.__setattr__(self, "n_features", n_features)

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        require_steps(path)
        sizes = path.n_features
        fitting = np.flatnonzero(sizes <= self.n_features)
        if fitting.size == 0:
            raise ParameterError(
                f"No step has at most {rendering.features(self.n_features)}. "
                f"Got a path whose smallest step has {sizes.min()}. "
                "Allow that many, or trace with a higher penalty."
            )
        return _best_or_largest(path, fitting, sizes)

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        return _limited(path, index, f"with at most {rendering.features(self.n_features)}")


@dataclass(frozen=True, slots=True)
class WithinBudget:
    """The best score at no more than this cost; without scores, the costliest such step.

    Examples
    --------
    >>> WithinBudget(2.5)
    WithinBudget(cost=2.5)
    """

    cost: float

    def __post_init__(self) -> None:
        advice = "Use 'best' for no limit."
        object.__setattr__(self, "cost", real_number("cost", self.cost, advice=advice))

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        require_steps(path)
        costs = path.costs
        if np.isnan(costs).all():
            raise ParameterError(
                "A budget needs a path with costs. Got a path without them. "
                "Give feature costs to the run, or use AtMost."
            )
        fitting = np.flatnonzero(within_budget(costs, self.cost))
        if fitting.size == 0:
            raise ParameterError(
                f"No step costs at most {rendering.money(path, self.cost)}. "
                f"Got a path whose lowest cost is {rendering.money(path, np.nanmin(costs))}. "
                "Allow that much, or trace with a higher penalty."
            )
        return _best_or_largest(path, fitting, costs)

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        budget, cost = rendering.money(path, self.cost), rendering.money(path, path[index].cost)
        return _limited(path, index, f"at a cost of at most {budget} (it costs {cost})")


def as_rule(value: Any) -> CuttingRule:
    """Turn what a user may write into a rule; see `SelectionPath.cut`."""
    shorthand = {"best": Best, "one_se": OneStandardError, "elbow": Elbow}
    if value is None:
        return OneStandardError()
    if isinstance(value, str) and value in shorthand:
        rule: CuttingRule = shorthand[value]()
        return rule
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return AtMost(int(value))
    # A class has the methods too, but is no rule.
    if isinstance(value, CuttingRule) and not isinstance(value, type):
        return value
    raise ParameterError(
        "'cut' must be a cutting rule, 'best', 'one_se', 'elbow', a number of features or None. "
        f"Got {value!r}. Use for instance 'one_se', 12, or WithinBudget(2.5)."
    )


_HALF = 0.5
"""Of what the best gains over no features, so much is kept where all of it may be chance."""

_LAST_STEP = "the last step, since the path has no scores"


def _best_or_largest(path: SelectionPath, fitting: IntArray, size: FloatArray | IntArray) -> int:
    if path.has_scores:
        return best_among(path, fitting)
    return int(fitting[np.flatnonzero(size[fitting] == size[fitting].max())[-1]])


def _limited(path: SelectionPath, index: int, limit: str) -> str:
    score = path[index].score
    if score is None:
        return f"{rendering.share(path, index)}: the most {limit}; the path has no scores."
    return f"{rendering.share(path, index)}: the best {rendering.measured(score)} {limit}."


def _gain_over_none(path: SelectionPath, best: int) -> float:
    """How much better the best step is than one without features; inf where there is none."""
    scored = usable(path)
    none = scored[path.n_features[scored] == 0]
    return float(path.utilities[best] - path.utilities[none].max(initial=-math.inf))


def _standard_errors(multiple: float) -> str:
    return "one standard error" if multiple == 1 else f"{multiple:g} standard errors"


@dataclass(frozen=True, slots=True)
class Elbow:
    r"""The step after which further features improve the score little.

    ::

        score                    The envelope keeps the steps (o) that no smaller step equals.
          |          __o         The chord joins its first to its last, which is the best score.
          |   E___o--  /         The elbow E is the step highest above the chord.
          |  /      /  . . .     Steps beyond the best (.) are ignored: how long the
          | /   /                run went on after it does not move the elbow.
          |o/_____________ features

    With fewer than three steps on the envelope, or none above the chord, this is `Best`.

    Examples
    --------
    >>> from secateur.path import Score, SelectionPath, Step, StopReason
    >>> steps = [
    ...     Step.of(range(k), score=Score(accuracy, 0.01, (), "held_out", "accuracy", True))
    ...     for k, accuracy in [(1, 0.5), (2, 0.8), (4, 0.85), (8, 0.86)]
    ... ]
    >>> path = SelectionPath(steps, StopReason.FINISHED, list("abcdefgh"), "demo")
    >>> path.cut(Elbow()).n_features
    2
    """

    def choose(self, path: SelectionPath) -> int:
        """Return the index of the chosen step."""
        require_steps(path)
        if not path.has_scores:
            raise ParameterError(
                "An elbow needs a path with scores. Got a path without them. "
                "Score the run, or cut by 'best' or a number of features."
            )
        elbow = _elbow(path)
        return Best().choose(path) if elbow is None else elbow

    def sentence(self, path: SelectionPath, index: int) -> str:
        """Say why step `index` was chosen."""
        score = path[index].score
        if score is None or _elbow(path) is None:
            return f"{Best().sentence(path, index)[:-1]}; the scores have no elbow."
        ends = envelope(path)[[0, -1]]
        first, last = path.n_features[ends]
        return (
            f"{rendering.share(path, index)}: the elbow of {rendering.measured(score)} against the "
            f"number of features, farthest from the chord between {first} and {last} features."
        )


def _elbow(path: SelectionPath) -> int | None:
    steps = envelope(path)
    if steps.size < 3:
        return None  # two points are their own chord
    # Both axes run from 0 to 1, so the chord is the diagonal and the distance from it is y - x.
    rise = _unit(path.utilities[steps]) - _unit(path.n_features[steps].astype(np.float64))
    highest = int(np.argmax(rise))
    # The ends lie on the chord; rounding aside, nothing there means nothing above it.
    return int(steps[highest]) if rise[highest] > 1e-12 else None


def _unit(values: FloatArray) -> FloatArray:
    scaled: FloatArray = (values - values[0]) / (values[-1] - values[0])
    return scaled


RULE_VERSION = 1
KINDS: dict[str, type[Any]] = {
    "best": Best,
    "one_se": OneStandardError,
    "elbow": Elbow,
    "at_most": AtMost,
    "within_budget": WithinBudget,
}
"""The rules that can be saved."""


def rule_to_document(rule: CuttingRule | None) -> dict[str, Any] | None:
    """Return a rule as plain JSON values; None for None and for rules of the user's own."""
    kind = next((name for name, each in KINDS.items() if type(rule) is each), None)
    if kind is None:
        return None
    return {"version": RULE_VERSION, "kind": kind, **to_document(rule)}


def rule_from_document(document: Any) -> CuttingRule | None:
    """Read what `rule_to_document` returned."""
    if document is None:
        return None
    kind = KINDS.get(str(document.get("kind"))) if isinstance(document, dict) else None
    if kind is None or document.get("version") not in range(1, RULE_VERSION + 1):
        raise StorageError(
            f"A cutting rule must be one of {', '.join(KINDS)} in version {RULE_VERSION} or "
            f"older. Got {document!r}. Install a newer secateur to read it, or name a rule."
        )
    try:
        rule: CuttingRule = from_document(kind, document, "rule")
    except (TypeError, ValueError, SecateurError) as error:
        raise StorageError(f"The cutting rule is damaged. Got {error}. Name a rule.") from error
    return rule
