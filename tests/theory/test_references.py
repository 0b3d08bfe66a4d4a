"""The bibliography against the rules of its keys and a BibTeX reader that shares nothing with it."""

import re
from importlib.resources import files

import pytest

from initmem.theory.errors import InvalidInput
from initmem.theory.references import REFERENCES, bibtex, link, short

FILE = files("initmem.theory").joinpath("references.bib").read_text("utf-8")


def read_bibtex(text: str) -> dict[str, dict[str, str]]:
    """Key to fields, by counting braces character by character; any whitespace between the parts."""
    entries, at = {}, 0
    while head := re.compile(r"\s*@\w+\s*\{\s*([^\s,]+)\s*,").match(text, at):
        fields, at = {}, head.end()
        while name := re.compile(r"\s*(\w+)\s*=\s*\{").match(text, at):
            start = at = name.end()
            depth = 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            assert name[1] not in fields, f"{head[1]} has two fields {name[1]}"
            fields[name[1]] = text[start : at - 1]
            comma = re.compile(r"\s*,").match(text, at)
            at = comma.end() if comma else at
        end = re.compile(r"\s*\}").match(text, at)
        assert end, f"{head[1]} is not closed"
        assert head[1] not in entries, f"{head[1]} stands twice"
        entries[head[1]], at = fields, end.end()
    assert not text[at:].strip(), f"not BibTeX: {text[at : at + 60]!r}"
    return entries


FIELDS = read_bibtex(FILE)


def test_every_entry_of_the_file_is_found_and_returned_as_it_stands() -> None:
    assert list(REFERENCES) == list(FIELDS) == sorted(FIELDS)
    assert bibtex(REFERENCES) == FILE


def test_the_file_is_ascii_so_that_every_bibtex_reads_it() -> None:
    assert FILE.isascii()


@pytest.mark.parametrize("key", REFERENCES)
def test_entry_is_complete(key: str) -> None:
    fields = FIELDS[key]
    assert {"author", "title", "year"} <= fields.keys()
    assert {"doi", "eprint", "url", "publisher"} & fields.keys()
    assert all(value and value == value.strip() for value in fields.values())


@pytest.mark.parametrize("key", REFERENCES)
def test_braces_balance_and_mathematics_closes(key: str) -> None:
    entry = REFERENCES[key]
    depths = [entry[: i + 1].count("{") - entry[: i + 1].count("}") for i in range(len(entry))]
    assert min(depths) >= 0
    assert depths[-1] == 0
    assert all(value.count("$") % 2 == 0 for value in FIELDS[key].values())


@pytest.mark.parametrize("key", REFERENCES)
def test_key_is_surname_year_and_a_word_of_the_title(key: str) -> None:
    fields = FIELDS[key]
    surname = re.sub(r"[^A-Za-z]", "", fields["author"].split(",")[0])  # without accents
    beginning = surname.lower() + fields["year"]
    assert key.startswith(beginning)
    # Mini-Batch gives minibatch, Finite-Time gives finite.
    title = fields["title"].lower()
    words = re.findall(r"\w+", title) + re.findall(r"\w+", title.replace("-", ""))
    assert key.removeprefix(beginning) in words


@pytest.mark.parametrize("key", REFERENCES)
def test_authors_are_surname_comma_first_names(key: str) -> None:
    for author in FIELDS[key]["author"].split(" and "):
        assert re.fullmatch(r"[^,]+, [^,]+", author)


@pytest.mark.parametrize("key", REFERENCES)
def test_identifiers_have_their_form(key: str) -> None:
    fields = FIELDS[key]
    assert re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", "10.1000/1"))
    assert re.fullmatch(r"\d{4}\.\d{4,5}", fields.get("eprint", "0000.0000"))
    assert fields.get("archiveprefix") == ("arXiv" if "eprint" in fields else None)


def test_bibtex_keeps_the_order_and_gives_each_entry_once() -> None:
    text = bibtex(["xie2024implicit", "cortes2006finite", "xie2024implicit"])
    assert list(read_bibtex(text)) == ["xie2024implicit", "cortes2006finite"]
    assert read_bibtex(text).items() <= FIELDS.items()
    assert text.count("\n\n") == 1
    assert bibtex([]) == ""


@pytest.mark.parametrize(
    ("key", "citation"),
    [
        ("barrett2021implicit", "Barrett & Dherin 2021, Implicit Gradient Regularization, ICLR"),
        (
            "das2026forget",
            "Das et al. 2026, Do Deep Networks Forget Initialization? A Forgetting-Time View of "
            "Practical Inductive Bias, arXiv:2605.29152",
        ),
        (
            "cortes2006finite",
            "Cortés 2006, Finite-Time Convergent Gradient Flows with Applications to Network Consensus, "
            "Automatica",
        ),
        (
            "nesterov1983method",
            "Nesterov 1983, A Method of Solving a Convex Programming Problem with Convergence Rate O(1/k²), "
            "Doklady Akademii Nauk SSSR",
        ),
        ("higham2008functions", "Higham 2008, Functions of Matrices: Theory and Computation, SIAM"),
        (
            "jordan2024muon",
            "Jordan et al. 2024, Muon: An Optimizer for Hidden Layers in Neural Networks, Blog post",
        ),
    ],
)
def test_short_citation(key: str, citation: str) -> None:
    assert short(key) == citation


@pytest.mark.parametrize("key", REFERENCES)
def test_short_citation_is_one_line_of_plain_text(key: str) -> None:
    assert not set(short(key)) & set("\\{}$\n")


@pytest.mark.parametrize(
    ("key", "address"),
    [
        ("polyak1964methods", "https://doi.org/10.1016/0041-5553%2864%2990137-5"),
        ("calaque2011two", "https://doi.org/10.1016/j.aam.2009.08.003"),  # rather than arXiv
        ("barrett2021implicit", "https://arxiv.org/abs/2009.11162"),
        ("jordan2024muon", "https://kellerjordan.github.io/posts/muon/"),
        ("kirchgraber1986multistep", None),
    ],
)
def test_link(key: str, address: str | None) -> None:
    assert link(key) == address


@pytest.mark.parametrize("call", [lambda key: bibtex(["das2026forget", key]), short, link])
def test_unknown_key_is_named(call) -> None:
    with pytest.raises(InvalidInput, match="'das2025forget' is unknown"):
        call("das2025forget")
