"""Any program as `.lit` text that reads back as an equal program: sugar in expanded form, one line a statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from ptxmm.arith import Type
from ptxmm.errors import InputError
from ptxmm.program import (
    Conventions,
    Expr,
    FinalMem,
    FinalReg,
    Label,
    Program,
    Proxy,
    Space,
    TensorMap,
    Thread,
    View,
)
from ptxmm.syntax import lit
from ptxmm.syntax.print_code import Lines, array, first_value
from ptxmm.syntax.print_expr import Printer, place

VIEWS = {Proxy.GENERIC: ".alias", Proxy.TEXTURE: ".texref", Proxy.SURFACE: ".surfref", Proxy.CONSTANT: ".constref"}


def to_lit(program: Program) -> str:
    """The program as `.lit` text; ValueError where the language cannot say what another dialect said.

    >>> (test,) = lit.read("ptx t .global .u32 x; thread A @ d0.b0 { st.relaxed.gpu [x], 1; } exists (x = 1)", "")
    >>> print(to_lit(test))
    ptx t
    <BLANKLINE>
    .global .u32 x = 0;
    <BLANKLINE>
    thread A @ d0.c0.b0 {
        st.relaxed.gpu.global.u32 [x], 1;
    }
    <BLANKLINE>
    exists (x == 1)
    <BLANKLINE>
    """
    listed: dict[str, frozenset[str]] = {}
    for exact in (False, False, True):
        text = written(program, listed, exact=exact)
        back = _back(text, program)
        if back == program:
            return text
        more = _types_to_declare(program, back)
        listed = {name: listed.get(name, frozenset()) | more[name] for name in more}
    why = str(back).partition("\n")[0] if isinstance(back, InputError) else difference(program, back)
    raise ValueError(f"{program.full_name} cannot be written as .lit exactly: {why}")


def _types_to_declare(program: Program, back: Program | InputError) -> dict[str, frozenset[str]]:
    """The registers of each thread whose types a reader would not find by itself."""
    found = {t.name: t.types for t in back.threads} if isinstance(back, Program) else {}
    return {
        thread.name: frozenset(r for r, type_ in thread.types.items() if found.get(thread.name, {}).get(r) != type_)
        for thread in program.threads
    }


def _back(text: str, program: Program) -> Program | InputError:
    try:
        (back,) = lit.read(text, program.path)
    except InputError as wrong:
        return wrong
    return back


def difference(one: Program, other: object) -> str:
    """The first field in which two programs differ."""
    for field in fields(Program):
        if not isinstance(other, Program) or getattr(one, field.name) != getattr(other, field.name):
            return f"its {field.name} would read back differently"
    return "it would read back differently"


def written(program: Program, listed: Mapping[str, frozenset[str]], *, exact: bool = False) -> str:
    """The text, unchecked; `listed` are the registers of each thread whose types must be declared."""
    blocks = ["\n".join(_head(program)), "\n".join(_memory(program))]
    for thread in program.threads:
        lines = Lines(program, thread, thread.types, exact)
        blocks.append("\n".join(_thread(thread, lines, listed.get(thread.name, frozenset()))))
    blocks += ["\n".join(_question(program, exact)), "\n".join(_notes(program))]
    if program.variant is not None:
        blocks.append(f"variants\n    name\n    {program.variant}\nend")
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(program: Program) -> Iterator[str]:
    plain = not set(program.name) & set(' \t\r\n"{};,')
    yield f"ptx {program.name if plain and program.name else quoted(program.name)}"
    if program.purpose:
        yield quoted(program.purpose)
    conventions = program.conventions
    if conventions == Conventions(True, True, True, True):
        yield "dialect dartagnan;"
    elif conventions != Conventions():
        names = [f.name.replace("_", "-") for f in fields(conventions) if getattr(conventions, f.name)]
        yield f"dialect {', '.join(names)};"


def quoted(text: str) -> str:
    """A string with its quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def _memory(program: Program) -> Iterator[str]:
    for declared in program.objects:
        where = f" @ d{declared.device}" if declared.device is not None else ""
        length = f"[{declared.length}]" if declared.length > 1 else ""
        owner = f" @ {declared.owner}" if declared.space is Space.SHARED and declared.owner else ""
        if declared.mbarrier is not None:
            yield f".shared{owner} .mbarrier {declared.name}{length}({declared.mbarrier});"
            continue
        if declared.tensormap is not None:
            mapping = _mapping(program, declared.tensormap)
            yield f".{declared.space}{owner} .tensormap {declared.name}{where} -> {mapping};"
            continue
        yield f".{declared.space}{owner} .{declared.type} {declared.name}{where}{length}{array(declared)};"
    for view in program.views:
        yield _view(view)


