"""The part of `docs/hardware.md` that a recorded log writes, with the pictures: what `scripts/hardware-page` runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from recorded import (
    FINDINGS,
    LOG,
    MODEL,
    ORDER,
    PRESUMED,
    ROOT,
    STANDINGS,
    Reason,
    Recorded,
    compared,
    loose_ends,
    problems,
    prune,
    reasons,
    recorded,
    to_json,
)

PAGE, PICTURES = ROOT / "docs" / "hardware.md", ROOT / "docs" / "hardware"
BEGIN, END = "<!-- scripts/hardware-page writes from here -->\n", "<!-- to here -->\n"
ALWAYS = 8
"""So many columns the table has in any case, the others where there is something to tell."""


def page(text: str, found: Recorded) -> str:
    """The page with what the log says between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "".join([before, BEGIN, *(f"{line}\n" for line in _told(found)), END, after])


def _told(found: Recorded) -> Iterator[str]:
    yield ""
    number, devices = f"{found.instances / 1e9:,.0f} billion instances", "; ".join(found.devices)
    yield f"{found.runs:,} runs of {len(found.tests):,} tests, {number}; {devices}."
    yield ""
    yield from _table(found)
    yield from (
        "",
        f"{len(found.standing('FORBIDDEN BUT SEEN'))} tests were `FORBIDDEN BUT SEEN`, each with what explains it:",
        "",
    )
    findings = json.loads(FINDINGS.read_text())
    yield from (f"* `{name}`: {findings[name]}" for name in found.standing("FORBIDDEN BUT SEEN") if name in findings)
    if unknown := found.standing("unknown"):
        told = (f"`{name}` ({found.tests[name].why})" for name in unknown)
        yield from ("", f"`unknown`: {'; '.join(told)}.")
    yield from ("", "### Allowed, not seen", "")
    yield (
        f"Of {len(found.unseen)} tests of the generic proxy alone, across CTAs, whose allowed outcome was not seen, "
        f"`tests/hardware/h200.cat` forbids {len(found.presumed)}. "
        f"{len(found.standing('allowed, not seen')) - len(found.unseen)} more are in one CTA or of another proxy: "
        "[above](#why-something-allowed-may-not-be-seen). The others of the generic proxy:"
    )
    rest = [name for name in found.unseen if name not in found.presumed]
    yield from _reasons(reasons("not seen"), rest)
    yield from ("", "### Not exercised", "")
    yield from _unexercised_table(found)
    yield ""


def _table(found: Recorded) -> Iterator[str]:
    words = [w for n, w in enumerate(ORDER) if n < ALWAYS or found.standing(w)]
    yield f"| tests | {' | '.join(f'`{word}`' for word in words)} |"
    yield f"| --- |{' ---: |' * len(words)}"
    for folder in sorted({test.folder for test in found.tests.values()}):
        cells = (found.counts[folder, word] or "" for word in words)
        yield f"| [{folder}](hardware/{folder}.svg) | {' | '.join(map(str, cells))} |"
    yield f"| all | {' | '.join(str(len(found.standing(word))) for word in words)} |"


def _reasons(known: list[Reason], names: Iterable[str]) -> Iterator[str]:
    """A table of reasons; of two that fit a test, the first."""
    left = list(names)
    yield from ("", "| tests | presumably because |", "| --- | --- |")
    for reason in [*known, Reason("No reason is known.", ("*",))]:
        fitting = [name for name in left if reason.fits(name)]
        left = [name for name in left if name not in fitting]
        if fitting:
            yield f"| {', '.join(f'`{name}`' for name in fitting)} | {reason.because} |"


def _unexercised_table(found: Recorded) -> Iterator[str]:
    names = found.standing("not exercised")
    certain = [name for name in names if found.tests[name].why == "certain"]
    merged = [name for name in names if found.tests[name].why == "merged"]
    yield (
        f"{len(names)} forbidden outcomes have no control that shows. {len(certain)} of them the model forbids in the "
        "control that ran, too: they follow from values, or from what the control had to keep. "
        f"{len(merged)} tests never ran as they are, because the assembler merged accesses. The others:"
    )
    yield from _reasons(reasons("not exercised"), [n for n in names if n not in certain and n not in merged])


def main(arguments: list[str]) -> None:
    """Compare a log, draw its pictures, and write `standings.json` and the page; reasons for what is seen by now go."""
    log = Path(arguments[0]) if arguments else LOG
    results = compared(log, MODEL, "--picture", PICTURES)
    found = recorded(log, results, compared(log, PRESUMED))
    prune(found)
    STANDINGS.write_text(to_json(found))
    PAGE.write_text(page(PAGE.read_text(), found))
    for word in ORDER:
        print(f"{len(found.standing(word)):5} {word}")
    for problem in problems(found):
        print(problem)
    for name in loose_ends(found, "not exercised"):
        print(f"{name}: not exercised, and no reason says why")


if __name__ == "__main__":
    main(sys.argv[1:])
