"""`SelectionPathDisplay`: the curve of a path in matplotlib, as scikit-learn's displays are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import InputTypeError, MissingDependencyError, ParameterError
from secateur.path import Score, Selection, SelectionPath
from secateur.path.cutting import require_steps
from secateur.path.step import format_features
from secateur.report.figures import best_at_each
from secateur.report.sentences import kind_words
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


AXES = ("n_features", "cost", "penalty")


class SelectionPathDisplay:
    """Score against number of features, cost or penalty, with the cut marked.

    Use ``from_estimator`` or ``from_path`` to make one; ``plot`` draws it again.

    Parameters
    ----------
    path : SelectionPath
    selection : Selection or None, default=None
        The step that is marked; none by default.
    all_features : Score or None, default=None
        How well all features together do: a dashed line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D
        Through the best step at each place.
    points_ : matplotlib PathCollection
        All steps.
    band_ : matplotlib artist or None
        One standard error to either side of the line; None where it is unknown.
    cut_ : matplotlib PathCollection or None
        The ring around the cut.

    Examples
    --------
    >>> from secateur import AGBMClassifier, SelectionPathDisplay
    >>> from secateur.datasets import make_nonlinear_pair
    >>> problem = make_nonlinear_pair(n_rows=200, random_state=0)
    >>> model = AGBMClassifier(max_iter=5, random_state=0).fit(problem.X, problem.y)
    >>> display = SelectionPathDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'number of features'
    """

    def __init__(
        self,
        path: SelectionPath,
        *,
        selection: Selection | None = None,
        all_features: Score | None = None,
    ) -> None:
        self.path = path
        self.selection = selection
        self.all_features = all_features

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> SelectionPathDisplay:
        """Draw the path of a fitted selector and mark what it chose.

        Parameters
        ----------
        estimator : fitted selector of secateur
        **options
            As for ``from_path``, without ``selection``.
        """
        path = getattr(estimator, "path_", None)
        if not isinstance(path, SelectionPath):
            raise InputTypeError(
                "A display needs a fitted selector of secateur. Got "
                f"{type(estimator).__name__} without 'path_'. Call its fit first."
            )
        return cls.from_path(path, selection=getattr(estimator, "selection_", None), **options)

    @classmethod
    def from_path(
        cls,
        path: SelectionPath,
        *,
        selection: Any = None,
        all_features: Score | None = None,
        **options: Any,
    ) -> SelectionPathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : SelectionPath
        selection : Selection, cutting rule, str, int or None, default=None
            What is marked: a selection, or anything that ``path.cut`` takes. None marks nothing.
        all_features : Score, optional
            Drawn as a dashed line.
        **options
            As for ``plot``.
        """
        if selection is not None and not isinstance(selection, Selection):
            selection = path.cut(selection)
        return cls(path, selection=selection, all_features=all_features).plot(**options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        x: str = "n_features",
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
        cut_kw: dict[str, Any] | None = None,
    ) -> SelectionPathDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            A new figure by default.
        x : {"n_features", "cost", "penalty"}, default="n_features"
            What the score is set against.
        name : str, default=None
            For the legend; that of the algorithm by default.
        line_kw, cut_kw : dict, default=None
            Further options of the line and of the ring.

        Returns
        -------
        SelectionPathDisplay
            Itself.
        """
        require_steps(self.path)
        places = self._places(x)
        values, label = self._values()
        if ax is None:
            ax = _pyplot().subplots()[1]
        self.ax_ = ax
        self.figure_ = ax.figure
        best = best_at_each(places, values, greater_is_better=self._is_greater_better())
        options = {"label": name or self.path.algorithm, "zorder": 2, **(line_kw or {})}
        self.line_: Any = ax.plot(places[best], values[best], **options)[0]
        colour = self.line_.get_color()
        self.points_ = ax.scatter(places, values, s=18, color=colour, zorder=2)
        self.band_ = self._draw_band(places, values, best, colour)
        self.cut_ = self._draw_cut(places, values, cut_kw)
        if self.all_features is not None:
            ax.axhline(self.all_features.mean, ls="--", lw=1, color="0.5", label="all features")
        ax.set(xlabel=self._x_label(x), ylabel=label)
        ax.legend()
        return self

    def _places(self, x: str) -> FloatArray:
        if x not in AXES:
            raise ParameterError(f"'x' must be one of {AXES}. Got {x!r}. Use 'n_features'.")
        if x == "cost":
            places = self.path.costs
        elif x == "penalty":
            places = np.array([step.penalty for step in self.path])
        else:
            places = self.path.n_features.astype(np.float64)
        if not np.isfinite(places).any():
            raise ParameterError(
                f"A path can only be drawn against what it knows. Got no {x} in any step. "
                "Use x='n_features'."
            )
        return places

    def _values(self) -> tuple[FloatArray, str]:
        score = next((step.score for step in self.path if step.score), None)
        if score is not None:
            return self.path.scores, kind_words(score)
        return np.array([step.objective for step in self.path]), "training objective"

    def _is_greater_better(self) -> bool:
        return any(step.score is not None and step.score.greater_is_better for step in self.path)

    def _x_label(self, x: str) -> str:
        unit = f" ({self.path.cost_unit})" if self.path.cost_unit else ""
        return {
            "n_features": "number of features",
            "cost": f"cost{unit}",
            "penalty": self.path.penalty_name,
        }[x]

    def _draw_band(self, x: FloatArray, y: FloatArray, at: IntArray, colour: Any) -> Any:
        standard_errors = self.path.standard_errors[at]
        if not np.isfinite(standard_errors).any():
            return None
        low, high = y[at] - standard_errors, y[at] + standard_errors
        return self.ax_.fill_between(x[at], low, high, color=colour, alpha=0.18, lw=0, zorder=1)

    def _draw_cut(self, x: FloatArray, y: FloatArray, options: dict[str, Any] | None) -> Any:
        if self.selection is None:
            return None
        at = self.selection.index
        label = f"cut: {format_features(self.selection.n_features)}"
        ring = {"s": 160, "facecolors": "none", "edgecolors": "C1", "linewidths": 2, "zorder": 3}
        return self.ax_.scatter(x[[at]], y[[at]], **{**ring, "label": label, **(options or {})})


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError(
            "A plot needs matplotlib. Got no such package. "
            "Install it with 'pip install \"secateur[plot]\"'."
        ) from error
    return plt
