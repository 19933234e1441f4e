"""
Several tasks that share features
=================================

Five regions have a target each. Two features matter everywhere, and each region has one of its own.
One penalty is for features that are new to all tasks, another for those that are new to one task.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from secateur import AGBMRegressor, MultitaskAGBMRegressor

rng = np.random.default_rng(0)
n_tasks, n_features = 5, 20
task = np.repeat(np.arange(n_tasks), 120)
X = rng.normal(size=(len(task), n_features))
y = 1.5 * X[:, 0] + X[:, 1] + X[np.arange(len(task)), 2 + task] + 0.3 * rng.normal(size=len(task))
together = MultitaskAGBMRegressor(group_penalty=0.05, task_penalty=0.1, max_iter=60)
together.fit(X, y, task=task)

# %%
# Tasks alone have few rows each, and take noise or miss features.
alone = np.array([
    AGBMRegressor(penalty=0.1, max_iter=60).fit(X[task == t], y[task == t]).support_
    for t in range(n_tasks)
])  # fmt: skip
figure, axes = plt.subplots(2, 1, figsize=(7, 4.5), sharex=True, layout="constrained")
for ax, support, title in (
    (axes[0], together.task_support_, "together"),
    (axes[1], alone, "each task alone"),
):
    ax.imshow(support, cmap="Blues", aspect="auto", vmin=0, vmax=1.4)
    ax.set_title(title)
    ax.set_ylabel("task")
axes[1].set_xlabel("feature: 0 and 1 are common, 2 to 6 belong to one task each")
plt.show()
print("together:", together.task_support_.sum(axis=1), "alone:", alone.sum(axis=1))
