"""The sections of the race of grafting."""
