"""Makes every store and process of an installation.

Invariant: the only place that says what rests on what.
"""
