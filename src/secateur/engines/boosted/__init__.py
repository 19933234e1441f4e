"""Boosted trees that pay for each new feature: GBFS and A-GBM."""
