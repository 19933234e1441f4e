"""Selectors raced on one table: selection inside the folds, judged by the rows left out."""
