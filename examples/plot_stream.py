"""
A stream of blocks
==================

`partial_fit` of Feature Gradients takes one block of rows after another; memory goes with the
number of columns. The subset of the moment is there after each block.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from secateur import FeatureGradientsSelector

rng = np.random.default_rng(0)
flow = FeatureGradientsSelector(penalty=1.0, random_state=0)
history = []
for _ in range(15):
    rows = rng.normal(size=(200, 40))
    target = rows[:, 4] + 0.7 * rows[:, 11] - 0.7 * rows[:, 30] + rng.normal(size=200)
    flow.partial_fit(rows, target)
    history.append(flow.support_.copy())
print(np.flatnonzero(flow.support_))

# %%
# Selected features (dark) after each block.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.imshow(np.array(history), cmap="Blues", aspect="auto", vmax=1.4)
ax.set_xlabel("feature")
ax.set_ylabel("block of 200 rows")
plt.show()
