"""What a test says its verdicts are, held against the answers."""

from __future__ import annotations

from dataclasses import replace

from ptxmm.program import Program, Word
from ptxmm.verdict import Answer, Result

OUTCOMES = frozenset({"allowed", "forbidden", "holds", "fails"})


def stated_words(program: Program, model: str, default: str) -> tuple[Word, ...]:
    """The verdicts that a test states for a model."""
    return tuple(word for expect in program.expects if model in (expect.models or (default,)) for word in expect.words)


def property_of(word: Word) -> str:
    """The property that a word is a verdict on; `unsupported` is one on all of them.

    >>> property_of(Word("no race")), property_of(Word("allowed")), property_of(Word("unsupported"))
    ('race', 'outcome', '')
    """
    if word.word == "unsupported":
        return ""
    return "outcome" if word.word in OUTCOMES else word.word.removeprefix("no ")


def asked_words(words: tuple[Word, ...], properties: frozenset[str]) -> tuple[Word, ...]:
    """The words on what was asked: on these properties, and `unsupported`."""
    return tuple(word for word in words if property_of(word) in {"", *properties})


def judged(result: Result, words: tuple[Word, ...]) -> Result:
    """The result with what was expected, whether it came out so, and a sentence for each difference."""
    surprises = tuple(s for s in (_surprise(result, word) for word in words) if s)
    return replace(
        result,
        expected=tuple(str(word) for word in words),
        ok=not surprises if words else None,
        surprises=surprises,
    )


def _surprise(result: Result, word: Word) -> str:
    """What differs from a stated verdict, or nothing."""
    if word.word == "unsupported":
        return "" if result.verdict == "unsupported" else f"expected unsupported, got {result.verdict}"
    if result.verdict in ("unsupported", "error"):
        return f"expected {word}, got {result.verdict}"
    if word.word in OUTCOMES:
        return "" if result.verdict == word.word else f"expected {word}, got {result.verdict}"
    negative = word.word.startswith("no ")
    answer = _answer(result, word)
    wanted = "no" if negative else "yes"
    if answer.verdict != wanted:
        got = {"yes": _positive(answer, word), "no": f"no {word.word.removeprefix('no ')}"}.get(
            answer.verdict, "unknown"
        )
        return f"expected {word}, got {got}"
    if word.on is not None and set(word.on) != set(answer.on):
        return f"expected {word}, got {_positive(answer, word)}"
    return ""


def _answer(result: Result, word: Word) -> Answer:
    """The answer that a word is about: of a hang, under the progress model it names, `fair` where it names none."""
    if property_of(word) == "hang":
        return {**dict(result.hangs), result.progress: result.hang}.get(word.progress or "fair", Answer("unknown"))
    answer: Answer = getattr(result, word.word.removeprefix("no "))
    return answer


def _positive(answer: Answer, word: Word) -> str:
    name = word.word.removeprefix("no ")
    return f"{name} on {', '.join(answer.on)}" if answer.on else name
