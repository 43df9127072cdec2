"""The order of the arguments of an event of a stream without a schema."""

from cerify.automata.dfa.scopes import order_in
from cerify.semantics.events import Event, Stream


def test_the_arguments_of_a_type_are_its_attributes_but_the_time_as_they_are_first_seen() -> None:
    S = Stream(
        [Event("a", {"x": 1, "time": 1}), Event("b", {"y": 2, "x": 1, "time": 2}), Event("c", {}), Event("a", {"z": 1})]
    )
    assert order_in(S) == {"a": ("x", "z"), "b": ("x", "y"), "c": ()}
