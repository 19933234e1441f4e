"""`SelectionPathDisplay`: the curve of a path in matplotlib, as scikit-learn's displays are."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.exceptions import InputTypeError, ParameterError, import_optional
from secateur.path import Score, Selection, SelectionPath
from secateur.path.comparing import require_steps
from secateur.path.step import count_of
from secateur.report.figures import best_at_each
from secateur.report.sentences import kind_words
from secateur.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class SelectionPathDisplay:
    """Score against number of features, cost or penalty, with the cut marked.

    Use ``from_estimator`` or ``from_path`` to make one; ``plot`` draws it again.

    Parameters
    ----------
    path : SelectionPath
    selection : Selection or None, default=None
        The step that is marked; none by default.
    all_features : Score or None, default=None
        The score of all features: a dashed line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, points_ : matplotlib Line2D and PathCollection
        Through the best step at each place, and all steps.
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

    path: SelectionPath
    _: KW_ONLY
    selection: Selection | None = None
    all_features: Score | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> SelectionPathDisplay:
        """Draw the path of a fitted selector and mark what it chose; options as `from_path`."""
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
        """Draw, and return the display.

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
        """
        path = self.path
        require_steps(path)
        places, x_label = self._places(x)
        values, label = np.array([step.objective for step in path]), "training objective"
        score = next((step.score for step in path if step.score), None)
        if score is not None:
            values, label = path.scores, kind_words(score)
        if ax is None:
            plt = import_optional("matplotlib.pyplot", "A plot", "secateur[plot]")
            ax = plt.subplots()[1]
        self.ax_ = ax
        self.figure_ = ax.figure
        is_greater_better = score is not None and score.greater_is_better
        best = best_at_each(places, values, greater_is_better=is_greater_better)
        options = {"label": name or path.algorithm, "zorder": 2, **(line_kw or {})}
        self.line_: Any = ax.plot(places[best], values[best], **options)[0]
        colour = self.line_.get_color()
        self.points_ = ax.scatter(places, values, s=18, color=colour, zorder=2)
        self.band_ = self.cut_ = None
        errors = path.standard_errors[best]
        if np.isfinite(errors).any():
            low, high = values[best] - errors, values[best] + errors
            look = {"color": colour, "alpha": 0.18, "lw": 0, "zorder": 1}
            self.band_ = ax.fill_between(places[best], low, high, **look)
        if self.selection is not None:
            at, count = [self.selection.index], count_of(self.selection.n_features)
            ring: dict[str, Any] = {"s": 160, "facecolors": "none", "edgecolors": "C1"}
            ring |= {"linewidths": 2, "zorder": 3, "label": f"cut: {count}", **(cut_kw or {})}
            self.cut_ = ax.scatter(places[at], values[at], **ring)
        if self.all_features is not None:
            ax.axhline(self.all_features.mean, ls="--", lw=1, color="0.5", label="all features")
        ax.set(xlabel=x_label, ylabel=label)
        ax.legend()
        return self

    def _places(self, x: str) -> tuple[FloatArray, str]:
        path = self.path
        cost = f"cost ({path.cost_unit})" if path.cost_unit else "cost"
        known = {
            "n_features": (path.n_features.astype(np.float64), "number of features"),
            "cost": (path.costs, cost),
            "penalty": (np.array([step.penalty for step in path]), path.penalty_name),
        }
        if x not in known:
            raise ParameterError(f"'x' must be one of {(*known,)}. Got {x!r}. Use 'n_features'.")
        if not np.isfinite(known[x][0]).any():
            raise ParameterError(f"'x' must be known. Got no {x} in any step. Use 'n_features'.")
        return known[x]
