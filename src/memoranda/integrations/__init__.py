"""Memory for other programs: one file for each framework, thin on the public interface.

The file of a framework imports it, which the extra of the same name installs; nothing imports the
file. For coding agents, ``clients`` writes into their settings, and ``hooks`` answers them.
"""