def _mapping(program: Program, described: TensorMap) -> str:
    sides = {"dims": described.dims, "box": described.box_dims, "strides": described.strides}
    if not described.dims and program.physical(described.target).size != described.box:
        sides["box"] = (described.box,)
    given = "".join(f" {name}({', '.join(map(str, values))})" for name, values in sides.items() if values)
    return f"{described.target}{given}{' acquired' * described.acquired}"


def _view(view: View) -> str:
    return f"{VIEWS[view.proxy]} {view.name} = {view.target};"


def _thread(thread: Thread, lines: Lines, listed: frozenset[str]) -> Iterator[str]:
    after = f" after {thread.after}" if thread.after else ""
    yield f"thread {thread.name} @ {thread.place}{after} {{"
    for name, type_ in thread.types.items():
        if name in listed or name in thread.init:
            yield f"    {_register(thread, name, type_)}"
    for statement in thread.body:
        yield ("  " if isinstance(statement, Label) else "    ") + lines.line(statement)
    yield "}"


def _register(thread: Thread, name: str, type_: Type) -> str:
    value = first_value(thread.init[name], type_) if name in thread.init else "0"
    return f".reg .{type_} {name} = {value};"


def condition(program: Program, *, exact: bool = False) -> str:
    """The question of a test, `~exists (A.r0 == 1)`, or nothing."""
    if program.condition is None:
        return ""
    return f"{program.condition.quantifier} ({_final(program, exact).predicate(program.condition.formula)})"


def _final(program: Program, exact: bool) -> Printer:
    """A printer of expressions over final states."""
    types = {(t.name, r): type_ for t in program.threads for r, type_ in t.types.items()}

    def type_of(expr: Expr) -> Type | None:
        return types.get((expr.thread, expr.reg)) if isinstance(expr, FinalReg) else None

    return Printer(program, type_of, final=True, exact=exact)


def _question(program: Program, exact: bool) -> Iterator[str]:
    if program.filter is not None:
        yield f"filter ({_final(program, exact).predicate(program.filter)})"
    if program.condition is not None:
        yield condition(program, exact=exact)
    if program.locations:
        yield f"locations [{'; '.join(_location(program, leaf) for leaf in program.locations)}]"
    for expect in program.expects:
        under = f" under {', '.join(expect.models)}" if expect.models is not None else ""
        yield f"expect {', '.join(map(str, expect.words))}{under};"


def _location(program: Program, leaf: FinalReg | FinalMem) -> str:
    return f"{leaf.thread}.{leaf.reg}" if isinstance(leaf, FinalReg) else place(program, leaf)


def _notes(program: Program) -> Iterator[str]:
    for kernel, how, other in program.launches:
        yield f"launch k{kernel} {how} k{other};"
    notes = program.hardware
    lines = [
        *([f"require {notes.require};"] if notes.require is not None else []),
        *(f"preload {thread}: {', '.join(names)};" for thread, names in notes.preload),
        *(f"busy {thread}: {count};" for thread, count in notes.busy),
        *([f"skip {quoted(notes.skip)};"] if notes.skip is not None else []),
    ]
    if lines:
        yield "\n".join(["hardware {", *(f"    {line}" for line in lines), "}"])
