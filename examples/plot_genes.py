"""
Many genes, few patients
========================

With 90 rows and 1,000 columns any method finds columns that fit by chance. Repeated selections show
what comes again, and nested cross-validation what the score is worth.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from secateur import GraftingClassifier, held_out, stability

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 1000))
y = (X[:, 3] + X[:, 14] + X[:, 15] + 0.3 * rng.normal(size=90) > 0).astype(int)
result = stability(GraftingClassifier(), X, y, n_resamples=20, random_state=0)
print(result)

# %%
# How often each gene is selected from half of the patients. The three that matter are blue.
order = np.argsort(-result.frequency)[:15]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
colours = ["#0b5394" if gene in {3, 14, 15} else "#999999" for gene in order]
ax.bar(range(len(order)), result.frequency[order], color=colours)
ax.set_xticks(range(len(order)), [f"g{gene}" for gene in order], rotation=45)
ax.set_ylabel("share of subsamples")
plt.show()

# %%
# The accuracy on patients that took no part in the selection, and the same for shuffled labels.
for name, target in (("labels", y), ("shuffled labels", rng.permutation(y))):
    held = held_out(GraftingClassifier(), X, target, scoring="accuracy", cv=5, random_state=0)
    best = max(step.score.mean for step in held.path if step.score is not None)
    print(f"{name}: {best:.2f}")
