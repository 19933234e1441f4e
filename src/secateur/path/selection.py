"""`Selection`: one step chosen from a path, by which rule, told in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.exceptions import ParameterError
from secateur.path.step import Score
from secateur.path.values import Refrozen, frozen_integers
from secateur.typing import BoolArray, IntArray

if TYPE_CHECKING:
    from rich.console import RenderableType

    from secateur.path.cutting import CuttingRule


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
        What the chosen features cost; NaN if nobody asked.
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
        object.__setattr__(self, "support", frozen_integers("support", self.support))
        object.__setattr__(self, "names", tuple(self.names))
        if len(self.names) != self.support.size:
            raise ParameterError(
                "'names' must have one name for each feature of 'support'. "
                f"Got {len(self.names)} names for {self.support.size} features. "
                "Use SelectionPath.cut, which keeps them together."
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
        from secateur.path.rendering import selection_to_rich

        return selection_to_rich(self)

    def _repr_html_(self) -> str:
        from secateur.path.rendering import selection_to_html

        return selection_to_html(self)
