"""Prints what stix2-matcher 3.0.0 answers to the patterns of README.md, without cerify."""

from stix2matcher.matcher import MatchListener, Pattern


def show(pattern, *observations):
    data = [
        {
            "type": "observed-data",
            "id": f"observed-data--{n}",
            "number_observed": 1,
            "first_observed": f"2026-01-01T00:00:{second:02}Z",
            "last_observed": f"2026-01-01T00:00:{second:02}Z",
            "objects": {"0": {"type": kind, "x": x}},
        }
        for n, (kind, second, x) in enumerate(observations)
    ]
    listener = MatchListener(data)
    Pattern(pattern).walk(listener)
    print(f"{pattern} on {list(observations)}: {list(listener.matched())}")


show("[a:x = 1] FOLLOWEDBY [b:x = 1]", ("b", 0, 1), ("a", 0, 1))
show("[a:x = 1] FOLLOWEDBY [b:x = 1]", ("b", 0, 1), ("a", 1, 1))
show("([a:x = 1] FOLLOWEDBY [b:x = 1]) WITHIN 5 SECONDS", ("a", 0, 1), ("b", 5, 1))
show("[a:x = 1]", ("a", 0, True))
show("[a:x IN (1, 2)]", ("a", 0, True))
