"""The digest of a week, made without a model: nothing in it that is not in a record."""
