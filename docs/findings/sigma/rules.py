"""The first rules and logs of README.md; an event is kind, user, size and second."""

PARTS = {"a": ("kind: a", "s"), "b": ("kind: b", "s"), "other": ("size: 1", "not s"), "some": ("kind: 'a*'", "s")}
COUNT = "type: event_count, rules: [a], group-by: [user], timespan: 5s, condition: {gte: 2}"
TEMPORAL = "type: temporal, rules: [a, b], group-by: [user], timespan: 5s"
ORDERED = TEMPORAL.replace("temporal", "temporal_ordered")
VALUES = "type: value_count, rules: [a], group-by: [user], timespan: 5s, condition: {field: size, lt: 2}"
FAR = [("a", "u", 2, 0), ("a", "u", 3, 60)]
LOGS = [
    ("1 timespan", COUNT, FAR),
    ("2 span", TEMPORAL, [*FAR, ("b", "u", 2, 61)]),
    ("3 order", ORDERED, [("b", "u", 2, 0), ("a", "u", 2, 1)]),
    ("4 at the end", COUNT.replace("gte", "lt"), FAR),
    ("5 case", COUNT, [("A", "u", 2, 0), ("A", "u", 2, 1)]),
    ("6 no group", COUNT, [("a", None, 2, 0), ("a", None, 2, 1)]),
    ("7 not", COUNT.replace("[a]", "[other]"), [("a", "u", None, 0), ("a", "u", None, 1)]),
    ("8 two rules", COUNT.replace("[a]", "[a, some]"), [("a", "u", 2, 0)]),
    ("9 no value", VALUES, [("a", "u", None, 0)]),
    ("10 instant", COUNT.replace("gte: 2", "eq: 1"), [("a", "u", 2, 0), ("a", "u", 2, 0)]),
    ("11 groups", COUNT, [("a", "u", 2, 0), ("a", "U", 2, 1)]),
    ("12 values", VALUES, [("a", "u", "x", 0), ("a", "u", "X", 1)]),
    ("13 chain", ORDERED + ", condition: {lte: 1}", [("b", "u", 2, 0), ("a", "u", 2, 1)]),
    ("14 any of", COUNT.replace("[a]", "[a, b]"), [("b", "u", 2, 0), ("b", "u", 2, 1)]),
    ("15 at least", COUNT.replace("gte: 2", "eq: 2"), [("a", "u", 2, 0), ("a", "u", 2, 1), ("a", "u", 2, 2)]),
    ("16 all rules", TEMPORAL + ", condition: {gte: 1}", [("a", "u", 2, 0)]),
    ("17 sample", TEMPORAL, [("a", "u", 2, 0), ("a", "u", 2, 1)]),
    ("18 no group-by", COUNT.replace("group-by: [user], ", ""), FAR),
    ("19 used up", ORDERED, [("a", "u", 2, 0), ("b", "u", 2, 1), ("b", "u", 2, 2)]),
    ("20 fraction", COUNT.replace("gte: 2", "gte: 1.5"), [("a", "u", 2, 0)]),
    ("21 values", VALUES.replace("lt", "gte"), [("a", "u", 2, 0), ("a", "u", 3, 1), ("a", "u", 2, 2)]),
]


def convert(backend, correlation):
    """Return the query of a converter for a correlation and the rules that it names."""
    from sigma.collection import SigmaCollection

    used = correlation.split("[")[1].split("]")[0].split(", ")
    head = "title: {0}\nname: {0}\nlogsource: {{category: test}}\n"
    rules = [head.format(n) + f"detection: {{s: {{{PARTS[n][0]}}}, condition: {PARTS[n][1]}}}\n" for n in used]
    text = "---\n".join([*rules, f"title: t\ncorrelation: {{{correlation}}}\n"])
    return backend.convert(SigmaCollection.from_yaml(text))[-1]
