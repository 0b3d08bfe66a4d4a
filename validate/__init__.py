"""From a table of runs to statements: spread with its noise floor, regression on clocks, claims."""
