"""The works that the formulas of this package come from, as BibTeX.

``references.bib`` is the only copy of a title, a year or an identifier; citations and links are made
from it. Its layout is narrower than BibTeX allows: entries stand in the order of their keys with a
blank line between two, a field has one line, its value stands in braces, and an author is written
"surname, first names". An abbreviation in parentheses at the end of a venue is its short name.
"""

import re
from collections.abc import Iterable
from importlib.resources import files
from urllib.parse import quote

from .errors import InvalidInput

ENTRY = re.compile(r"@\w+\{(\w+),\n(?:  \w+ = \{.*\},\n)+\}")
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)

# The TeX that occurs in names and titles, as it is printed; the rest of it, {}$, only groups.
PRINTED = {r"{\'e}": "é", r"\ell_\infty": "ℓ∞", "^2": "²"}

# Where a work appeared: the first of these fields that it has.
VENUES = ("journal", "booktitle", "publisher", "howpublished")

#: Every BibTeX entry under its key: first author's surname, year, one word of the title.
REFERENCES: dict[str, str] = {
    found[1]: found[0]
    for found in ENTRY.finditer(files("initmem.theory").joinpath("references.bib").read_text("utf-8"))
}


def bibtex(keys: Iterable[str]) -> str:
    """Entries of a bibliography in the order given, each once.

    Parameters
    ----------
    keys : iterable of str
        Keys of ``REFERENCES``; a key may come again.

    Returns
    -------
    str
        BibTeX with a blank line between two entries; empty without keys.

    Raises
    ------
    InvalidInput
        If a key is unknown.

    Examples
    --------
    >>> print(bibtex(["beneventano2023trajectories"]), end="")
    @misc{beneventano2023trajectories,
      author = {Beneventano, Pierfrancesco},
      title = {On the Trajectories of {SGD} Without Replacement},
      year = {2023},
      eprint = {2312.16143},
      archiveprefix = {arXiv},
    }
    """
    return "\n".join(f"{entry(key)}\n" for key in dict.fromkeys(keys))


def short(key: str) -> str:
    """A citation of one line: authors, year, title, venue.

    Three authors or more are "et al."; a work that has appeared nowhere else is cited by its arXiv
    number.

    Parameters
    ----------
    key : str
        A key of ``REFERENCES``.

    Returns
    -------
    str
        Plain text without TeX.

    Raises
    ------
    InvalidInput
        If the key is unknown.

    Examples
    --------
    >>> short("barrett2021implicit")
    'Barrett & Dherin 2021, Implicit Gradient Regularization, ICLR'
    >>> short("beneventano2023trajectories")
    'Beneventano 2023, On the Trajectories of SGD Without Replacement, arXiv:2312.16143'
    """
    fields = {name: printed(value) for name, value in FIELD.findall(entry(key))}
    surnames = [author.partition(",")[0] for author in fields["author"].split(" and ")]
    authors = " & ".join(surnames) if len(surnames) < 3 else f"{surnames[0]} et al."
    venue = next((fields[name] for name in VENUES if name in fields), None)
    if venue is None:
        venue = f"arXiv:{fields['eprint']}"
    elif abbreviation := re.search(r"\((\w+)\)$", venue):
        venue = abbreviation[1]
    return f"{authors} {fields['year']}, {fields['title']}, {venue}"


def link(key: str) -> str | None:
    """Where a work can be read: its DOI, or else arXiv, or else the address it gives.

    Parameters
    ----------
    key : str
        A key of ``REFERENCES``.

    Returns
    -------
    str or None
        Parentheses in a DOI are escaped, for Markdown would take them for its own. None if the
        entry has no address.

    Raises
    ------
    InvalidInput
        If the key is unknown.

    Examples
    --------
    >>> link("das2026forget")
    'https://arxiv.org/abs/2605.29152'
    >>> link("polyak1964methods")
    'https://doi.org/10.1016/0041-5553%2864%2990137-5'
    """
    fields = dict(FIELD.findall(entry(key)))
    if "doi" in fields:
        return f"https://doi.org/{quote(fields['doi'])}"
    if "eprint" in fields:
        return f"https://arxiv.org/abs/{fields['eprint']}"
    return fields.get("url")


def entry(key: str) -> str:
    """The BibTeX entry of a known key.

    Examples
    --------
    >>> entry("das2026forget").splitlines()[0]
    '@misc{das2026forget,'
    """
    if key not in REFERENCES:
        raise InvalidInput(
            f"reference {key!r} is unknown: choose one of the {len(REFERENCES)} keys of "
            f"initmem.theory.references.REFERENCES."
        )
    return REFERENCES[key]


def printed(tex: str) -> str:
    r"""The value of a field as plain text.

    Examples
    --------
    >>> printed(r"{AdamW} and the $\ell_\infty$ norm")
    'AdamW and the ℓ∞ norm'
    """
    for code, glyph in PRINTED.items():
        tex = tex.replace(code, glyph)
    return re.sub(r"[{}$]", "", tex)
