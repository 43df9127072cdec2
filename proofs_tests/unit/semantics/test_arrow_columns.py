"""Tables of Arrow as tables of a stream."""

import pyarrow as pa
import pytest

from cerify.semantics.arrow_columns import arrow_table, stream_table
from cerify.semantics.errors import InputError


class NoStream:
    """An object that claims to have a table and has none."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return None


class NoArray:
    """The same of an array."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return None


def test_a_table_whose_columns_have_the_types_of_values_is_not_copied() -> None:
    table = pa.table({"type": ["A", "B"], "x": [1, 2], "y": [0.5, None], "z": [True, False]})
    assert stream_table(table, "type") is table


def test_a_time_outside_the_years_of_python_is_refused_though_its_type_is_ours() -> None:
    times = pa.array([0, 2**62], pa.timestamp("us", "UTC"))
    with pytest.raises(InputError, match=r"row 1.*outside the years"):
        stream_table(pa.table({"type": ["A", "B"], "t": times}), "type")


@pytest.mark.parametrize("kind", [NoStream, NoArray])
def test_what_only_claims_to_have_a_table_is_an_input_error(kind: type) -> None:
    with pytest.raises(InputError, match=kind.__name__):
        arrow_table(kind())
