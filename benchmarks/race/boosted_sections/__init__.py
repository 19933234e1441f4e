"""The parts of the race of boosted trees, one file each."""
