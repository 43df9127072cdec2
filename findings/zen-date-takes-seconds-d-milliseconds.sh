#!/usr/bin/env bash
# zen-engine 2.1.3 (GoRules), Python 3. date() gives seconds since 1970 and takes them; d() of the same language takes a number as milliseconds.
# So d(date(text)) is a day of January 1970, and a time in seconds that year() and dateString() read as 2024 is of 1970 for d(). A rule
# isAfter over two such times can hold where the first is before the second; no error says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q zen-engine==2.1.3
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import zen

event = {"time": "2023-06-01T00:00:00Z", "seconds": 1704067200}
for expression in (
    "dateString(seconds)",
    "year(seconds)",
    "d(seconds)",
    "date('2024-01-01') == date(seconds)",
    "d('2024-01-01').isSame(d(seconds))",
    "d(date('2024-01-01'))",
    "date(time) > date(seconds)",
    "d(time).isAfter(d(seconds))",
):
    print(expression, "->", zen.evaluate_expression(expression, event))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
dateString(seconds) -> 2024-01-01 00:00:00
year(seconds) -> 2024.0
d(seconds) -> 1970-01-20T17:21:07Z
date('2024-01-01') == date(seconds) -> True
d('2024-01-01').isSame(d(seconds)) -> False
d(date('2024-01-01')) -> 1970-01-20T17:21:07Z
date(time) > date(seconds) -> False
d(time).isAfter(d(seconds)) -> True
SEEN
