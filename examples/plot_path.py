"""
What the next minute brings
===========================

Measurements of tumour cells cost minutes of a pathologist's time; half of the columns are decoys.
One fit gives the whole path from few measurements to many. The mark is the subset that was chosen:
the fewest features that are as good as the best, within one standard error.
"""

# %%
# Fit once, with the costs of the features.
import matplotlib.pyplot as plt
import pandas as pd

from secateur import FeatureCosts, GraftingClassifier, SelectionPathDisplay, WithinBudget
from secateur.datasets import load_demo

demo = load_demo()
X = pd.DataFrame(demo.X, columns=list(demo.feature_names))
minutes = FeatureCosts(dict(zip(demo.feature_names, demo.costs, strict=True)), unit="minutes")
model = GraftingClassifier(costs=minutes, random_state=0).fit(X, demo.y)
print(model.selection_)

# %%
# The path against the number of features, and against what they cost.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
SelectionPathDisplay.from_estimator(model, ax=axes[0])
SelectionPathDisplay.from_estimator(model, x="cost", ax=axes[1])
axes[1].set_ylabel("")
plt.show()

# %%
# Twelve minutes and no more? Another cut needs no other fit.
quick = model.with_cut(WithinBudget(12))
print(quick.selection_)
print(list(quick.get_feature_names_out()))
