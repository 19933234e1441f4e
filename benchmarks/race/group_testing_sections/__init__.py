"""The parts of the race of group testing."""
