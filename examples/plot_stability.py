"""
Would I get the same columns again?
===================================

A selection is repeated on parts of the rows. Columns that come again and again may be given a
meaning; others could as well have been their neighbours. It is no proof: the parts share most of
their rows, and what fits these by chance comes again too.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from secateur import GraftingClassifier, stability
from secateur.datasets import make_wide

made = make_wide(n_rows=500, n_features=30, n_informative=4, n_redundant=4)
result = stability(GraftingClassifier(l1=0.04), made.X, made.y, n_resamples=30, random_state=0)
print(result)

# %%
# How often each column was chosen in thirty repeats.
order = np.argsort(-result.frequency, kind="stable")[:15]
names = [made.feature_names[j] for j in order]
colours = ["C2" if not name.startswith("noise") else "C7" for name in names]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh(names[::-1], result.frequency[order][::-1], color=colours[::-1])
ax.set_xlabel("share of the repeats in which it was chosen")
ax.set_xlim(0, 1)
plt.show()
