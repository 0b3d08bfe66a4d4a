"""Figures of a study, one module a figure, drawn from the same objects that the tables print."""
