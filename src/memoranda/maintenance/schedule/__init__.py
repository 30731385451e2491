"""Runs jobs at their times in the user's zone, each once, however many processes there are.

A store says which process has claimed a run and which runs are done; jobs are plain functions
that can be run twice without harm. What they do is not known here.
"""
