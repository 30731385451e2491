"""How to choose the messages that stay in a view: one strategy a file, all pure functions.

Each takes a scene and a choice that holds what stays in any case, and takes into the choice
what else may stay: ``keep(scene, choice)``.
"""
