"""Reads memory models in cat: the shipped ones by name, and users' own by path."""

from __future__ import annotations

from pathlib import Path

from ptxmm.cat.expand import Expander
from ptxmm.cat.parse import parse
from ptxmm.cat.source import EXPECT_ENDS_NOTHING, HANDS_ON, LARGEST, Source, blank_comments, declared_features, says
from ptxmm.cat.support import inferred_features
from ptxmm.cat.written import Claim, Define, Include
from ptxmm.errors import InputError, Span, near
from ptxmm.files import read_text
from ptxmm.model import Model
from ptxmm.resources import models_dir
from ptxmm.terms import NOWHERE

__all__ = ["DEFAULT_MODEL", "read_model", "shipped_models"]

DEFAULT_MODEL = "ptx-9.4"
_MOST_INCLUDES = 200


def shipped_models() -> tuple[str, ...]:
    """The names of the models that come with ptxmm.

    >>> DEFAULT_MODEL in shipped_models()
    True
    """
    return tuple(sorted(path.stem for path in models_dir().glob("*.cat")))


def read_model(name_or_path: str) -> Model:
    """The shipped model of that name, or the model in that `.cat` file.

    >>> [axiom.name for axiom in read_model("sc").axioms]
    ['sequential', 'coherence-total', 'atomicity']
    """
    path = _find(name_or_path)
    reading = _Reading()
    title = reading.read(path, ())
    supports = reading.declared if reading.declared is not None else inferred_features(reading.mentioned)
    name = path.name.removesuffix(".cat")
    source = reading.first.text if reading.first else ""
    statements = tuple(reading.expander.statements)
    return Model(name, title or name, statements, supports, str(path), source, reading.hands_on, reading.expect_ends)


class _Reading:
    """One model while its files are read."""

    def __init__(self) -> None:
        self.expander = Expander()
        self.declared: frozenset[str] | None = None
        self.hands_on = False
        self.expect_ends = True
        self.mentioned: set[str] = set()
        self.first: Source | None = None
        self._files = 0

    def read(self, path: Path, within: tuple[Path, ...]) -> str:
        """Take a file's statements, and return its title."""
        source = _text(path)
        self.first = self.first or source
        text, comments = blank_comments(source)
        declared = declared_features(source, comments)
        self.hands_on |= says(source, comments, HANDS_ON)
        self.expect_ends &= not says(source, comments, EXPECT_ENDS_NOTHING)
        if declared is not None:
            self.declared = declared | (self.declared or frozenset())
        title, statements = parse(source, text)
        for statement in statements:
            match statement:
                case Define():
                    self.mentioned.update(*(binding.body.names() for binding in statement.bindings))
                    self.expander.define(source, statement)
                case Claim():
                    self.mentioned |= statement.body.names()
                    self.expander.claim(source, statement)
                case Include():
                    self._include(source, path, statement, within)
        return title

    def _include(self, source: Source, path: Path, include: Include, within: tuple[Path, ...]) -> None:
        at = source.at(include.start, len(include.file) + 2)
        folders = (path.parent, *(outer.parent for outer in reversed(within)), models_dir())
        found = next((p for p in (folder / include.file for folder in folders) if _is_file(p)), None)
        if found is None:
            raise InputError(
                f"there is no file `{include.file}`",
                at,
                "it is looked for beside this file, beside those that include it, then among the shipped models",
            )
        chain = (*within, path.resolve())
        if found.resolve() in chain:
            raise InputError(f"`{include.file}` includes itself", at)
        self._files += 1
        if self._files > _MOST_INCLUDES:
            raise InputError(f"more than {_MOST_INCLUDES} files are included", at)
        self.read(found, chain)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _find(name_or_path: str) -> Path:
    if name_or_path in shipped_models():
        return models_dir() / f"{name_or_path}.cat"
    if name_or_path.endswith(".cat") or "/" in name_or_path or _is_file(Path(name_or_path)):
        return Path(name_or_path)
    hint = (
        near(name_or_path, shipped_models()) or f"there are {', '.join(shipped_models())}, and files that end in `.cat`"
    )
    raise InputError(f"no model is called `{name_or_path}`", NOWHERE, hint)


def _text(path: Path) -> Source:
    text = read_text(path, "model", otherwise="latin-1")
    if len(text) > LARGEST:
        raise InputError("the file is too large for a model", Span(str(path), 0, 0))
    return Source(str(path), text)
