"""The mirror: memory once more in a Turso database, which outlives this machine and which several machines share.

``replica`` holds a copy of that database beside ours, and alone knows the library; ``worker`` is the process in
which it does so; ``process`` is how the rest of the program talks to that process.

Invariant: the copy is a cache. It may be deleted at any time, and is then made anew from the hosted database.
"""
