"""The instructions that the machine knows: a row for each opcode writes the Python that does what PTX says."""

from __future__ import annotations

from machine.arithmetic import ROWS as COMPUTED
from machine.arithmetic import atomic, kind_of
from machine.memory import MASKS
from machine.rows_async import ASYNCHRONOUS
from machine.text import Instruction, Unknown, split_operands
from machine.translate import Row, Writer

SPACES = ("global", "shared", "shared::cta", "shared::cluster", "param", "const")


def place(words: tuple[str, ...], address: str) -> str:
    """Where an access is in memory, by the state space that it names."""
    space = next((word for word in words if word in SPACES), "")
    if space == "global":
        return address
    if space == "":
        return f"t.generic({address})"
    if space == "const":
        return f"t.constant({address})"
    return f"t.shared({address}, own={space != 'shared::cluster'})"


def _computed(instruction: Instruction, writer: Writer) -> None:
    words, (target, *operands) = instruction.words, instruction.operands
    if target.startswith("{"):
        value = writer.read(operands[0])
        for number, name in enumerate(writer.writes(target)):
            writer.line(f"{name} = {value} >> {64 * number} & {MASKS[64]}")
        return
    word = words[-1]
    bits = kind_of(word).bits if word not in ("cluster", "cta") else 64
    if operands[0].startswith("{"):
        low, high = writer.reads(operands[0])
        writer.line(f"{writer.write(target)} = {low} | {high} << 64")
        return
    wide = bits * 2 if "wide" in words else bits
    values = [writer.read(each, wide if place == 2 else bits) for place, each in enumerate(operands)]
    writer.line(f"{writer.write(target)} = {COMPUTED[words[0]](words, values)}")


def _load(instruction: Instruction, writer: Writer) -> None:
    words, (target, address) = instruction.words, instruction.operands
    if "param" in words:
        names = [name for name, _ in writer.entry.parameters]
        writer.line(f"{writer.write(target)} = arguments[{names.index(address.strip('[]'))}]")
        return
    kind = kind_of(words[-1])
    writer.line("yield")
    at = place(words, writer.address(address))
    targets = writer.writes(target)
    if words[1] == "const" and kind.bits == 32:
        writer.line(f"{targets[0]} = t.cached({at})")
        return
    if len(targets) > 1:
        at = _named(writer, at)
    for number, name in enumerate(targets):
        value = f"load({at}{f' + {number * kind.size}' if number else ''}, {kind.bits})"
        if kind.signed and kind.bits < 64:
            value = f"number({value}, {kind.bits}) & {MASKS[max(16, writer.width(target), kind.bits)]}"
        writer.line(f"{name} = {value}")


def _named(writer: Writer, expression: str) -> str:
    name = writer.name()
    writer.line(f"{name} = {expression}")
    return name


def _store(instruction: Instruction, writer: Writer) -> None:
    words, (address, source, *_) = instruction.words, instruction.operands
    if words[1] == "async":
        ASYNCHRONOUS["st.async"](instruction, writer)
        return
    kind = kind_of(words[-1])
    writer.line("yield")
    at, values = place(words, writer.address(address)), writer.reads(source, kind.bits)
    if len(values) > 1:
        at = _named(writer, at)
    for number, value in enumerate(values):
        writer.line(f"store({at}{f' + {number * kind.size}' if number else ''}, {kind.bits}, {value})")


def _atomic(instruction: Instruction, writer: Writer) -> None:
    """`atom` and `red`: a step for each element, which nothing comes between."""
    words = instruction.words
    if words[1] == "async":
        ASYNCHRONOUS["red.async"](instruction, writer)
        return
    reduces = words[0] == "red"
    target, (address, *operands) = (
        ("_", instruction.operands) if reduces else (instruction.operands[0], instruction.operands[1:])
    )
    op = next((word for word in words[1:] if word in OPERATIONS), "")
    kind = kind_of(words[-1])
    at = _named(writer, place(words, writer.address(address)))
    given = [writer.reads(each, kind.bits) for each in operands]
    targets = [] if target == "_" else writer.writes(target)
    for number, values in enumerate(zip(*given, strict=True)):
        writer.line("yield")
        here = f"{at} + {number * kind.size}"
        old = _named(writer, f"load({here}, {kind.bits})")
        writer.line(f"store({here}, {kind.bits}, {atomic(op, words[-1], old, values)})")
        if targets:
            writer.line(f"{targets[number]} = {old}")


OPERATIONS = ("add", "and", "or", "xor", "exch", "cas", "inc", "dec", "min", "max")


def _nothing(_instruction: Instruction, _writer: Writer) -> None:
    """Fences and hints: memory here is sequentially consistent."""


def _sleep(instruction: Instruction, writer: Writer) -> None:
    writer.line(f"for {writer.name()} in range(min(200, 1 + {writer.read(instruction.operands[0])} // 20)): yield")


