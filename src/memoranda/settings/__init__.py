"""Where settings come from: files, the environment, and what is wrong in them.

Nothing here knows which settings there are; :mod:`memoranda.settings.settings` says that.
"""
