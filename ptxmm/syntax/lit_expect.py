"""Stated verdicts: `expect forbidden, no race on x under ptx-9.4;` and the cells of `expect` columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ptxmm.errors import InputError, Span, near
from ptxmm.program import Condition, Expect, Quantifier, Word

PROGRESS = ("fair", "hsa", "obe", "hsa-obe", "lobe", "unfair")
WORDS = (
    "allowed", "forbidden", "holds", "fails", "race", "no race", "hang", "no hang", "undefined", "no undefined",
    "unsupported",
)  # fmt: skip
STARTS = frozenset(word.split()[0] for word in WORDS)
TOKEN = re.compile(r"[\w$+@*/.-]+|\[|\]|,|;|\S")
PAIRS = {"allowed": "forbidden", "holds": "fails", "race": "no race", "hang": "no hang", "undefined": "no undefined"}
OPPOSITE = PAIRS | {other: word for word, other in PAIRS.items()}

Fail = Callable[[str, int, int, str], InputError]


@dataclass(slots=True)
class Clauses:
    """Reads clauses from a piece of text; `fail` makes an error at an offset of it."""

    text: str
    fail: Fail
    object_of: Callable[[str], str | None]
    names: Callable[[], set[str]]
    tokens: list[tuple[str, int]] = field(default_factory=list)
    next: int = 0

    def read(self, place: Callable[[int, int], Span]) -> list[Expect]:
        """Every clause; clauses are separated by `;`."""
        self.tokens = [(m[0], m.start()) for m in TOKEN.finditer(self.text)]
        found = []
        while self.next < len(self.tokens):
            if self.accept(";"):
                continue
            start = self.tokens[self.next][1]
            words = self._words()
            models = self._models() if self.accept("under") else None
            if self.word and self.word != ";":
                raise self.error(f"unknown word `{self.word}` in `expect`", near(self.word, [*STARTS, "under", "on"]))
            last, at = self.tokens[self.next - 1]
            found.append(Expect(tuple(words), models, place(start, at + len(last))))
        return found

    @property
    def word(self) -> str:
        return self.tokens[self.next][0] if self.next < len(self.tokens) else ""

    def accept(self, word: str) -> bool:
        """Pass over a word if it is the next."""
        if self.word == word:
            self.next += 1
            return True
        return False

    def error(self, message: str, hint: str = "") -> InputError:
        """An error at the next word, or after the last."""
        if self.next < len(self.tokens):
            word, start = self.tokens[self.next]
            return self.fail(message, start, start + len(word), hint)
        return self.fail(message, len(self.text.rstrip()), len(self.text.rstrip()) + 1, hint)

    def _words(self) -> list[Word]:
        words: list[Word] = []
        while True:
            mark = self.next
            word = self._one()
            other = OPPOSITE.get(word.word)
            for before in words:
                if before.word in (word.word, other) and before.progress == word.progress:
                    self.next = mark
                    kind = "stands twice" if before.word == word.word else f"contradicts `{before}`"
                    raise self.error(f"`{word}` {kind}")
            words.append(word)
            if not self.accept(","):
                return words

    def _one(self) -> Word:
        text = self.word
        if text == "no":
            self.next += 1
            text = f"no {self.word}"
        if text not in WORDS:
            shown = f"unknown word `{text}` in `expect`" if self.word and text != "no " else "a verdict is missing"
            hint = near(text, WORDS) or f"the words are {', '.join(WORDS)}"
            raise self.error(shown, hint)
        self.next += 1
        progress = self._progress() if text in ("hang", "no hang") and self.accept("[") else None
        on = self._objects() if text == "race" and self.accept("on") else None
        return Word(text, on, progress)

    def _progress(self) -> str:
        name = self.word
        if name not in PROGRESS:
            raise self.error(f"unknown progress assumption `{name}`", near(name, PROGRESS) or ", ".join(PROGRESS))
        self.next += 1
        if not self.accept("]"):
            raise self.error("expected `]`")
        return name

    def _objects(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            name = self.word
            target = self.object_of(name)
            if target is None:
                hint = near(name, self.names()) or "name declared memory"
                raise self.error(f"unknown location `{name}`" if name else "a location is missing", hint)
            if target != name:
                raise self.error(f"`{name}` is a view of `{target}`", f"write `{target}`: races are on objects")
            self.next += 1
            found.append(name)
            following = self.tokens[self.next + 1][0] if self.next + 1 < len(self.tokens) else ""
            if self.word != "," or (following in STARTS and self.object_of(following) is None):
                return tuple(dict.fromkeys(found))
            self.next += 1

    def _models(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            if not re.fullmatch(r"[\w.+/-]+", self.word):
                raise self.error("a model is missing", "write `under ptx-7.5`")
            found.append(self.word)
            self.next += 1
            if not self.accept(","):
                return tuple(dict.fromkeys(found))


def contradiction(expect: Expect, said: set[str]) -> str:
    """The word whose opposite is among those already `said` of the same model, or nothing; adds the others."""
    for word in expect.words:
        progress = f"[{word.progress}]" if word.progress else ""
        if OPPOSITE.get(word.word, "") + progress in said:
            return str(word)
        said.add(word.word + progress)
    return ""


def suits(expect: Expect, condition: Condition | None) -> tuple[str, str] | None:
    """What is wrong with words about a condition that is not there, or is of the other kind, and a hint."""
    for word in expect.words:
        if word.word not in ("allowed", "forbidden", "holds", "fails"):
            continue
        if condition is None:
            return f"`{word.word}` needs a condition", "write `exists (…)` before it"
        forall = condition.quantifier is Quantifier.FORALL
        if forall != (word.word in ("holds", "fails")):
            better = "`holds` or `fails`" if forall else "`allowed` or `forbidden`"
            return f"`{word.word}` does not answer `{condition.quantifier.value}`", f"write {better}"
    return None
