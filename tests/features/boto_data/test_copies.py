"""A copy of botocore's data is equal to the original, and what is written into it stays in it."""

from __future__ import annotations

import copy
import json
import marshal
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.features.boto_data import copies
from converse_harness.features.boto_data.copies import LazyObject, copies_of, copies_of_endpoints
from converse_harness.json_values import is_array, is_object

NAMES = [f"name{number}" for number in range(5)]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
DATA = st.recursive(
    SCALARS, lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3)
)
ENDPOINTS = st.fixed_dictionaries(
    {
        "partitions": st.lists(
            st.fixed_dictionaries({"services": st.dictionaries(st.text(max_size=3), DATA, max_size=3), "regions": DATA})
        ),
        "version": DATA,
    }
)


def written(value: Any) -> None:
    """Write into every object and list of a value."""
    if is_object(value):
        for each in value.values():
            written(each)
        value["more"] = 1
    elif is_array(value):
        for each in value:
            written(each)
        value.append(1)


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@given(st.tuples(DATA, st.just(copies_of)) | st.tuples(DATA | ENDPOINTS, st.just(copies_of_endpoints)))
def test_a_copy_is_equal_and_shares_nothing(drawn: tuple[Any, Callable[[Any], Callable[[], Any]]]) -> None:
    data, made_by = drawn
    before = json.dumps(data)
    make = made_by(data)
    written(data)
    made = make()
    assert json.dumps(made) == before
    written(made)
    assert json.dumps(make()) == before


METHODS: list[Callable[[Any, str], object]] = [
    lambda value, name: value[name],
    lambda value, name: value.get(name),
    lambda value, name: value.get(name, 0),
    lambda value, name: name in value,
    lambda value, name: value.pop(name, 0),
    lambda value, name: value.pop(name),
    lambda value, _: value.popitem(),
    lambda value, name: value.setdefault(name, []),
    lambda value, name: value.update({name: 1}),
    lambda value, name: value.__delitem__(name),
    lambda value, name: value[name].append(2),
    lambda value, _: list(value),
    lambda value, _: list(reversed(value)),
    lambda value, _: list(value.keys()),
    lambda value, _: list(value.values()),
    lambda value, _: list(value.items()),
    lambda value, _: list(reversed(value.items())),
    lambda value, _: len(value),
    lambda value, _: repr(value),
    lambda value, _: dict(value),
    lambda value, _: {**value},
    lambda value, _: OrderedDict(value),
    lambda value, _: value.copy(),
    lambda value, _: copy.copy(value),
    lambda value, _: copy.deepcopy(value),
    lambda value, _: pickled(value),
    lambda value, _: json.dumps(value),
    lambda value, name: value | {name: 2},
    lambda value, name: {name: 2} | value,
    lambda value, name: value.__ior__({name: 2}),
    lambda value, _: value == dict(value),
    lambda value, _: dict(value) == value,
    lambda value, _: value != dict(value),
    lambda value, _: value == dict.fromkeys(value),
    lambda value, _: value.clear(),
]


@given(st.lists(st.tuples(st.sampled_from(METHODS), st.sampled_from(NAMES)), max_size=6))
def test_a_lazy_object_does_what_a_dict_does(steps: list[tuple[Callable[[Any, str], object], str]]) -> None:
    plain = {name: [number] for number, name in enumerate(NAMES[:4])}
    lazy = LazyObject({name: marshal.dumps(each) for name, each in plain.items()})
    for method, name in steps:
        results: list[object] = []
        for value in (plain, lazy):
            try:
                results.append(method(value, name))
            except (KeyError, AttributeError) as error:
                results.append(type(error))
        assert results[0] == results[1]
    assert json.dumps(lazy) == json.dumps(plain)


@pytest.mark.parametrize("make", [LazyObject.copy, copy.copy, copy.deepcopy, pickled])
def test_what_is_made_of_a_lazy_object_is_plain(make: Callable[[Any], Any]) -> None:
    assert type(make(LazyObject({"name": marshal.dumps([1])}))) is dict


def test_threads_get_the_same_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread may write into the member that another one reads at the same time."""
    together = threading.Barrier(2)

    def loads(data: bytes) -> Any:
        together.wait(timeout=10)
        return marshal.loads(data)

    monkeypatch.setattr(copies, "marshal", SimpleNamespace(loads=loads))
    lazy = LazyObject({"name": marshal.dumps([])})
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lazy.get, ["name", "name"])
    assert one is other is lazy["name"]
