"""Conformance cases made from the specification, in the form of the published ones.

Frames and messages are put together byte by byte here, by nothing of what is tested.
"""
