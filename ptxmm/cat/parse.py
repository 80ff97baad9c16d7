"""The grammar of cat: from text to statements whose names are not yet resolved.

    model    = [STRING | NAME] statement*
    statement= "let" binding | "let" "rec" binding ("and" binding)* | "include" STRING
             | ["flag"] ["~"] ("empty" | "irreflexive" | "acyclic") expr ["as" NAME]
    binding  = NAME [NAME | "(" NAME ("," NAME)* ")"] "=" expr
    expr     = operators of BINARY, all to the left, over prefix
    prefix   = "~"* operand postfix*
    operand  = "(" expr ")" | "[" expr "]" | NAME | NAME "(" expr ("," expr)* ")" | "0" | "{" "}"

A `*` that no operand follows is the closure, any other the product. The parser is written out because a run over many
small tests starts often, and loading a parser generator costs more than deciding twenty tests.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptxmm.cat.source import Source
from ptxmm.cat.written import DEEPEST, Binding, Claim, Define, Include, Node, Written
from ptxmm.errors import InputError

MOST_BRACKETS = 50
BINARY = {"|": (1, "union"), ";": (2, "seq"), "\\": (3, "diff"), "&": (4, "inter"), "*": (5, "product")}
POSTFIX = {"*": "star", "^*": "star", "+": "plus", "^+": "plus", "?": "optional", "^-1": "inverse"}
CHECKS = ("empty", "irreflexive", "acyclic")
STATEMENTS = ("let", "include", "flag", *CHECKS)
KEYWORDS = frozenset({*STATEMENTS, "rec", "and", "as"})
UNSUPPORTED = frozenset(
    {"show", "unshow", "procedure", "call", "with", "forall", "match", "fun", "try", "if", "enum", "instructions"}
)
_TOKEN = re.compile(
    r'\s+|(?P<name>[A-Za-z_][\w.\-]*)|(?P<string>"[^"\n]*")|(?P<mark>\^-1|\^[+*]|[|;\\&*~+?()\[\]{},=0])', re.ASCII
)
_OPERATOR = "an operator is wanted (| ; \\ & * + ? ^-1), or the end of what came before"
_OPERAND = "a set or a relation is wanted"
_STATEMENT = f"a statement starts with {', '.join(f'`{word}`' for word in STATEMENTS)}"


class Token(NamedTuple):
    """A name, a string, a mark (keywords are marks) or a stray character; `end` ends the text."""

    kind: str
    text: str
    start: int


def parse(source: Source, text: str) -> tuple[str, tuple[Written, ...]]:
    """The title and the statements of a file, whose `text` has no comments any more."""
    parser = _Parser(source, _tokens(text))
    title = parser.title()
    statements = []
    while parser.now.kind != "end":
        statements.append(parser.statement())
    return title, tuple(statements)


def _tokens(text: str) -> list[Token]:
    tokens, position = list[Token](), 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            tokens.append(Token("stray", text[position], position))
            position += 1
            continue
        if kind := found.lastgroup:
            word = found.group()
            tokens.append(Token("mark" if word in KEYWORDS else kind, word, position))
        position = found.end()
    return [*tokens, Token("end", "", len(text.rstrip()))]


class _Parser:
    """Reads one token after another; `now` is the next one."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source, self.tokens, self.place, self.open = source, tokens, 0, 0

    @property
    def now(self) -> Token:
        return self.tokens[self.place]

    def next_is(self, *marks: str) -> bool:
        return self.now.kind == "mark" and self.now.text in marks

    def take(self) -> Token:
        self.place += 1
        return self.tokens[self.place - 1]

    def taken(self, mark: str) -> bool:
        """Take a mark if it is next."""
        found = self.next_is(mark)
        self.place += found
        return found

    def need(self, kind: str, hint: str = "", mark: str | None = None) -> Token:
        """Take a token that must be next."""
        if self.now.kind != kind or (mark is not None and self.now.text != mark):
            raise self.surprise(hint)
        return self.take()

    def surprise(self, hint: str) -> InputError:
        """The error that the next token cannot stand here."""
        token = self.now
        if token.kind == "end":
            return InputError("the file ends in the middle of a statement", self.source.at(token.start))
        for near_by in (token, *self.tokens[max(0, self.place - 1) : self.place]):
            if near_by.text in UNSUPPORTED:
                at = self.source.at(near_by.start, len(near_by.text))
                return InputError(f"ptxmm does not support `{near_by.text}`", at)
        if token.kind == "stray":
            return self.stray(token)
        return InputError(f"`{token.text}` cannot stand here", self.source.at(token.start, len(token.text)), hint)

    def stray(self, token: Token) -> InputError:
        """The error that cat has no such character."""
        shown, at = token.text, self.source.at(token.start)
        if shown == '"':
            return InputError("this string is never closed", at)
        name = shown if shown.isprintable() else ascii(shown)[1:-1]
        hint = "a difference is written with a backslash, as in `a \\ b`" if shown in "-/" else ""
        return InputError(f"cat has no `{name}`", at, hint)

    # --- statements ---------------------------------------------------------------------------------------------------

    def title(self) -> str:
        return self.take().text.strip('"') if self.now.kind in ("name", "string") else ""

    def statement(self) -> Written:
        start = self.now.start
        if self.taken("let"):
            recursive = self.taken("rec")
            bindings = [self.binding()]
            while recursive and self.taken("and"):
                bindings.append(self.binding())
            return Define(tuple(bindings), recursive)
        if self.taken("include"):
            file = self.need("string")
            return Include(file.text[1:-1], file.start)
        flag = self.taken("flag")
        negated = self.taken("~")
        if not self.next_is(*CHECKS):
            raise self.surprise(_OPERATOR if self.place > 1 and not (flag or negated) else _STATEMENT)
        start = self.now.start
        check, body = self.take().text, self.expr()
        name = self.need("name").text if self.taken("as") else None
        return Claim(flag, negated, check, body, name, start)

    def binding(self) -> Binding:
        name = self.need("name")
        parameters: list[str] | None = None
        if self.now.kind == "name":
            parameters = [self.take().text]
        elif self.taken("("):
            parameters = [self.need("name").text]
            while self.taken(","):
                parameters.append(self.need("name").text)
            self.need("mark", mark=")")
        self.need("mark", mark="=")
        return Binding(name.text, name.start, None if parameters is None else tuple(parameters), self.expr())

    # --- expressions --------------------------------------------------------------------------------------------------

    def expr(self, loosest: int = 1) -> Node:
        left = self.prefix()
        while self.now.kind == "mark" and self.now.text in BINARY:
            level, op = BINARY[self.now.text]
            if level < loosest:
                break
            self.take()
            left = self.node(op, left.start, left.text, left, self.expr(level + 1))
        return left

    def prefix(self) -> Node:
        tildes = []
        while self.next_is("~"):
            tildes.append(self.take())
        found = self.operand()
        while self.next_is(*POSTFIX) and not (self.next_is("*") and self.operand_follows()):
            found = self.node(POSTFIX[self.take().text], found.start, found.text, found)
        for tilde in reversed(tildes):
            found = self.node("complement", tilde.start, "~", found)
        return found

    def operand_follows(self) -> bool:
        after = self.tokens[self.place + 1]
        return after.kind == "name" or (after.kind == "mark" and after.text in ("(", "[", "{", "~", "0"))

    def operand(self) -> Node:
        token = self.now
        if token.kind == "name":
            self.take()
            return self.call(token) if self.next_is("(") else self.node("name", token.start, token.text)
        if self.taken("0"):
            return self.node("nothing", token.start, "0")
        if self.taken("{"):
            self.need("mark", mark="}")
            return self.node("nothing", token.start, "{}")
        if self.next_is("("):
            return self.enclosed("(", ")")[0]
        if self.next_is("["):
            (inner,) = self.enclosed("[", "]")
            return self.node("identity", inner.start, inner.text, inner)
        raise self.surprise(_OPERAND)

    def call(self, name: Token) -> Node:
        arguments = self.enclosed("(", ")", several=True)
        return self.node("call", name.start, name.text, *arguments)

    def enclosed(self, opening: str, closing: str, *, several: bool = False) -> list[Node]:
        """What stands in brackets: one expression, or several with commas between."""
        self.open += 1
        if self.open > MOST_BRACKETS:
            raise self.too_deep(self.now.start)
        self.need("mark", mark=opening)
        inner = [self.expr()]
        while several and self.taken(","):
            inner.append(self.expr())
        self.need("mark", _OPERATOR, mark=closing)
        self.open -= 1
        return inner

    def node(self, op: str, start: int, text: str, *args: Node) -> Node:
        depth = 1 + max((arg.depth for arg in args), default=0)
        if depth > DEEPEST:
            raise self.too_deep(start)
        return Node(op, args, start, text, depth)

    def too_deep(self, start: int) -> InputError:
        return InputError("the expression nests too deeply", self.source.at(start), "name parts with `let`")
