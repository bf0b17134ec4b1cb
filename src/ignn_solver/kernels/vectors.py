"""Building blocks for loops that keep whole vectors in registers, which numba cannot say in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

_FUSED = ("contract",)
_INDEX = ir.IntType(32)


def _vector_bytes() -> int:
    found = binding.get_host_cpu_features()
    if found.get("avx512f"):
        return 64
    return 32 if found.get("avx2") else 16


#: What one register holds.
VECTOR_BYTES = _vector_bytes()
#: Whether one instruction multiplies pairs of bfloat16 and adds them up in float32.
HAS_PAIRS = VECTOR_BYTES == 64 and bool(binding.get_host_cpu_features().get("avx512bf16"))
if HAS_PAIRS:
    # That instruction is written as such, and must be read.
    binding.initialize_native_asmparser()


class Emitter:
    """Writes the instructions of one loop for numbers of one type.

    Args:
        context: Numba's.
        builder: Where the instructions go.
        signature: The types of the arguments.
        arguments: Their values.
        number: The position of an array whose type the sums have.
        lanes: Numbers of a vector; by default as many as fill a register.
    """

    def __init__(
        self,
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
        number: int,
        lanes: int | None = None,
    ) -> None:
        self.context, self.builder = context, builder
        self.signature, self.arguments = signature, arguments
        self.number = context.get_value_type(signature.args[number].dtype)
        self.size = 4 if isinstance(self.number, ir.FloatType) else 8
        self.lanes = VECTOR_BYTES // self.size if lanes is None else lanes
        self.vector = ir.VectorType(self.number, self.lanes)
        self.integer = context.get_value_type(types.intp)
        self.zero = ir.Constant(self.vector, [0.0] * self.lanes)

    def array(self, position: int) -> tuple[Any, Any, Any]:
        """Where the array at this position begins, the numbers its first axis steps over, and its length."""
        kind = self.signature.args[position]
        view = self.context.make_array(kind)(self.context, self.builder, self.arguments[position])
        number = self.context.get_value_type(kind.dtype)
        begin = self.builder.bitcast(view.data, number.as_pointer())
        bytes_each = self.integer(kind.dtype.bitwidth // 8)
        step = self.builder.sdiv(self.builder.extract_value(view.strides, 0), bytes_each)
        return begin, step, self.builder.extract_value(view.shape, 0)

    def columns(self, position: int) -> Any:
        """How many columns the matrix at this position has."""
        kind = self.signature.args[position]
        view = self.context.make_array(kind)(self.context, self.builder, self.arguments[position])
        return self.builder.extract_value(view.shape, 1)

    def at(self, pointer: Any, *parts: Any) -> Any:
        """The place so many numbers further."""
        for part in parts:
            index = self.integer(part) if isinstance(part, int) else part
            pointer = self.builder.gep(pointer, [index], inbounds=True)
        return pointer

    def load(self, pointer: Any, mask: Any = None) -> Any:
        """One vector; where the mask is not set, 0. The 16 bits of a bfloat16 are widened."""
        element = pointer.type.pointee
        if element == self.number:
            return self._loaded(pointer, self.vector, self.size, self.zero, mask)
        short = ir.VectorType(element, self.lanes)
        wide = ir.VectorType(_INDEX, self.lanes)
        nothing = ir.Constant(short, [0] * self.lanes)
        bits = self.builder.zext(self._loaded(pointer, short, 2, nothing, mask), wide)
        shift = ir.Constant(wide, [16] * self.lanes)
        return self.builder.bitcast(self.builder.shl(bits, shift), self.vector)

    def _loaded(self, pointer: Any, kind: Any, align: int, otherwise: Any, mask: Any) -> Any:
        place = self.builder.bitcast(pointer, kind.as_pointer())
        if mask is None:
            return self.builder.load(place, align=align)
        load = self._masked("load", kind, kind, [place.type, mask.type, kind])
        return self.builder.call(load, [place, mask, otherwise])

    def store(self, value: Any, pointer: Any, mask: Any = None) -> None:
        """Store one vector; only where the mask is set."""
        place = self.builder.bitcast(pointer, self.vector.as_pointer())
        if mask is None:
            self.builder.store(value, place, align=self.size)
            return
        kinds = [self.vector, place.type, mask.type]
        store = self._masked("store", self.vector, ir.VoidType(), kinds)
        self.builder.call(store, [value, place, mask])

    def _masked(self, what: str, kind: Any, result: Any, kinds: list[Any]) -> Any:
        letter = "i" if isinstance(kind.element, ir.IntType) else "f"
        bits = 16 if letter == "i" else 8 * self.size
        name = f"llvm.masked.{what}.v{self.lanes}{letter}{bits}.p0"
        return cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(result, kinds), name
        )

    def loaded_if(self, wanted: Any, places: list[Any], mask: Any = None) -> list[Any]:
        """The vectors at these places if they are ``wanted``, a truth value; else zeros."""
        with self.builder.if_else(wanted) as (then, otherwise):
            with then:
                given = [self.load(one, mask) for one in places]
                known = self.builder.block
            with otherwise:
                unknown = self.builder.block
        found = []
        for one in given:
            vector = self.builder.phi(self.vector)
            vector.add_incoming(one, known)
            vector.add_incoming(self.zero, unknown)
            found.append(vector)
        return found

    def splat(self, number: Any) -> Any:
        """The number in every lane."""
        return self._everywhere(number, self.vector)

    def fused(self, total: Any, left: Any, right: Any) -> Any:
        """``total + left * right``, rounded once where the processor can."""
        product = self.builder.fmul(left, right, flags=_FUSED)
        return self.builder.fadd(total, product, flags=_FUSED)

    def total(self, vector: Any) -> Any:
        """The sum of all lanes, in any order."""
        kind = ir.FunctionType(self.number, [self.number, self.vector])
        name = f"llvm.vector.reduce.fadd.v{self.lanes}f{8 * self.size}"
        add = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(add, [self.number(0.0), vector], fastmath=("reassoc",))

    def pairs(self, pointer: Any) -> Any:
        """One vector of pairs of bfloat16."""
        kind = ir.VectorType(_INDEX, self.lanes)
        return self.builder.load(self.builder.bitcast(pointer, kind.as_pointer()), align=2)

    def splat_pair(self, pointer: Any) -> Any:
        """The pair of bfloat16 at this place in every lane."""
        kind = ir.VectorType(_INDEX, self.lanes)
        pair = self.builder.load(self.builder.bitcast(pointer, _INDEX.as_pointer()), align=2)
        return self._everywhere(pair, kind)

    def fused_pairs(self, total: Any, left: Any, right: Any) -> Any:
        """The sum with both products of each pair; for processors with :data:`HAS_PAIRS`."""
        kind = ir.FunctionType(self.vector, [self.vector, left.type, right.type])
        # Neither llvmlite nor the languages above it have a type for bfloat16.
        multiply = ir.InlineAsm(kind, "vdpbf16ps $3, $2, $0", "=v,0,v,v")
        return self.builder.call(multiply, [total, left, right])

    def _everywhere(self, number: Any, kind: Any) -> Any:
        some = ir.Constant(kind, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(_INDEX, self.lanes), [0] * self.lanes)
        single = self.builder.insert_element(some, number, _INDEX(0))
        return self.builder.shuffle_vector(single, some, lanes)

    def first_lanes(self, count: Any) -> Any:
        """A mask of the first ``count`` lanes."""
        kind = ir.VectorType(self.integer, self.lanes)
        numbers = ir.Constant(kind, list(range(self.lanes)))
        return self.builder.icmp_signed("<", numbers, self._everywhere(count, kind))

    def fetch(self, pointer: Any) -> None:
        """Ask for the line of memory at this place, to read it soon."""
        place, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place, integer, integer, integer])
        fetch = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        # For reading, into every level, as data.
        flags = [integer(0), integer(3), integer(1)]
        self.builder.call(fetch, [self.builder.bitcast(pointer, place), *flags])

    def loop(
        self, begin: Any, end: Any, totals: list[Any], body: Callable[[Any, list[Any]], list[Any]]
    ) -> list[Any]:
        """For every number from ``begin`` to ``end``: the sums that ``body`` makes of it and those so far.

        They stay in registers throughout.
        """
        builder, entry = self.builder, self.builder.block
        inside, after = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed("<", begin, end), inside, after)
        builder.position_at_end(inside)
        position = builder.phi(self.integer)
        position.add_incoming(begin, entry)
        running = [builder.phi(self.vector) for _ in totals]
        for phi, total in zip(running, totals, strict=True):
            phi.add_incoming(total, entry)
        found = body(position, running)
        onward = builder.add(position, self.integer(1))
        last = builder.block
        position.add_incoming(onward, last)
        for phi, total in zip(running, found, strict=True):
            phi.add_incoming(total, last)
        builder.cbranch(builder.icmp_signed("<", onward, end), inside, after)
        builder.position_at_end(after)
        results = []
        for total, ended in zip(totals, found, strict=True):
            result = builder.phi(self.vector)
            result.add_incoming(total, entry)
            result.add_incoming(ended, last)
            results.append(result)
        return results
