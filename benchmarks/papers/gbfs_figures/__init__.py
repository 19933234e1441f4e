"""The figures of GBFS."""
