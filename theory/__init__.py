"""Symbols and numbers: schedules, recipes and the clocks that they accumulate.

Nothing in this package imports torch, pandas, statsmodels or matplotlib, so that a clock can be read
in a fraction of a second.
"""
