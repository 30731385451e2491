"""The stages of learning: each reads what its plan needs, plans, and applies the plan."""
