"""
A selector leaves Python: ONNX and SHAP
=======================================

The chosen model takes the selected columns alone. Here it is converted to ONNX, which other
programs run, and its trees are explained by SHAP. Needs
``pip install 'secateur[export]' onnxruntime shap``.
"""

# %%
# Select, and keep the selected columns.
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import shap
from sklearn.datasets import load_breast_cancer

from secateur import AGBMClassifier
from secateur.export import to_onnx, to_tree_dict

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selector = AGBMClassifier(penalty=0.02, max_iter=30, random_state=0).fit(X, y)
selected = selector.transform(X)
print(selector.selection_)

# %%
# The same probabilities, without Python's selector: 7 decimals or more.
session = onnxruntime.InferenceSession(to_onnx(selector).SerializeToString())
label, probabilities = session.run(None, {"X": selected.to_numpy()})
difference = np.abs(probabilities - selector.predict_proba(X)).max()
print("largest difference below 1e-6:", difference < 1e-6)

# %%
# How much each column moves the log odds, and in which direction.
explainer = shap.TreeExplainer(to_tree_dict(selector, selected))
values = explainer.shap_values(selected)
total = values.sum(axis=1) + explainer.expected_value
print("values add up:", np.allclose(total, selector.decision_function(X)))
plt.figure()
shap.summary_plot(values, selected, show=False)
plt.show()
