"""What is computed later from stored rows, in the background: vectors."""
