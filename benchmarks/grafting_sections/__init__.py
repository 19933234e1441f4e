"""The sections of the benchmark of grafting."""
