"""The web explorer: a memory on pages that a person reads, searches and mends.

All pages are made on the server, from the result types that every door uses, and each has a twin
in JSON. Nothing on a page asks another machine for anything.
"""
