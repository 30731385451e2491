"""The store on Chroma alone, in a folder that one process has at a time (requirement S1.01).

One SQLite database in memory runs the statements of all stores. Each of its commits is a row of a
collection of Chroma's, the journal, from which the database is made again at the next opening. The
collection ``memories`` has the active records as other programs read them.
"""
