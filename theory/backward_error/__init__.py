"""Backward error analysis: the flow, and where there is one the objective, that discrete steps follow."""
