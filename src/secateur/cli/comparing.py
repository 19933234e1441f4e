"""``secateur compare``: the honest race of methods on one file."""

from __future__ import annotations

from secateur.cli import options
from secateur.cli.ending import ends_well


@ends_well
def compare(data: options.Data, target: options.Target = None) -> None:
    """Race methods on DATA: selection inside the folds, scores by several models."""
    raise NotImplementedError(data, target)
