"""The shortest way: fit, ask which features were chosen and why, keep their columns."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from secateur import AGBMClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

model = AGBMClassifier(random_state=0).fit(X_train, y_train)
print(model.selection_)  # how the subset was chosen, in a sentence
print(model.get_feature_names_out())  # the names of the chosen columns
print(model.score(X_test, y_test))  # the model that comes with them
small = model.transform(X_test)  # the chosen columns, for a model of your own
