"""Methods that misbehave, in a module that a process of its own can import."""

from __future__ import annotations

import os
import time
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator


class Odd(BaseEstimator):
    """Takes its time, prints, fails or dies; otherwise it keeps the first two columns."""

    def __init__(self, how="well", seconds=0.0):
        self.how = how
        self.seconds = seconds

    def fit(self, X, y):
        print("method says hello")  # noqa: T201 - what other libraries do
        time.sleep(self.seconds)
        if self.how == "raises":
            raise ValueError("these columns are not to my taste")
        if self.how == "dies":
            os._exit(7)
        if self.how == "interrupted":
            raise KeyboardInterrupt
        if self.how == "reaches out":
            X[:] = 0.0
        self.support_ = np.arange(X.shape[1]) < 2
        return self

    def get_support(self):
        return self.support_


class Spy(Odd):
    """Writes down which rows it saw, by the first column, which numbers them."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        Spy.seen.append(np.asarray(X)[:, 0].astype(int).tolist())
        return super().fit(X, y)
