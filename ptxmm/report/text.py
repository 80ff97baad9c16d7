"""Results for people: one line a test, what differs below it, a summary last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from ptxmm.errors import printable
from ptxmm.expect import OUTCOMES
from ptxmm.verdict import Answer, Result


class Standing(Enum):
    """How a result stands to what the test expects: the mark, the ASCII mark, the colour, the word of the summary."""

    EXPECTED = ("✓", "+", "32", "as expected")
    SURPRISE = ("✗", "x", "31;1", "not as expected")
    UNKNOWN = ("?", "?", "33", "unknown")
    ERROR = ("!", "!", "31;1", "not readable")
    UNSUPPORTED = ("–", "-", "2", "unsupported")
    UNSTATED = ("·", ".", "36", "nothing expected")


EXIT_CODES = {Standing.ERROR: 2, Standing.SURPRISE: 1, Standing.UNKNOWN: 3}


def standing(result: Result) -> Standing:
    """How a result stands to what its test expects.

    >>> standing(Result("mp.lit", "mp", None, "sc", verdict="forbidden", expected=("forbidden",), ok=True)).name
    'EXPECTED'
    """
    if result.verdict == "error":
        return Standing.ERROR
    if result.ok:
        return Standing.EXPECTED
    if result.ok is False:
        return Standing.SURPRISE if any(_contradicted(w, result) for w in result.expected) else Standing.UNKNOWN
    if "unknown" in (result.verdict, *(answer.verdict for answer in answers(result).values())):
        return Standing.UNKNOWN
    return Standing.UNSUPPORTED if result.verdict == "unsupported" else Standing.UNSTATED


def _contradicted(word: str, result: Result) -> bool:
    """Whether a stated word is wrong, and not merely unknown."""
    noun, _, on = word.removeprefix("no ").partition(" on ")
    if noun in OUTCOMES or word == "unsupported":
        return result.verdict not in ("unknown", word)
    answer = answers(result).get(noun.replace("[fair]", ""), Answer("unknown"))
    if answer.verdict != ("no" if word.startswith("no ") else "yes"):
        return answer.verdict != "unknown"
    named, seen = set(on.split(", ")), set(answer.on)
    return bool(on) and named != seen and not (answer.why and seen < named)


def exit_code(standings: Iterable[Standing]) -> int:
    """0 as expected, 1 a surprise, 2 something could not be read, 3 only unknown.

    >>> exit_code([Standing.EXPECTED, Standing.UNKNOWN]), exit_code([Standing.UNKNOWN, Standing.SURPRISE])
    (3, 1)
    """
    seen = set(standings)
    return next((code for kind, code in EXIT_CODES.items() if kind in seen), 0)


def stops(kind: Standing) -> bool:
    """Whether `-x` stops here."""
    return kind in (Standing.SURPRISE, Standing.ERROR)


@dataclass(slots=True)
class TextReport:
    """Writes results as they come; `colour` and `unicode` say what the terminal can show."""

    write: Callable[[str], None]
    colour: bool = False
    unicode: bool = True
    seen: Counter[Standing] = field(default_factory=Counter)
    tests: set[tuple[str, str]] = field(default_factory=set)

    def add(self, result: Result) -> Standing:
        """One result: its line, and what the reader should know about it."""
        kind = standing(result)
        self.seen[kind] += 1
        self.tests.add((result.path, result.name))
        self.write(self._line(result, kind))
        for sentence in remarks(result):
            self.write(f"    {printable(sentence)}")
        return kind

    def end(self, seconds: float) -> None:
        """The summary."""
        counts = ", ".join(f"{self.seen[kind]} {kind.value[3]}" for kind in Standing if self.seen[kind])
        verdicts, tests = self.seen.total(), len(self.tests)
        self.write(
            f"{_counted(tests, 'test')}, {_counted(verdicts, 'verdict')}: {counts or 'nothing to do'}; {seconds:.2f} s"
        )

    def _line(self, result: Result, kind: Standing) -> str:
        mark, plain, colour, _ = kind.value
        shown = mark if self.unicode else plain
        if self.colour:
            shown = f"\x1b[{colour}m{shown}\x1b[0m"
        name, model, verdict = (printable(s) for s in (result.name, result.model, verdict_words(result)))
        return f"{shown} {name:<28} {model:<8} {verdict:<32} {duration(result.seconds):>7}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(0.0042), duration(3.14159)
    ('4 ms', '3.1 s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def answers(result: Result) -> dict[str, Answer]:
    """What was asked beside the condition, by the noun that a test would state."""
    hangs = ((result.progress, result.hang), *result.hangs)
    named = {"hang" if progress == "fair" else f"hang[{progress}]": answer for progress, answer in hangs}
    return {"race": result.race, **named, "undefined": result.undefined}


def verdict_words(result: Result) -> str:
    """The words of an answer, as a test would state them.

    >>> verdict_words(Result("", "mp", None, "sc", verdict="allowed", race=Answer("yes", ("x", "y"))))
    'allowed, race on x, y'
    >>> verdict_words(Result("", "spin", None, "sc", hang=Answer("no"), hangs=(("obe", Answer("yes")),)))
    'no hang, hang[obe]'
    """
    words = [word for noun, answer in answers(result).items() if (word := _word(noun, answer))]
    if result.verdict not in ("no condition", "not asked") or not words:
        words.insert(0, result.verdict)
    return ", ".join(words)


def _word(noun: str, answer: Answer) -> str:
    match answer.verdict:
        case "yes":
            return noun + (f" on {', '.join(answer.on)}" if answer.on else "")
        case "no":
            return f"no {noun}"
        case "unknown":
            return f"{noun} unknown"
    return ""


def remarks(result: Result) -> list[str]:
    """What the line of a result leaves open: what differs, why it is unknown or unsupported, and notes."""
    if result.verdict == "error":
        return []
    if result.ok:
        return list(result.notes)
    reasons = [] if not result.why else [f"{result.verdict}: {result.why}"]
    for noun, answer in answers(result).items():
        if answer.verdict == "unknown" and answer.why and answer.why != result.why:
            reasons.append(f"{noun} unknown: {answer.why}")
    return [*result.surprises, *reasons, *result.notes]
