"""A TRex server as a tester: a program that speaks the measurer protocol (``docs/how-to/trex.md``).

It runs in a process of its own, under whichever Python the client in the lab's TRex installation needs. So it imports
the standard library and that client, nothing else, and keeps to what Python 3.8 understands.
"""
