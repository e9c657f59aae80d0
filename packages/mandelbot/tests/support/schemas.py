"""Whether data is as a JSON schema says, by the words that our schemas use."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
WORDS = {
    *("$schema", "title", "description", "$defs", "$ref", "contentEncoding"),
    *("type", "enum", "minimum", "format", "oneOf"),
    *("properties", "required", "additionalProperties", "items", "minItems"),
}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Return whether a value is as a part of a schema says."""
    return next(misfits(value, schema, root), None) is None


def misfits(
    value: Any, schema: dict[str, Any], root: dict[str, Any], where: str = ""
) -> Iterator[str]:
    """Yield what of a value is not as the schema says, each with its place."""
    assert set(schema) <= WORDS
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from misfits(value, root["$defs"][name], root, where)
        return
    if not _is_of_type(value, schema.get("type", [])):
        yield f"{where}: {value!r} is no {schema['type']}"
        return
    alternatives = schema.get("oneOf")
    if alternatives and sum(fits(value, one, root) for one in alternatives) != 1:
        yield f"{where}: {value!r} is not one of its forms"
    if isinstance(value, dict):
        yield from _of_object(value, schema, root, where)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: too short"
        for one in value:
            yield from misfits(one, schema.get("items", {}), root, f"{where}[]")
    else:
        yield from _of_plain(value, schema, where)


def _is_of_type(value: Any, types: str | list[str]) -> bool:
    types = [types] if isinstance(types, str) else types
    if "number" in types and type(value) in {int, float}:
        return True
    return not types or any(type(value) is TYPES.get(one) for one in types)


def _of_object(value: dict, schema: dict, root: dict, where: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in sorted(set(schema.get("required", ())) - value.keys()):
        yield f"{where}.{name} is missing"
    if schema.get("additionalProperties", True) is False:
        yield from (f"{where}.{name} is new" for name in value.keys() - known.keys())
    for name in value.keys() & known.keys():
        yield from misfits(value[name], known[name], root, f"{where}.{name}")


def _of_plain(value: Any, schema: dict, where: str) -> Iterator[str]:
    if value not in schema.get("enum", [value]):
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if type(value) in {int, float} and value < schema.get("minimum", value):
        yield f"{where}: {value!r} is too small"
    if schema.get("format") == "date-time" and isinstance(value, str):
        try:
            is_zoned = datetime.fromisoformat(value).tzinfo is not None
        except ValueError:
            is_zoned = False
        if not is_zoned:
            yield f"{where}: {value!r} is no time"
