"""PTX text as values: parameters, registers, and instructions with their guards, words and operands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace


class Unknown(Exception):
    """The text has something that the machine does not know."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `words` are the opcode and its qualifiers, `number` its place in the text.

    >>> read_instruction("@!p ld.weak.global.v2.u32 {a, b}, [x+8]", 0).operands
    ('{a, b}', '[x+8]')
    """

    words: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False
    number: int = 0

    @property
    def mnemonic(self) -> str:
        return ".".join(self.words)


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel: `code` has a name for each label. `cluster` CTAs form a cluster, `threads` at most are in a CTA.

    `shared` and `constants` are the arrays that a module declares, the latter with their places and contents.
    """

    name: str
    parameters: tuple[tuple[str, int], ...]
    registers: dict[str, int]
    code: tuple[Instruction | str, ...]
    target: str
    cluster: int = 1
    threads: int = 1024
    shared: str = ""
    constants: dict[str, tuple[int, bytes]] = field(default_factory=dict)


@dataclass(slots=True)
class _Reader:
    """Statements one after another; names in an inner pair of braces are its own."""

    registers: dict[str, int] = field(default_factory=dict)
    code: list[Instruction | str] = field(default_factory=list)
    scopes: list[int] = field(default_factory=lambda: [0])
    opened: int = 0
    names: dict[tuple[int, str], str] = field(default_factory=dict)
    jumps: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)

    def body(self, text: str) -> None:
        """All statements, with the scopes that they are in."""
        statement, depth = "", 0
        for part in re.split(r"([;{}])", text):
            statement = self._labels(" ".join(f"{statement} {part}".split())) if part not in ";{}" else statement
            if part == ";" and statement:
                self.statement(statement)
                statement = ""
            elif part == "{" and not statement:
                self.opened += 1
                self.scopes.append(self.opened)
            elif part == "}" and not depth:
                self.scopes.pop()
            elif part and part in "{}":
                depth += 1 if part == "{" else -1
                statement += part
        for place, scopes in self.jumps:
            jump = self.code[place]
            assert isinstance(jump, Instruction)
            self.code[place] = replace(jump, operands=(self._found(("label " + jump.operands[-1]), scopes),))

    def _labels(self, text: str) -> str:
        """Take the labels that a statement begins with."""
        while found := re.match(r"([A-Za-z_$%][\w$]*)\s*:\s*(?!:)", text):
            self.code.append(self._own("label " + found[1]))
            text = text[found.end() :]
        return text

    def _own(self, name: str) -> str:
        """A name that is declared here, told apart from the same in other scopes."""
        scope = self.scopes[-1]
        made = self.names[scope, name] = f"{name.split()[-1]}__{scope}" if scope else name.split()[-1]
        return made

    def _found(self, name: str, scopes: tuple[int, ...]) -> str:
        """What a name means in these scopes, the innermost last."""
        return next(
            (self.names[scope, name] for scope in reversed(scopes) if (scope, name) in self.names), name.split()[-1]
        )

    def statement(self, text: str) -> None:
        if text.startswith(".reg"):
            self._declare(text)
        elif text.startswith("."):
            raise Unknown(f"the directive `{text}`")
        else:
            self._instruct(read_instruction(text, len(self.code)))

    def _instruct(self, found: Instruction) -> None:
        def named(text: str) -> str:
            return re.sub(r"(?<![\w.$%])[A-Za-z_$][\w$]*", lambda name: self._found(name[0], tuple(self.scopes)), text)

        if found.words[0] == "bra":
            self.jumps.append((len(self.code), tuple(self.scopes)))
            self.code.append(replace(found, guard=named(found.guard)))
        else:
            operands = tuple(map(named, found.operands))
            self.code.append(replace(found, guard=named(found.guard), operands=operands))

    def _declare(self, text: str) -> None:
        found = re.fullmatch(r"\.reg\s+\.(pred|[busf]\d+)\s+(.*)", text, re.DOTALL)
        if found is None:
            raise Unknown(f"the declaration `{text}`")
        bits = 0 if found[1] == "pred" else int(found[1][1:])
        for name in found[2].split(","):
            several = re.fullmatch(r"\s*([\w$%]+)(?:<(\d+)>)?\s*", name)
            if several is None:
                raise Unknown(f"the declaration `{text}`")
            names = [f"{several[1]}{n}" for n in range(int(several[2]))] if several[2] else [several[1]]
            self.registers |= {self._own(each): bits for each in names}


def read_entry(text: str) -> Entry:
    """The one kernel of a module."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.fullmatch(
        r"(?P<head>.*?)\.visible\s+\.entry\s+(?P<name>\w+)\s*\((?P<parameters>[^)]*)\)(?P<tuning>[^{]*)"
        r"\{(?P<body>.*)\}\s*",
        text,
        re.DOTALL,
    )
    if found is None:
        raise Unknown("a module that is not one kernel")
    reader = _Reader()
    reader.body(found["body"])
    parameters = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.[busf](\d+)\s+(\w+)(?:\[(\d+)\])?", found["parameters"])
    return Entry(
        name=found["name"],
        parameters=tuple((name, int(bits) * int(length or 1)) for bits, name, length in parameters),
        registers=reader.registers,
        code=tuple(reader.code),
        target=_one(r"\.target\s+(\w+)", found["head"], "sm_70"),
        cluster=int(_one(r"\.reqnctapercluster\s+(\d+)", found["tuning"], "1")),
        threads=int(_one(r"\.maxntid\s+(\d+)", found["tuning"], "1024")),
        constants=_constants(found["head"]),
        shared=_one(r"\.extern\s+\.shared\s+\.align\s+\d+\s+\.b8\s+(\w+)\[\]", found["head"], ""),
    )


def _constants(head: str) -> dict[str, tuple[int, bytes]]:
    """The arrays in constant memory: where each begins, and what it holds at first."""
    found, end = dict[str, tuple[int, bytes]](), 0
    for align, name, size, values in re.findall(
        r"\.const\s+\.align\s+(\d+)\s+\.b8\s+(\w+)\[(\d+)\](?:\s*=\s*\{([^}]*)\})?;", head
    ):
        start = -(-end // int(align)) * int(align)
        content = bytes(int(value) for value in values.split(",")) if values else b""
        found[name] = start, content.ljust(int(size), b"\0")
        end = start + int(size)
    return found


def _one(pattern: str, text: str, otherwise: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else otherwise


def read_instruction(text: str, number: int) -> Instruction:
    """An instruction without its semicolon.

    >>> read_instruction("@!p bra L", 3)
    Instruction(words=('bra',), operands=('L',), guard='p', negated=True, number=3)
    """
    found = re.fullmatch(r"(?:@(!?)([\w$%]+)\s+)?([\w.:]+)\s*(.*)", text, re.DOTALL)
    if found is None:
        raise Unknown(f"the instruction `{text}`")
    words = tuple(found[3].split("."))
    return Instruction(words, split_operands(found[4]), found[2] or "", found[1] == "!", number)


def split_operands(text: str) -> tuple[str, ...]:
    """Operands between commas, those in brackets and braces whole.

    >>> split_operands("[map, {0}], [s+16], p|q")
    ('[map, {0}]', '[s+16]', 'p|q')
    """
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and not depth:
            found.append(text[start:place].strip())
            start = place + 1
    return tuple(each for each in (*found, text[start:].strip()) if each)
