#!/usr/bin/env bash
# argus-temporal-logic 0.1.4, Python 3. The upper bound of a temporal operator has no effect: Eventually over (0, 2) is true five units
# before the only sample that is true, and Always over (0, 2) is false there. The lower bound is heeded. Both answers are those of the
# operator without an upper bound, whether the signals are constant or linear between samples.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q argus-temporal-logic==0.1.4
"$folder/venv/bin/python" - <<'PYTHON' >"$folder/seen"
from argus import Always, BoolSignal, Eventually, Trace, VarBool, eval_bool_semantics

# True at time 5 alone, of the times 0 to 10.
alarm = BoolSignal.from_samples([(float(t), t == 5) for t in range(11)], interpolation_method="constant")
trace = Trace({"alarm": alarm})
for interval in ((0, 2), (1, 2), (1, None), (0, None)):
    for name, formula in (
        ("eventually alarm", Eventually(VarBool("alarm"), interval=interval)),
        ("always no alarm ", Always(~VarBool("alarm"), interval=interval)),
    ):
        answer = eval_bool_semantics(formula, trace, interpolation_method="constant")
        print(name, interval, "true at", [t for t in range(11) if answer.at(float(t))])
PYTHON
cat "$folder/seen"
# By the definition, "eventually alarm (0, 2)" is true at 3, 4 and 5, and "always no alarm (0, 2)" everywhere else.
diff "$folder/seen" - <<'SEEN'
eventually alarm (0, 2) true at [0, 1, 2, 3, 4, 5]
always no alarm  (0, 2) true at [6, 7, 8, 9, 10]
eventually alarm (1, 2) true at [0, 1, 2, 3, 4]
always no alarm  (1, 2) true at [5, 6, 7, 8, 9, 10]
eventually alarm (1, None) true at [0, 1, 2, 3, 4]
always no alarm  (1, None) true at [5, 6, 7, 8, 9, 10]
eventually alarm (0, None) true at [0, 1, 2, 3, 4, 5]
always no alarm  (0, None) true at [6, 7, 8, 9, 10]
SEEN
