#!/usr/bin/env bash
# stix2-matcher 3.0.0, Python 3. A qualifier belongs to the observation before it, not to the whole pattern: in `[logon] FOLLOWEDBY [wipe]
# WITHIN 5 SECONDS` the window is around [wipe] alone, where one observation always fits, so that the pattern is true for a wipe an hour after
# the logon. `[logon] AND [wipe] REPEATS 2 TIMES` asks for two wipes and one logon. With brackets around the sequence both mean what they seem to.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q stix2-matcher==3.0.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
from stix2matcher.matcher import match


def observed(number, kind, time):
    return {"type": "observed-data", "id": f"observed-data--{number}", "number_observed": 1,
            "first_observed": f"2026-01-01T{time}Z", "last_observed": f"2026-01-01T{time}Z",
            "objects": {"0": {"type": kind, "x": 1}}}


hour = [observed(1, "logon", "10:00:00"), observed(2, "wipe", "11:00:00")]
twice = [*hour, observed(3, "wipe", "11:00:01")]
logon, wipe = "[logon:x = 1]", "[wipe:x = 1]"
for data, pattern in (
    (hour, f"{logon} FOLLOWEDBY {wipe} WITHIN 5 SECONDS"),
    (hour, f"({logon} FOLLOWEDBY {wipe}) WITHIN 5 SECONDS"),
    (twice, f"{logon} AND {wipe} REPEATS 2 TIMES"),
    (twice, f"({logon} AND {wipe}) REPEATS 2 TIMES"),
):
    print(f"{len(data)} observations, {pattern}: {bool(match(pattern, data))}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
2 observations, [logon:x = 1] FOLLOWEDBY [wipe:x = 1] WITHIN 5 SECONDS: True
2 observations, ([logon:x = 1] FOLLOWEDBY [wipe:x = 1]) WITHIN 5 SECONDS: False
3 observations, [logon:x = 1] AND [wipe:x = 1] REPEATS 2 TIMES: True
3 observations, ([logon:x = 1] AND [wipe:x = 1]) REPEATS 2 TIMES: False
SEEN
