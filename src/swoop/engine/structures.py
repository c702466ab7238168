"""Structures, declared once and seen by Python and by kernels alike: numbers, flat arrays, and other structures.

.. code-block:: python

    @structure
    class Stock(ctypes.Structure):
        size: int
        threshold: float
        pairs: Annotated[Any, PAIR]  # an array of PAIR

To Python a structure is one of ``ctypes``: ``stock.size`` is an int, and ``stock.pairs`` tells where the array is and how
long; the array itself is kept by its owner (``memory.py``). A kernel gets the memory of the outermost structure as an ``int64``
array, which takes 0.3 microseconds where passing the arrays would take 7, and sees it through a *view* (:func:`view_of`):
``stock.size`` is read from memory and written to it, ``state.stock`` is the view of a structure within another, and
``stock.pairs`` is a flat array, as it was when the view was taken.

Flat arrays have a ``size``, and elements that are read and written. An index is never counted from the end, which spares a
check of each, and nothing is reference counted: the owner keeps the arrays alive.
"""

from __future__ import annotations

import ctypes
import inspect
import operator
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_getattr_generic, lower_setattr_generic, models, register_model

Class = TypeVar("Class", bound=type[ctypes.Structure])

_NUMBERS: dict[Any, Any] = {int: ctypes.c_int64, float: ctypes.c_double}
_MACHINE_NUMBERS = {int: types.int64, float: types.float64}


class Place(ctypes.Structure):
    """Where an array is, and how long."""

    _fields_ = (("address", ctypes.c_int64), ("size", ctypes.c_int64))
    address: int
    size: int


def structure(cls: Class) -> Class:
    """Make a structure of what is annotated in a class, behind what its base class has."""
    own = inspect.get_annotations(cls)
    cls._fields_ = [(name, _stored(declared)) for name, declared in _declared(cls).items() if name in own]
    return cls


@cache
def _declared(cls: type[ctypes.Structure]) -> dict[str, Any]:
    """What is annotated: ``int``, ``float``, a structure, or the dtype of an array."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: getattr(hint, "__metadata__", (hint,))[0] for name, hint in hints.items() if not name.startswith("_")}


def _stored(declared: Any) -> Any:
    return Place if isinstance(declared, np.dtype) else _NUMBERS.get(declared, declared)


def arrays_of(cls: type[ctypes.Structure]) -> dict[str, np.dtype[Any]]:
    """The paths of all arrays of a structure, such as ``"stock.pairs"``, and their dtypes."""
    found: dict[str, np.dtype[Any]] = {}
    for name, declared in _declared(cls).items():
        if isinstance(declared, np.dtype):
            found[name] = declared
        elif declared not in _NUMBERS:
            found |= {f"{name}.{inner}": dtype for inner, dtype in arrays_of(declared).items()}
    return found


# what kernels see

_lower_getattr = cast(Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]], lower_getattr_generic)
_lower_setattr = cast(Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]], lower_setattr_generic)
_lower = cast(Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]], lower_builtin)

_WORD = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()


class FlatArray(types.Type):  # type: ignore[misc]
    """The type of a flat array."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(f"FlatArray({dtype})")


class View(types.Type):  # type: ignore[misc]
    """The type of the view of a structure."""

    def __init__(self, cls: type[ctypes.Structure]) -> None:
        self.cls = cls
        self.fields = {name: _type_of(declared) for name, declared in _declared(cls).items()}
        super().__init__(f"View({cls.__module__}.{cls.__qualname__})")


@cache
def _type_of(declared: Any) -> Any:
    if isinstance(declared, np.dtype):
        return FlatArray(from_dtype(declared))
    return _MACHINE_NUMBERS[declared] if declared in _MACHINE_NUMBERS else View(declared)


@register_model(FlatArray)
class _FlatArrayModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, flat: FlatArray) -> None:
        super().__init__(manager, flat, [("data", types.CPointer(flat.dtype)), ("size", types.int64)])


@register_model(View)
class _ViewModel(models.StructModel):  # type: ignore[misc]
    """The address of the structure, and its arrays."""

    def __init__(self, manager: Any, view: View) -> None:
        arrays = [(name, field) for name, field in view.fields.items() if isinstance(field, FlatArray)]
        super().__init__(manager, view, [("address", types.voidptr), *arrays])


@infer_getattr
class _FlatArrayAttributes(AttributeTemplate):  # type: ignore[misc]
    key = FlatArray

    def resolve_size(self, flat: FlatArray) -> Any:
        return types.int64


