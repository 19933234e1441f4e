"""
A stream whose target changes
=============================

After block 15 other features explain the target, and the means of all columns have moved. With
`half_life` old rows fade from means, spreads and scale, and Feature Gradients finds the new
features. Without it old rows count for as much as new ones.
"""

# %%
# Blocks of 300 rows. Features 4 and 11 matter at first, 20 and 30 afterwards.
import matplotlib.pyplot as plt
import numpy as np

from secateur import FeatureGradientsSelector


def blocks():
    """The rows of each block, and their target."""
    rng = np.random.default_rng(0)
    for number in range(60):
        rows = rng.normal(size=(300, 40)) + (0.0 if number < 15 else 2.0)
        first, second = (4, 11) if number < 15 else (20, 30)
        yield rows, rows[:, first] - rows[:, second] + 0.5 * rng.normal(size=300)


# %%
# The state is updated with each block; `inclusion_` says how far each feature is in, from 0 to 1. A
# larger `learning_rate` follows changes faster.
histories = {}
for half_life in (None, 1000):
    flow = FeatureGradientsSelector(
        n_features=2, half_life=half_life, learning_rate=0.3, random_state=0
    )
    histories[half_life] = []
    for rows, target in blocks():
        flow.partial_fit(rows, target)
        histories[half_life].append(flow.inclusion_.copy())
    print(f"half_life={half_life}, at the end:", np.flatnonzero(flow.support_))

# %%
# Each row is a block; dark is selected. The line is where the target changes.
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for ax, (half_life, history) in zip(axes, histories.items(), strict=True):
    picture = ax.imshow(np.array(history), cmap="Blues", aspect="auto", vmin=0, vmax=1)
    ax.axhline(14.5, color="tab:red", linestyle="--")
    ax.set_title(f"half_life={half_life}")
    ax.set_xlabel("feature")
axes[0].set_ylabel("block of 300 rows")
figure.colorbar(picture, ax=axes, label="inclusion")
plt.show()
