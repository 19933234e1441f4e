"""
Boosted trees that penalise new features
========================================

A-GBM charges the first use of a feature; later uses are free. With no arguments it searches the
penalty and keeps the fewest features that are about as good as the best. Of the 60 columns here six
matter, six are mixtures of these, and the rest is noise.
"""

# %%
# One call chooses the penalty, the rounds and the subset.
import matplotlib.pyplot as plt
import pandas as pd

from secateur import AGBMClassifier, SelectionPathDisplay
from secateur.datasets import make_wide

made = make_wide(n_rows=600, n_features=60, n_informative=6, n_redundant=6)
X, y = pd.DataFrame(made.X, columns=list(made.feature_names)), made.y
model = AGBMClassifier(random_state=0).fit(X, y)
print(model.selection_)
print(list(model.get_feature_names_out()))

# %%
# Each point of the curve is a subset, scored on rows that its fit did not see.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
SelectionPathDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# A closer or a coarser subset needs no other fit.
for size in (3, 6, 12):
    print(model.with_cut(size).selection_)
