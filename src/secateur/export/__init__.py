"""Fitted models for other tools: ONNX, scikit-learn's linear models, trees for SHAP."""

from __future__ import annotations

from secateur.export.onnx_model import register_onnx_converters, to_onnx
from secateur.export.plain_models import to_sklearn, to_tree_dict

__all__ = ["register_onnx_converters", "to_onnx", "to_sklearn", "to_tree_dict"]
