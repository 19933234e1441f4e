"""
Groups of features that are paid for once
=========================================

A sensor has five channels, and the price is that of the sensor. The first channel that a model
uses is charged, the others of the same sensor are free. The map shows which channels each subset of
the path uses.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from secateur import AGBMRegressor

rng = np.random.default_rng(0)
sensors = np.repeat([f"sensor {s}" for s in range(8)], 5)
X = pd.DataFrame(
    rng.normal(size=(500, 40)), columns=[f"{s}.{i % 5}" for i, s in enumerate(sensors)]
)
y = X["sensor 1.0"] + X["sensor 1.3"] + X["sensor 4.2"] + 0.3 * rng.normal(size=500)
model = AGBMRegressor(feature_groups=list(sensors), random_state=0).fit(X, y)
print(model.selection_)
print(list(model.get_feature_names_out()), "for", model.selection_.cost, "sensors")

# %%
# Rows are channels, coloured by sensor; columns are the subsets of the path.
used = np.zeros((40, len(model.path_)))
for place, step in enumerate(model.path_):
    used[step.support, place] = 1 + np.unique(sensors, return_inverse=True)[1][step.support]
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ax.imshow(np.where(used > 0, used, np.nan), aspect="auto", cmap="tab10", interpolation="none")
ax.set_yticks(range(2, 40, 5), [f"sensor {s}" for s in range(8)])
ax.set_xticks(range(len(model.path_)), model.path_.n_features)
ax.set_xlabel("number of channels in use")
plt.show()
