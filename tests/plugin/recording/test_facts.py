"""The facts about recordings that the workers of xdist send: none is lost, in whatever order they arrive."""

import json
from collections import Counter
from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from converse_harness.plugin.recording.facts import RunFacts

NAMES = st.sampled_from(["a.jsonl", "b.jsonl", "c.jsonl"])
# A new field is drawn by its type.
FACTS: st.SearchStrategy[RunFacts] = st.builds(
    RunFacts,
    **{each.name: ... for each in fields(RunFacts)}
    | {
        "moves": st.dictionaries(NAMES, st.lists(st.text(), min_size=2, max_size=2)),
        "left": st.dictionaries(NAMES, st.lists(st.lists(st.integers(1, 9)), min_size=1)),
        "opened": st.dictionaries(NAMES, st.integers(1, 3)).map(Counter),
        "collected": st.integers(0),
    },
)


def without_order(facts: RunFacts) -> RunFacts:
    """The facts with sorted lists."""
    left = {path: sorted(runs) for path, runs in facts.left.items()}
    return replace(facts, written=sorted(facts.written), remarks=sorted(facts.remarks), left=left)


@given(FACTS)
def test_the_facts_of_a_worker_arrive_as_they_were_sent(facts: RunFacts) -> None:
    sent = json.loads(json.dumps(facts.as_json()))
    assert sent.keys() == {each.name for each in fields(RunFacts)}
    assert RunFacts.from_json(sent) == facts


@given(FACTS)
def test_a_process_without_facts_changes_none(facts: RunFacts) -> None:
    assert facts.merge(RunFacts()) == RunFacts().merge(facts) == facts


@given(FACTS, FACTS, FACTS)
def test_the_order_in_which_workers_end_does_not_matter(one: RunFacts, two: RunFacts, three: RunFacts) -> None:
    assert without_order(one.merge(two)) == without_order(two.merge(one))
    assert without_order(one.merge(two).merge(three)) == without_order(one.merge(two.merge(three)))


@given(FACTS, FACTS)
def test_each_fact_of_two_workers_is_kept(one: RunFacts, two: RunFacts) -> None:
    both = one.merge(two)
    assert Counter(both.written) == Counter(one.written + two.written)
    assert Counter(both.remarks) == Counter(one.remarks + two.remarks)
    assert both.used == one.used | two.used
    assert both.moves.keys() == one.moves.keys() | two.moves.keys()
    assert all(move in (one.moves.get(path), two.moves.get(path)) for path, move in both.moves.items())
    assert {path: Counter(map(tuple, runs)) for path, runs in both.left.items()} == {
        path: Counter(map(tuple, one.left.get(path, []) + two.left.get(path, []))) for path in one.left | two.left
    }
    assert all(both.opened[path] == one.opened[path] + two.opened[path] for path in one.opened | two.opened)
    assert both.collected == max(one.collected, two.collected)
    assert both.whole is (one.whole and two.whole)
