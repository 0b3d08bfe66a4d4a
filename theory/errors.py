"""The two ways in which a call can fail: what was given is wrong, or the work could not be done."""


class InvalidInput(ValueError):
    """What was given cannot be used; the command line exits with status 2.

    The message is one sentence: what was given, what is allowed, what to do.
    """


class WorkFailed(RuntimeError):
    """The input was right but the work could not be finished; the command line exits with status 1.

    Whatever was finished before stays on disk.
    """
