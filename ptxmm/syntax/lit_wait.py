"""`wait_until`: a loop of loads until an expression holds, then what makes the wait acquire."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ptxmm.arith import Type
from ptxmm.errors import InputError, Span, near
from ptxmm.syntax.lit_reader import Reader, constant
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node, Step
from ptxmm.syntax.lit_values import TYPES, Value

NAME = "wait_until"
WIDEST = 64
LONGEST_NAP = (1 << 32) - 1
WORDS: dict[str, tuple[str, ...]] = {
    "scope": ("cta", "cluster", "gpu", "sys"),
    "space": ("global", "shared", "shared::cta", "shared::cluster"),
    "type": tuple(TYPES),
}
QUALIFIERS = tuple(word for words in WORDS.values() for word in words)
VALUES: dict[str, tuple[str, ...]] = {
    "poll": ("relaxed", "acquire", "volatile", "weak"),
    "close": ("acquire", "fence.acq_rel", "fence.acquire", "fence.sc", "none"),
    "seed": ("load", "dst"),
}
UNSCOPED = ("volatile", "weak")
WHOLE = "write `wait_until.gpu.u32 r0, [x], r0 == 1, close = acquire;`"


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait in parts: `statement` without its guard, one `poll`, its `test`, the `nap` after a poll that fails.

    `seeded` tests what the register holds before the first poll. `close` runs once, after the last.
    """

    statement: Step
    poll: Step
    test: Node
    nap: Step | None
    close: Step | None
    seeded: bool


class Option(NamedTuple):
    """`name = value` after the condition."""

    name: str
    value: Node


def is_wait(mnemonic: str) -> bool:
    """Whether a mnemonic is that of a wait.

    >>> is_wait("wait_until.gpu.u32"), is_wait("ld.relaxed.gpu.u32")
    (True, False)
    """
    return mnemonic.partition(".")[0] == NAME


def wait(source: Source, step: Step) -> Wait:
    """The parts of a wait, checked."""
    words = _words(source, step)
    into, address, test = _operands(source, step)
    chosen = {"poll": "relaxed", "close": "acquire", "seed": "load"}
    nap = None
    seen: set[str] = set()
    for option in _options(source, step.exprs[3:]):
        if option.name in seen:
            raise source.error(f"a second `{option.name}`", option.value.start, option.value.end)
        seen.add(option.name)
        if option.name == "backoff":
            nap = _nap(source, step, option.value)
        else:
            chosen[option.name] = _chosen(source, option)
    rest = [words[kind] for kind in ("space", "type") if kind in words]
    strength = [chosen["poll"]] if chosen["poll"] in UNSCOPED else [chosen["poll"], words["scope"]]
    close = None
    if chosen["close"] == "acquire":
        sink = Node("name", "_", (), into.start, into.end)
        close = _part(step, ".".join(("ld.acquire", words["scope"], *rest)), sink, address)
    elif chosen["close"] != "none":
        close = _part(step, f"{chosen['close']}.{words['scope']}")
    poll = _part(step, ".".join(("ld", *strength, *rest)), into, address)
    return Wait(step._replace(guard=None), poll, test, nap, close, chosen["seed"] == "dst")


def _part(step: Step, mnemonic: str, *operands: Node) -> Step:
    return step._replace(text=mnemonic, exprs=operands, guard=None, of=step.text)


def _words(source: Source, step: Step) -> dict[str, str]:
    """The qualifiers by what they say, each once and in the order scope, space, type."""
    found: dict[str, str] = {}
    start = step.start + len(NAME)
    for word in step.text.split(".")[1:]:
        at = (start + 1, start + 1 + len(word))
        start = at[1]
        kind = next((kind for kind, known in WORDS.items() if word in known), None)
        if kind is None:
            option = next(
                (f"write `{name} = {word}` after the condition" for name in VALUES if word in VALUES[name]), ""
            )
            known = [word for kinds in WORDS.values() for word in kinds]
            raise source.error(f"`{NAME}` takes no `.{word}`", *at, option or near(word, known))
        if kind in found:
            raise source.error(f"a second {kind}, `.{word}`", *at)
        found[kind] = word
        ordered = [found[kind] for kind in WORDS if kind in found]
        if list(found.values()) != ordered:
            raise source.error(f"`.{word}` is in the wrong place", *at, f"write `{'.'.join((NAME, *ordered))}`")
        if kind == "type":
            fits(source, TYPES[word], *at)
    if "scope" not in found:
        better = ".".join((NAME, "gpu", *found.values()))
        raise source.error(f"`{NAME}` needs a scope", step.start, step.start + len(step.text), f"write `{better}`")
    return found


