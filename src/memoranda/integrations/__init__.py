"""Memory for agent frameworks: one file each, thin on the public interface of memoranda.

A file imports its framework, which the extra of the same name installs; nothing imports the file.
"""
