"""Expressions of a `.lit` test: from the tree to typed values, by C's rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxmm.arith import COMPARISONS, LOGICAL, PRED, U32, U64, Type, binary
from ptxmm.errors import near
from ptxmm.program import Addr, Binary, Const, Expr, Select, Unary
from ptxmm.syntax.lit_spellings import complaint
from ptxmm.syntax.lit_text import Source
from ptxmm.syntax.lit_tree import Node
from ptxmm.syntax.lit_values import (
    EXACT,
    ONE,
    TWO,
    TYPES,
    WIDEST,
    Value,
    bits_of,
    extended,
    number,
    plain,
    settle,
    whole,
)

DEEPEST = 200
SMALL = 16


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads expressions; `leaf` says what names, indices and brackets mean.

    `lenient` takes unknown registers as numbers and reports no mismatch, `address` widens to 64 bits, `final` is for
    conditions: narrow values widen, and `=` compares.
    """

    source: Source
    leaf: Callable[[Reader, Node], Value]
    lenient: bool = False
    address: bool = False
    final: bool = False

    def value(self, node: Node, depth: int = 0) -> Value:
        """The typed value of an expression."""
        if depth > DEEPEST:
            raise self.source.error("this expression is nested too deeply", node.start, node.end)
        match node.kind:
            case "number":
                return number(self.source, node)
            case "unary":
                return self._unary(node, depth)
            case "binary":
                left, right = (self.value(arg, depth + 1) for arg in node.args)
                return self.binary(node, left, right)
            case "select":
                return self._select(node, depth)
            case "call":
                return self._call(node, depth)
            case "vector":
                raise self.source.error("a vector cannot stand here", node.start, node.end)
        return self.leaf(self, node)

    def at(self, node: Node, type_: Type) -> Expr:
        """An expression at a type."""
        return self._settle(self.value(node), type_, node)

    def _settle(self, value: Value, type_: Type, node: Node) -> Expr:
        return value.expr if self.lenient else settle(self.source, value, type_, node)

    def _whole(self, node: Node, op: str, type_: Type) -> None:
        if not self.lenient:
            whole(self.source, node, op, type_)

    def truth(self, value: Value) -> Expr:
        """A value as a predicate: whether it is not zero."""
        if value.type == PRED:
            return value.expr
        if isinstance(value.expr, Const) and value.type is None:
            return Const(int(value.expr.value != 0 or bool(value.fraction)))
        return Binary("!=", value.expr, Const(0), plain(value.type or U32))

    # --- operators ----------------------------------------------------------------------------------------------------

    def _unary(self, node: Node, depth: int) -> Value:
        op, (arg,) = node.text, node.args
        if op == "&":
            return self.leaf(self, node)
        value = self.value(arg, depth + 1)
        if op == "!":
            return self._not(value)
        if op == "+":
            return value
        if op == "~" and value.type == PRED:
            return self._not(value)
        if value.type is None and isinstance(value.expr, Const):
            return self._negated(node, op, value)
        type_ = plain(value.type or U32)
        type_ = U32 if type_ == PRED else type_
        self._whole(node, op, type_)
        return Value(Unary(op, value.expr, type_), value.type and type_)

    def _not(self, value: Value) -> Value:
        if isinstance(value.expr, Const) and value.type is None:
            return Value(Const(int(not value.expr.value)), PRED)
        if value.type is not None and value.type.floating:
            return Value(Binary("==", value.expr, Const(0), value.type), PRED)
        return Value(Unary("!", value.expr, plain(value.type or U32)), PRED)

    def _negated(self, node: Node, op: str, value: Value) -> Value:
        assert isinstance(value.expr, Const)
        if value.fraction is not None:
            if op == "~":
                raise self.source.error("`~` is for integers", node.start, node.end)
            return value._replace(fraction=-value.fraction)
        return value._replace(expr=Const(-value.expr.value if op == "-" else ~value.expr.value))

    def binary(self, node: Node, left: Value, right: Value) -> Value:
        """A binary operator on two values."""
        op = node.text
        if op == "=":
            if not self.final:
                raise self.source.error(
                    "`=` assigns; it cannot stand in an expression", node.start, node.end, "use `==`"
                )
            op = "=="
        if op in LOGICAL:
            return Value(Binary(op, self.truth(left), self.truth(right), PRED), PRED)
        constants = isinstance(left.expr, Const) and isinstance(right.expr, Const)
        if constants and left.type is None and right.type is None:
            return self._folded(node, op, left, right)
        if op in "+-" and isinstance(left.expr, Addr) and isinstance(right.expr, Const) and right.type is None:
            offset = right.expr.value if op == "+" else -right.expr.value
            return Value(Addr(left.expr.name, left.expr.offset + offset), U64)
        if op == "+" and isinstance(right.expr, Addr) and isinstance(left.expr, Const) and left.type is None:
            return Value(Addr(right.expr.name, right.expr.offset + left.expr.value), U64)
        if op in ("<<", ">>"):
            type_ = plain(left.type or U32)
            type_ = U32 if type_ == PRED else type_
            self._whole(node, op, type_)
            shifted = self._settle(left, type_, node.args[0])
            return Value(Binary(op, shifted, self._settle(right, U32, node.args[1]), type_), type_)
        type_, a, b = self.join(node, left, right)
        if type_ is PRED and op not in COMPARISONS and op not in "&|^":
            type_ = U32
        self._whole(node, op, type_)
        compared = op in COMPARISONS
        return Value(Binary(op, a, b, type_), PRED if compared else type_ if left.type or right.type else None)

    def _folded(self, node: Node, op: str, left: Value, right: Value) -> Value:
        assert isinstance(left.expr, Const)
        assert isinstance(right.expr, Const)
        a, b = left.expr.value, right.expr.value
        if left.fraction is not None or right.fraction is not None:
            raise self.source.error(
                "two numbers with a fraction are not computed", node.start, node.end, "write the result"
            )
        wide = Type("s", 4 * WIDEST)
        if op in ("<<", ">>") and not 0 <= b <= WIDEST:
            raise self.source.error(f"cannot shift by {b}", node.start, node.end)
        if op in ("/", "%") and b == 0:
            raise self.source.error("division by zero", node.start, node.end)
        if op in EXACT or op in COMPARISONS or op in ("/", "%", "min", "max"):
            result = binary(op, a, b, wide)
            result = result - (1 << wide.bits) if result >> wide.bits - 1 else result
            if abs(result).bit_length() > WIDEST:
                raise self.source.error(f"this number has more than {WIDEST} bits", node.start, node.end)
            return Value(Const(result), PRED if op in COMPARISONS else None, left.decimal and right.decimal)
        raise self.source.error(f"`{op}` needs a register", node.start, node.end)

    def join(self, node: Node, left: Value, right: Value) -> tuple[Type, Expr, Expr]:
        """The common type of two operands, and both at it."""
        a, b = left.type, right.type
        one, other = node.args[0], node.args[-1]
        if PRED in (a, b) and a != b:
            outer = b if a == PRED else a
            if outer is None:
                const = right if a == PRED else left
                zero_one = isinstance(const.expr, Const) and const.expr.value in (0, 1)
                outer = PRED if zero_one else U32
            a = b = outer
        if a is None and b is None:
            a = b = U32
        type_ = self._common(node, a or b or U32, b or a or U32)
        if left.type not in (None, PRED) and left.type is not None and left.type.bits < type_.bits:
            left = left._replace(expr=extended(left.expr, left.type, type_))
        if right.type not in (None, PRED) and right.type is not None and right.type.bits < type_.bits:
            right = right._replace(expr=extended(right.expr, right.type, type_))
        return type_, self._settle(left, type_, one), self._settle(right, type_, other)

    def _common(self, node: Node, a: Type, b: Type) -> Type:
        if self.lenient:
            return plain(a)
        if a.bits != b.bits:
            if self.address and max(a.bits, b.bits) == U64.bits and not (a.floating or b.floating):
                return U64
            if self.final and not (a.floating or b.floating):
                return plain(max(a, b, key=lambda t: t.bits))
            message = f"width mismatch: the left side has {bits_of(a)}, the right side {bits_of(b)}"
            narrow, wide = sorted((a, b), key=lambda t: t.bits)
            hint = "" if a.floating or b.floating else f"widen one with `cvt.{plain(wide)}.{plain(narrow)}`"
            operand = node.args[0 if a is narrow else -1]
            if hint and operand.kind == "name" and narrow.bits == SMALL:
                hint += f", or declare `.reg .b{wide.bits} {operand.text};`, so that a load extends it"
            raise self.source.error(message, node.start, node.end, hint)
        if a.kind == b.kind and a.lanes == b.lanes:
            return plain(a)
        if a.floating or b.floating:
            if "b" in (a.kind, b.kind):
                return a if a.floating else b
            raise self.source.error(f"type mismatch: `.{a}` and `.{b}`", node.start, node.end)
        return Type("u", a.bits)

    def _select(self, node: Node, depth: int) -> Value:
        cond, then, other = (self.value(arg, depth + 1) for arg in node.args)
        if then.type is None and other.type is None:
            bad = next((v for v in (then, other) if v.fraction is not None), None)
            if bad is not None:
                raise self.source.error(
                    "a fraction cannot stand here", node.start, node.end, "write its bits: `0f3F800000`"
                )
            return Value(Select(self.truth(cond), then.expr, other.expr), None)
        type_, a, b = self.join(node, then, other)
        return Value(Select(self.truth(cond), a, b), type_)

    def _call(self, node: Node, depth: int) -> Value:
        name, _, suffix = node.text.partition(".")
        if name == "selp" and not suffix and len(node.args) == 3:
            then, other, cond = (self.value(arg, depth + 1) for arg in node.args)
            return Value(Select(cond.expr, then.expr, other.expr), then.type or other.type)
        if name not in TWO and name not in ONE:
            strange = complaint(self.source, node.start, node.start + len(node.text))
            if strange is not None:
                raise strange
            raise self.source.error(f"unknown function `{name}`", node.start, node.end, near(name, [*TWO, *ONE]))
        count = 2 if name in TWO else 1
        if len(node.args) != count:
            raise self.source.error(f"`{name}` takes {count} operand{'s' * (count > 1)}", node.start, node.end)
        if suffix and suffix not in TYPES:
            raise self.source.error(f"unknown type `.{suffix}`", node.start, node.end, near(suffix, TYPES))
        values = [self.value(arg, depth + 1) for arg in node.args]
        if suffix:
            return self._typed_call(node, name, TYPES[suffix], values)
        spelled = node._replace(text=TWO.get(name) or ONE[name])
        if count == 2:
            return self.binary(spelled, *values)
        if name == "lnot" or (name == "not" and values[0].type == PRED):
            return self._not(values[0])
        type_ = plain(values[0].type or U32)
        self._whole(node, spelled.text, type_)
        return Value(Unary(spelled.text, self._settle(values[0], type_, node.args[0]), type_), type_)

    def _typed_call(self, node: Node, name: str, type_: Type, values: list[Value]) -> Value:
        """`lt.s32(a, b)`: the operator at exactly this type."""
        op = TWO.get(name) or ONE[name]
        self._whole(node, op, type_)
        shift = op in ("<<", ">>")
        args = [
            self._settle(value, U32 if shift and i else type_, arg)
            for i, (value, arg) in enumerate(zip(values, node.args, strict=True))
        ]
        result = PRED if op in COMPARISONS or op in LOGICAL else type_
        if len(args) == 1:
            return Value(Unary(op, args[0], type_), result)
        return Value(Binary(op, args[0], args[1], type_), result)


def constant(reader: Reader, node: Node, what: str) -> int:
    """An integer that is known before the test runs."""
    value = reader.value(node)
    if not isinstance(value.expr, Const) or value.type is not None or value.fraction is not None:
        raise reader.source.error(f"{what} must be a number", node.start, node.end)
    return value.expr.value
