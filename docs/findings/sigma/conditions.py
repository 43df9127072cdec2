"""The rules and logs of README.md that findings.py asks about: those of rules.py, and more with other conditions."""

from rules import COUNT, LOGS, PARTS, VALUES

PARTS["net"] = "kind: a, user|cidr: 10.20.0.0/15", "s"
PARTS["there"] = "size|exists: true", "s"
PARTS["same"] = "kind|fieldref: user", "s"
PARTS["like"] = "kind|startswith: a_", "s"
PARTS["glob"] = "kind|cased: 'a[b]'", "s"
PARTS["exact"] = "kind|cased: a", "s"
PARTS["mark"] = "kind: 'a?'", "s"
PARTS["more"] = "user|gte: 10", "s"
LOGS = [
    *LOGS,
    ("22 beside a network", COUNT.replace("[a]", "[net]"), [("b", "10.21.0.1", 2, 0), ("b", "10.21.0.1", 2, 1)]),
    ("23 a text as a network", COUNT.replace("[a]", "[net]"), [("a", "10.20.x", 2, 0), ("a", "10.20.x", 2, 1)]),
    ("24 null", COUNT.replace("[a]", "[there]"), [("a", "u", None, 0), ("a", "u", None, 1)]),
    ("25 fieldref", COUNT.replace("[a]", "[same]"), [("a", "A", 2, 0), ("a", "A", 2, 1)]),
    ("26 a text and a number", COUNT.replace("[a]", "[more]"), [("a", "9", 2, 0), ("a", "9", 2, 1)]),
    ("28 like", COUNT.replace("[a]", "[like]"), [("ab", "u", 2, 0), ("ab", "u", 2, 1)]),
    ("29 glob", COUNT.replace("[a]", "[glob]"), [("ab", "u", 2, 0), ("ab", "u", 2, 1)]),
    ("30 cased", COUNT.replace("[a]", "[exact]"), [("xa", "u", 2, 0), ("xa", "u", 2, 1)]),
    ("31 a question mark", COUNT.replace("[a]", "[mark]"), [("ab", "u", 2, 0), ("ab", "u", 2, 1)]),
    ("32 another case", COUNT.replace("[a]", "[exact]"), [("A", "u", 2, 0), ("A", "u", 2, 1)]),
    ("27 a sum of texts", VALUES.replace("value_count", "value_sum").replace("lt", "gt"), [("a", "u", "6", 0)]),
]
