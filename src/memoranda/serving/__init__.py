"""A memory for a server: opened when first asked for, and told to models as records."""
