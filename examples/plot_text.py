"""
Words that decide
=================

Sparse text goes in as it is. Grafting follows the whole path of a sparse logistic regression, from
no word to many, and the words enter in the order in which they matter.
"""

# %%
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from secateur import GraftingClassifier

lists = {
    "sport": "match team goal season player coach league score win defeat",
    "cooking": "oven salt butter onion recipe pan sauce garlic bake taste",
}
topics = {name: re.findall(r"\w+", words) for name, words in lists.items()}
common = re.findall(r"\w+", "the a of and to in is that for it with was on as at by this from")
rng = np.random.default_rng(0)
labels = rng.choice(list(topics), 600)
both = [*topics["sport"], *topics["cooking"]]
texts = [
    " ".join([*rng.choice(common, 25), *rng.choice(topics[name], 1), *rng.choice(both, 1)])
    for name in labels
]
words = TfidfVectorizer()
X = words.fit_transform(texts)
model = GraftingClassifier().fit(X, labels)
print(X.shape, model.selection_)

# %%
# The order in which words enter.
names = words.get_feature_names_out()
first: dict[str, int] = {}
for place, step in enumerate(model.path_):
    for feature in step.support:
        first.setdefault(str(names[feature]), place)
entered = list(first.items())[:20]
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
colours = ["#999999" if word in common else "#0b5394" for word, _ in entered]
ax.barh(range(len(entered)), [place for _, place in entered], color=colours)
ax.set_yticks(range(len(entered)), [word for word, _ in entered])
ax.invert_yaxis()
ax.set_xlabel("step of the path at which the word enters (grey: common words)")
plt.show()
