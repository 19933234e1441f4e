"""Forward selection by re-weighting: FeatBoost, and Iterative Input Selection."""
