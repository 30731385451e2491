"""Finding: arms give evidence, fusion adds it up, ranking decides, packing fits a budget.

The store answers with ordinals and counts; texts are read for the hits alone.
"""
