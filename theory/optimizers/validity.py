"""How far an expansion in the learning rate may be trusted at a point."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Validity:
    """A number that must stay below a limit for the truncated series to mean something.

    Attributes
    ----------
    parameter : str
        What is measured, as a formula.
    limit : float or None
        None where the constants have no values.
    value : float or None
        None where the point or a constant has no value.
    beyond : str
        What happens beyond the limit.

    Examples
    --------
    >>> Validity("lr*lambda_max(H)", limit=1.0, value=0.2, beyond="it oscillates").within
    True
    """

    parameter: str
    limit: float | None = None
    value: float | None = None
    beyond: str = ""

    @property
    def within(self) -> bool | None:
        """Whether the number is below its limit; None if it is not known."""
        return None if self.value is None or self.limit is None else self.value < self.limit

    @property
    def warning(self) -> str | None:
        """A sentence with the number that failed, or None."""
        if self.within is not False:
            return None
        return f"{self.parameter} = {self.value:.4g} is not below {self.limit:.4g}: {self.beyond}."

    def to_dict(self) -> dict[str, object]:
        """A dictionary of JSON types."""
        return {
            "parameter": self.parameter,
            "value": self.value if self.value is None or math.isfinite(self.value) else None,
            "limit": self.limit,
            "within": self.within,
        }
