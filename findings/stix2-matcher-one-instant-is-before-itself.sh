#!/usr/bin/env bash
# stix2-matcher 3.0.0, Python 3. FOLLOWEDBY compares times alone, and with "not later": of two observations of one instant each follows the
# other, whatever their order in the file. With observations that lasted, both orders can be true as well, as each has an instant before one
# of the other. A detection "logon followed by logoff" fires for the two in either order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q stix2-matcher==3.0.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
from stix2matcher.matcher import match


def observed(kind, first, last):
    return {"type": "observed-data", "id": f"observed-data--{kind}", "number_observed": 1,
            "first_observed": f"2026-01-01T00:00:{first:02}Z", "last_observed": f"2026-01-01T00:00:{last:02}Z",
            "objects": {"0": {"type": kind, "x": 1}}}


for what, logoff, logon in (
    ("a second apart", (1, 1), (2, 2)),
    ("in one instant", (1, 1), (1, 1)),
    ("overlapping", (1, 9), (5, 20)),
):
    data = [observed("logoff", *logoff), observed("logon", *logon)]
    answers = [
        bool(match(f"[{one}:x = 1] FOLLOWEDBY [{other}:x = 1]", data))
        for one, other in (("logoff", "logon"), ("logon", "logoff"))
    ]
    print(f"logoff, then logon, {what}: logoff first {answers[0]}, logon first {answers[1]}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
logoff, then logon, a second apart: logoff first True, logon first False
logoff, then logon, in one instant: logoff first True, logon first True
logoff, then logon, overlapping: logoff first True, logon first True
SEEN
