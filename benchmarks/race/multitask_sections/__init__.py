"""The parts of the race of multitask selection."""