def _meet(instruction: Instruction, writer: Writer) -> None:
    """`vote.sync` and `match.sync`: what the lanes of a mask have, known to all of them."""
    target, value, mask = instruction.operands
    met = writer.name()
    operands = f"{writer.read(mask)}, {instruction.mnemonic!r}, {writer.read(value)}"
    writer.line(f"{met} = yield from t.warp.together(t.lane, {operands})")
    results = {"ballot": "ballot({})", "any": "any({}.values.values())", "all": "all({}.values.values())"}
    if instruction.words[:3] == ("match", "any", "sync"):
        found = f"same({met}, t.lane)"
    elif instruction.words[0] == "vote" and instruction.words[2] in results:
        found = results[instruction.words[2]].format(met)
    else:
        raise Unknown(f"the instruction `{instruction.mnemonic}`")
    writer.line(f"{writer.write(target)} = {found}")


def _active(instruction: Instruction, writer: Writer) -> None:
    """`activemask`: this lane at least is active; which others are, nobody may rely on."""
    writer.line(f"{writer.write(instruction.operands[0])} = 1 << t.lane")


def _barrier(instruction: Instruction, writer: Writer) -> None:
    """`bar` and `barrier`: of warps, of CTAs, of clusters."""
    words, operands = instruction.words, list(instruction.operands)
    if words[1] == "warp":
        writer.line(f"yield from t.warp.together(t.lane, {writer.read(operands[0])}, 'sync')")
        return
    aligned = "aligned" in words or words[0] == "bar"
    if aligned:
        writer.line(f"yield from t.warp.together(t.lane, {MASKS[32]}, ('aligned', {instruction.number}))")
    if words[1] == "cluster":
        writer.line("t.cta.cluster.barrier.arrive(t)" if words[2] == "arrive" else
                    "yield from t.cta.cluster.barrier.wait(t)")  # fmt: skip
        return
    kind = next(word for word in words if word in ("sync", "arrive", "red"))
    target = operands.pop(0) if kind == "red" else "_"
    predicate = writer.read(operands.pop()) if kind == "red" else "0"
    number, *count = (writer.read(each) for each in operands)
    arrival = f"t.cta.barriers.arrive(t, {number}, {count[0] if count else None}, {predicate}"
    made = writer.name()
    writer.line(f"{made} = yield from {arrival}, waits={kind != 'arrive'})")
    if kind == "red":
        op = next(word for word in words if word in ("and", "or", "popc"))
        value = f"reduced({op!r}, {made})"
        writer.line(f"{writer.write(target)} = {value if op == 'popc' else f'bool({value})'}")


def _elect(instruction: Instruction, writer: Writer) -> None:
    target, mask = instruction.operands
    lane, _, predicate = target.partition("|")
    met = writer.name()
    writer.line(f"{met} = yield from t.warp.together(t.lane, {writer.read(mask)}, 'elect')")
    writer.line(f"{writer.write(lane)} = min({met}.values)")
    writer.line(f"{writer.write(predicate)} = t.lane == min({met}.values)")


def _dependent(instruction: Instruction, writer: Writer) -> None:
    """`griddepcontrol`."""
    writer.line("yield")
    writer.line("yield from t.grid.wait()" if instruction.words[1] == "wait" else "t.grid.release(t.cta)")


def _texel(instruction: Instruction, writer: Writer) -> None:
    """`tex`, `suld` and `sust`: a word of what a texture or a surface shows; a surface counts bytes in a row."""
    words = instruction.words
    stores = words[0] == "sust"
    target, source = instruction.operands[::-1] if stores else instruction.operands
    shown, coordinates = split_operands(source.strip("[]"))
    places = writer.reads(coordinates, 32)
    if words[1 if words[0] == "tex" else 2] != f"{len(places)}d":
        raise Unknown(f"the coordinates of `{instruction.mnemonic}`")
    writer.line("yield")
    kind = "texture" if words[0] == "tex" else "surface"
    at = f"texel(t, {kind!r}, {writer.read(shown)}, {', '.join(places)})"
    if stores:
        writer.line(f"store({at}, 32, {writer.reads(target, 32)[0]})")
        return
    first, *others = writer.writes(target)
    writer.line(f"{first} = t.cached({at})" if kind == "texture" else f"{first} = load({at}, 32)")
    for other in others:
        writer.line(f"{other} = 0")


def _queued(instruction: Instruction, writer: Writer) -> None:
    """Instructions of the tables for mbarriers and copies: by their longest known prefix."""
    for length in range(len(instruction.words), 0, -1):
        row = ASYNCHRONOUS.get(".".join(instruction.words[:length]))
        if row is not None:
            row(instruction, writer)
            return
    raise Unknown(f"the instruction `{instruction.mnemonic}`")


ROWS: dict[str, Row] = {
    **dict.fromkeys(COMPUTED, _computed),
    "ld": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "fence": _nothing,
    "membar": _nothing,
    "prefetch": _nothing,
    "nanosleep": _sleep,
    "vote": _meet,
    "match": _meet,
    "activemask": _active,
    "bar": _barrier,
    "barrier": _barrier,
    "elect": _elect,
    "griddepcontrol": _dependent,
    **dict.fromkeys(("tex", "suld", "sust"), _texel),
    **dict.fromkeys(("mbarrier", "cp", "tensormap"), _queued),
}
"""By opcode."""
