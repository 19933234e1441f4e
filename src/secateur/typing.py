"""Array aliases and the protocols that parts of secateur ask of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
CodeArray = npt.NDArray[np.uint8]
AnyArray = npt.NDArray[Any]

Result = TypeVar("Result")
Finish = Callable[[Any], Any]


class Loss(Protocol):
    """What an engine needs to know of a loss: facts as attributes, rows as arrays.

    Raw predictions, gradients and hessians have the shape (n_outputs, n_rows). ``gradient`` is the
    *negative* gradient of the loss, the direction in which the prediction should move.
    """

    name: str
    score_factor: float
    n_outputs: int
    constant_hessian: bool
    leaf_quantile: float | None

    @property
    def metric(self) -> str: ...

    def baseline(self, target: FloatArray, weight: FloatArray) -> FloatArray: ...

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None: ...

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray: ...

    def scores(self, target: FloatArray, raw: FloatArray) -> FloatArray: ...

    def response(self, raw: FloatArray) -> FloatArray: ...


class Executor(Protocol):
    """Runs functions over blocks of rows; the only way an engine touches rows.

    ``sum`` adds the results of a function over the blocks, ``each`` lists them, ``apply`` has no
    result. With ``finish`` every process applies that to its own sum first. ``checkpoint`` says how
    a block that was lost is brought to the state of the others now. ``one_pass`` is whether calls
    are expensive, so that a caller asks for much at once.
    """

    one_pass: bool

    def sum(
        self, function: Callable[..., Any], *small: Any, finish: Finish | None = None
    ) -> Any: ...

    def each(self, function: Callable[..., Result], *small: Any) -> list[Result]: ...

    def walk(self, function: Callable[..., Result], *small: Any) -> Iterator[Result]: ...

    def apply(self, function: Callable[..., None], *small: Any) -> None: ...

    def checkpoint(self, function: Callable[..., None], *small: Any) -> None: ...

    def close(self) -> None: ...


class TaskExecutor(Protocol):
    """Runs tasks that need nothing of each other but something that they share.

    ``pack`` gives what `pickle.loads` reads elsewhere, also of classes of a script or a notebook.
    """

    @property
    def n_slots(self) -> int:
        """How many are done at a time."""
        ...

    def pack(self, value: Any) -> bytes: ...

    def share(self, value: Any, name: str) -> Any: ...

    def map(
        self,
        function: Callable[..., Result],
        tasks: Iterable[Any],
        shared: Any = None,
        name: str = "task",
    ) -> list[Result]: ...
