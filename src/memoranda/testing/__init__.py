"""Fakes that users test their own agents with: a clock, an embedder and a language model."""
