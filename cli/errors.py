"""Failures as one sentence on standard error: status 2 for wrong input, 1 for work that failed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from pydantic import ValidationError

from ..theory.errors import InvalidInput, WorkFailed


@contextmanager
def report() -> Iterator[None]:
    """Turn the exceptions of the library into a sentence and an exit status."""
    try:
        yield
    except ValidationError as error:
        stop(sentence(error), 2)
    except InvalidInput as error:
        stop(str(error), 2)
    except WorkFailed as error:
        stop(str(error), 1)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        stop(f"the file system refused{where}: {error.strerror or error}.", 1)


def sentence(error: ValidationError) -> str:
    """The first finding of pydantic, with the value and what is allowed."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInput):
        return str(cause)
    place = ".".join(str(part) for part in first["loc"])
    allowed = first["msg"][0].lower() + first["msg"][1:]
    given = repr(first["input"])
    given = given if len(given) <= 60 else f"{given[:40]}… ({len(given)} characters)"
    return f"{place} = {given} is not allowed: {allowed}."


def stop(message: str, status: int) -> NoReturn:
    """Say it on standard error and end the process."""
    print(f"initmem-theory: {message}", file=sys.stderr)
    sys.exit(status)
