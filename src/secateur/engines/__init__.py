"""The selection algorithms: generators of steps, and the one loop that drives them."""
