"""Classes with the calls of other memories, on a memory of ours: one file for each."""
