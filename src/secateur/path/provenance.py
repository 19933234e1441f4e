"""Which versions of what made a path."""

from __future__ import annotations

import platform

import numpy as np

from secateur import __version__


def versions() -> dict[str, str]:
    """Return the versions of secateur, numpy and Python.

    Examples
    --------
    >>> sorted(versions())
    ['numpy', 'python', 'secateur']
    """
    return {
        "secateur": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
