"""Language models: one port over all providers, answers read tolerantly, use and cost counted."""
