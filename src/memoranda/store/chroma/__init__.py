"""The store on Chroma alone (requirement S1.01): embedded in a folder, or on a Chroma server.

Chroma keeps rows and finds them by id and by filter, each call atomic by itself and no two
together. What it has not is made here: a journal of commits makes a plan of actions one
transaction, and each process holds the rows of the users that it serves in memory, where they are
joined, counted and searched by their words.
"""
