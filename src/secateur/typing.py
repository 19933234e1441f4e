"""Types of arrays, and of functions that executors are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
CodeArray = npt.NDArray[np.uint8]
AnyArray = npt.NDArray[Any]

Result = TypeVar("Result")
Finish = Callable[[Any], Any]
