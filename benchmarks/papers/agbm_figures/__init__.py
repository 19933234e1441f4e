"""The figures of A-GBM, GT-GBM and multitask A-GBM."""
