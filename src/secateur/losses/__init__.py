"""Losses: value per row, negative gradient, hessian and best constant."""

from secateur.losses.base import LossBase, exact_mean
from secateur.losses.losses import LOSS_NAMES, get_loss

__all__ = ["LOSS_NAMES", "LossBase", "exact_mean", "get_loss"]
