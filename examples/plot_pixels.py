"""
Patches instead of scattered pixels
===================================

A pixel next to one in use costs a fraction of its normal cost. The smaller that fraction, the more
the chosen pixels hang together. The task is to distinguish a handwritten 3 from an 8.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from secateur import FeatureCosts, GBFSClassifier

images, digits = load_digits(return_X_y=True)
rows = np.isin(digits, [3, 8])
X, y = images[rows], digits[rows]

# %%
# The same penalty three times; only the cost of neighbours differs.
figure, axes = plt.subplots(1, 4, figsize=(9, 2.8), layout="constrained")
axes[0].imshow(X[y == 8].mean(axis=0).reshape(8, 8), cmap="Greys")
axes[0].set_title("the mean 8")
for ax, discount in zip(axes[1:], [1.0, 0.3, 0.1], strict=True):
    costs = FeatureCosts(neighbours=(8, 8), discount=discount)
    model = GBFSClassifier(penalty=0.7, costs=costs, max_iter=40).fit(X, y)
    ax.imshow(model.support_.reshape(8, 8), cmap="Greens", vmax=1.4)
    ax.set_title(f"neighbours at {discount:g}")
    print(f"discount {discount:g}: {model.support_.sum()} pixels, cost {model.selection_.cost:.1f}")
for ax in axes:
    ax.set_axis_off()
plt.show()
