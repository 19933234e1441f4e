"""
Features that cost different amounts
====================================

The same table, chosen without and with costs: where two measurements say the same, the one that
costs less is taken.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from secateur import AGBMRegressor, FeatureCosts

rng = np.random.default_rng(0)
truth = rng.normal(size=(500, 4))
y = truth @ [2.0, 1.5, 1.0, 0.5]
precise = pd.DataFrame(truth, columns=["scan", "biopsy", "blood", "age"])
rough = pd.DataFrame(
    truth[:, :2] + 0.3 * rng.normal(size=(500, 2)), columns=["x-ray", "ultrasound"]
)
X = pd.concat([precise, rough], axis=1)
euros = {
    "scan": 400.0,
    "biopsy": 300.0,
    "blood": 20.0,
    "age": 0.0,
    "x-ray": 40.0,
    "ultrasound": 60.0,
}

# %%
# With costs, the rough and inexpensive measurements replace the precise ones at first.
paths = {
    "all cost the same": AGBMRegressor(random_state=0).fit(X, y).path_,
    "costs in euros": AGBMRegressor(costs=FeatureCosts(euros, unit="euros"), random_state=0)
    .fit(X, y)
    .path_,
}
for name, path in paths.items():
    print(name, [list(path.names_of(step)) for step in list(path)[1:3]])

# %%
# What each subset costs in euros, and its held-out error.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, path in paths.items():
    spent = [sum(euros[feature] for feature in path.names_of(step)) for step in path]
    ax.plot(spent, path.scores, "o", label=name)
ax.set_xlabel("euros for each patient")
ax.set_ylabel(f"held-out {path[1].score.metric}")
ax.legend()
plt.show()
