"""
A cutting rule of your own
==========================

A rule is a frozen dataclass with ``choose`` and ``sentence``. This one takes a price off the score
for each feature.
"""

# %%
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from secateur import GraftingClassifier, SelectionPathDisplay


@dataclass(frozen=True)
class WorthItsPrice:
    """The best score after a price for each feature is taken off."""

    price: float = 0.002

    def choose(self, path):
        """The index of the step."""
        return int(np.nanargmax(path.utilities - self.price * path.n_features))

    def sentence(self, path, index):
        """Why it was chosen."""
        return f"the best after {self.price} for each of {path.n_features[index]} features"


# %%
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = GraftingClassifier(cut=WorthItsPrice()).fit(X, y)
print(model.selection_)
for price in (0.0005, 0.01):
    print(model.with_cut(WorthItsPrice(price)).selection_)

# %%
SelectionPathDisplay.from_estimator(model)
plt.show()
