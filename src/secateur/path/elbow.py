"""The cutting rule that looks for the elbow of score against number of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.exceptions import ParameterError
from secateur.path import wording
from secateur.path.cutting import Best
from secateur.path.ranking import require_steps, usable
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath


@dataclass(frozen=True, slots=True)
class Elbow:
    r"""The step after which further features buy little.

    ::

        score                    The envelope keeps the steps (o) that no smaller step equals.
          |          __o         The chord joins its first to its last, which is the best score.
          |   E___o--  /         The elbow E is the step highest above the chord.
          |  /      /  . . .     Steps beyond the best (.) have no say: how long the
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
        """Tell why step `index` was chosen."""
        score = path[index].score
        if score is None or _elbow(path) is None:
            return f"{Best().sentence(path, index)[:-1]}; the scores have no elbow."
        ends = envelope(path)[[0, -1]]
        first, last = path.n_features[ends]
        return (
            f"{wording.share(path, index)}: the elbow of {wording.measured(score)} against the "
            f"number of features, farthest from the chord between {first} and {last} features."
        )


def envelope(path: SelectionPath) -> IntArray:
    """Return the steps that no step with as many or fewer features equals, smallest first."""
    scored = usable(path)
    utility, size = path.utilities[scored], path.n_features[scored]
    scored = scored[np.lexsort([scored, -utility, size])]
    utility = path.utilities[scored]
    before = np.maximum.accumulate(np.concatenate([[-np.inf], utility[:-1]]))
    return scored[utility > before]


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
