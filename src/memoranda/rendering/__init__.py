"""Result types as text and tables."""