@infer_getattr
class _ViewAttributes(AttributeTemplate):  # type: ignore[misc]
    key = View

    def generic_resolve(self, view: View, name: str) -> Any:
        return view.fields.get(name)


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _: Any) -> Any:
        flat, index = arguments
        if isinstance(flat, FlatArray) and isinstance(index, types.Integer):
            return signature(flat.dtype, flat, index)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _: Any) -> Any:
        flat, index, _value = arguments
        if isinstance(flat, FlatArray) and isinstance(index, types.Integer):
            return signature(types.none, flat, index, flat.dtype)
        return None


def _proxy(context: Any, builder: Any, of: Any, value: Any = None) -> Any:
    return cgutils.create_struct_proxy(of)(context, builder, value=value)


def element_pointer(context: Any, builder: Any, of_array: Any, of_index: Any, array: Any, index: Any) -> Any:
    """The pointer to an element of a flat array, or of one of numpy."""
    data = _proxy(context, builder, of_array, array).data
    return builder.gep(data, [context.cast(builder, index, of_index, types.int64)], inbounds=True)


def _field_pointer(context: Any, builder: Any, view: View, name: str, address: Any) -> Any:
    place = builder.gep(address, [_WORD(getattr(view.cls, name).offset)], inbounds=True)
    field = view.fields[name]
    if isinstance(field, View):
        return place
    of = _WORD if isinstance(field, FlatArray) else context.get_value_type(field)
    return builder.bitcast(place, of.as_pointer())


def _make_view(context: Any, builder: Any, view: View, address: Any) -> Any:
    made = _proxy(context, builder, view)
    made.address = address
    for name, field in view.fields.items():
        if isinstance(field, FlatArray):
            flat = _proxy(context, builder, field)
            place = _field_pointer(context, builder, view, name, address)
            flat.data = builder.inttoptr(builder.load(place), flat.data.type)
            flat.size = builder.load(builder.gep(place, [_WORD(1)], inbounds=True))
            setattr(made, name, flat._getvalue())
    return made._getvalue()


@_lower(operator.getitem, FlatArray, types.Integer)
def _get_item(context: Any, builder: Any, types_: Any, arguments: Any) -> Any:
    flat, index = types_.args
    return context.unpack_value(builder, flat.dtype, element_pointer(context, builder, flat, index, *arguments[:2]))


@_lower(operator.setitem, FlatArray, types.Integer, types.Any)
def _set_item(context: Any, builder: Any, types_: Any, arguments: Any) -> Any:
    flat, index, of_value = types_.args
    value = context.cast(builder, arguments[2], of_value, flat.dtype)
    pointer = element_pointer(context, builder, flat, index, *arguments[:2])
    context.pack_value(builder, flat.dtype, value, pointer)
    return context.get_dummy_value()


@_lower_getattr(FlatArray)
def _get_size(context: Any, builder: Any, flat: FlatArray, array: Any, name: str) -> Any:
    return getattr(_proxy(context, builder, flat, array), name)


@_lower_getattr(View)
def _get_field(context: Any, builder: Any, view: View, value: Any, name: str) -> Any:
    field, made = view.fields[name], _proxy(context, builder, view, value)
    if isinstance(field, FlatArray):
        return getattr(made, name)
    pointer = _field_pointer(context, builder, view, name, made.address)
    return _make_view(context, builder, field, pointer) if isinstance(field, View) else builder.load(pointer)


@_lower_setattr(View)
def _set_field(context: Any, builder: Any, types_: Any, arguments: Any, name: str) -> None:
    view, of_value = types_.args
    address = _proxy(context, builder, view, arguments[0]).address
    value = context.cast(builder, arguments[1], of_value, view.fields[name])
    builder.store(value, _field_pointer(context, builder, view, name, address))


def view_of(cls: type[ctypes.Structure]) -> Callable[[Any], Any]:
    """The function with which a kernel sees its memory, an ``int64`` array, as the given structure."""
    view = _type_of(cls)

    def see(typing_context: Any, memory: Any) -> Any:
        def generate(context: Any, builder: Any, types_: Any, arguments: Any) -> Any:
            data = context.make_array(types_.args[0])(context, builder, arguments[0]).data
            return _make_view(context, builder, view, builder.bitcast(data, _BYTES))

        return view(memory), generate

    return cast(Callable[[Any], Any], intrinsic(see))


@cast(Callable[..., Any], intrinsic)
def as_words(typing_context: Any, array: Any) -> Any:
    """A flat array of bytes as one of ``int64``."""
    words = _type_of(np.dtype(np.int64))

    def generate(context: Any, builder: Any, types_: Any, arguments: Any) -> Any:
        source, made = _proxy(context, builder, types_.args[0], arguments[0]), _proxy(context, builder, words)
        made.data = builder.bitcast(source.data, made.data.type)
        made.size = builder.lshr(source.size, _WORD(3))
        return made._getvalue()

    return words(array), generate
