"""What goes in: tables, targets, weights and costs, checked once and held without copying."""
