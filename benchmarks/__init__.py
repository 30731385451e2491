"""Measurements of retrieval quality and speed, as ratios against floors."""
