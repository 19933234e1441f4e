"""
A report for colleagues
=======================

One call repeats the selection inside folds and writes one HTML file: the answer in a sentence, the
curve, the features, and correlated features that could replace them.
"""

# %%
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import secateur

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
held = secateur.held_out(secateur.GraftingClassifier(), X, y, cv=3, random_state=0)
page = Path(mkdtemp()) / "tumours.html"
secateur.report(held, X, y, page)
print(f"{page.name}: {page.stat().st_size / 1024:.0f} KiB")

# %%
# The curve of the page: each point was scored on rows that took no part in its selection.
secateur.SelectionPathDisplay.from_path(held.path)
plt.show()