def fits(source: Source, type_: Type, start: int, end: int) -> None:
    """Insist on a word that a wait can be for."""
    if type_.bits > WIDEST:
        message = f"a wait is for at most {WIDEST} bits, not {type_.bits}"
        raise source.error(message, start, end, "wait for one word of it, and load the whole afterwards")


def _operands(source: Source, step: Step) -> tuple[Node, Node, Node]:
    """The register, the address, and the condition, which must read the register."""
    if len(step.exprs) < 3 or _named(step.exprs[2]):
        message = f"`{NAME}` takes a register, an address and a condition"
        raise source.error(message, step.start, step.start + len(step.text), WHOLE)
    into, address, test = step.exprs[:3]
    if into.kind != "name" or into.text == "_":
        message = f"`{NAME}` needs a register here, which its condition tests"
        raise source.error(message, into.start, into.end, WHOLE)
    if test.text == "=" and test.kind == "binary":
        raise source.error("`=` assigns; it cannot stand in a condition", test.start, test.end, "use `==`")
    register = into.text.removeprefix("%")
    if register in _names(address):
        message = f"the address of a wait cannot be in `{register}`, which every poll overwrites"
        raise source.error(message, address.start, address.end, "use another register")
    if register not in _names(test):
        message = f"this condition never changes: it does not read `{register}`"
        raise source.error(message, test.start, test.end, f"say what the wait is for, as in `{register} == 1`")
    return into, address, test


def _names(node: Node) -> Iterator[str]:
    if node.kind == "name":
        yield node.text.removeprefix("%")
    for arg in node.args:
        yield from _names(arg)


def _named(node: Node) -> bool:
    """Whether an operand is an option."""
    assigned = node.kind == "binary" and node.text == "=" and node.args[0].kind == "name"
    return assigned and node.args[0].text in (*VALUES, "backoff")


def _options(source: Source, nodes: tuple[Node, ...]) -> Iterator[Option]:
    names = (*VALUES, "backoff")
    for node in nodes:
        if node.kind != "binary" or node.text != "=" or node.args[0].kind != "name":
            raise source.error(
                "after the condition stand options", node.start, node.end, "such as `poll = acquire, close = none`"
            )
        name, value = node.args
        if name.text not in names:
            hint = near(name.text, names) or f"there are {', '.join(f'`{n}`' for n in names)}"
            raise source.error(f"`{NAME}` has no option `{name.text}`", name.start, name.end, hint)
        yield Option(name.text, value)


def _chosen(source: Source, option: Option) -> str:
    known, node = VALUES[option.name], option.value
    if node.kind == "name" and node.text in known:
        return node.text
    hint = near(node.text, known) or f"there are {', '.join(f'`{value}`' for value in known)}"
    shown = f"`{node.text}`" if node.kind in ("name", "number") else "this"
    raise source.error(f"{shown} is no value of `{option.name}`", node.start, node.end, hint)


def _nap(source: Source, step: Step, node: Node) -> Step | None:
    """The sleep between two polls; none for 0."""
    sleep = constant(Reader(source, _no_register), node, "the backoff")
    if not 0 <= sleep <= LONGEST_NAP:
        raise source.error(f"cannot sleep {sleep} ns", node.start, node.end, "a number of nanoseconds of 32 bits")
    return _part(step, "nanosleep.u32", node) if sleep else None


def _no_register(reader: Reader, node: Node) -> Value:
    raise reader.source.error("the backoff is a number of nanoseconds", node.start, node.end, "write `backoff = 40`")


def retold(wrong: InputError, step: Step, at: Span, operands: list[Span]) -> InputError:
    """What is wrong with a part of a wait, in the words of the wait."""
    scope = next(word for word in step.of.split(".") if word in WORDS["scope"])
    pattern = r"`ld(\.(relaxed|acquire|volatile|weak))?(\.(cta|cluster|gpu|sys))?(?=[.`])"
    message, hint = (re.sub(pattern, f"`{NAME}.{scope}", text) for text in (wrong.message, wrong.hint))
    return InputError(message, wrong.at if wrong.at in operands else at, hint)
