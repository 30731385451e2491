"""Records: how they come in, are corrected, confirmed and forgotten."""
