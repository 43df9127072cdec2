#!/usr/bin/env bash
# temporian 0.9.0, Python 3.8 to 3.11. Its package accepts any NumPy, but its compiled operators were built for NumPy 1. With NumPy 2
# they run without a warning and give each event the value of the last one: a running sum, a count in a window, the time since the
# event before. With NumPy 1.26 the same lines are right. What NumPy itself computes (a comparison, a sum of two features) is right with
# both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for numpy in 1.26.4 2.2.6; do
    python3 -m venv "$folder/$numpy"
    "$folder/$numpy/bin/python" -m pip install -q temporian==0.9.0 numpy==$numpy pandas==2.2.3
    "$folder/$numpy/bin/python" - <<'PYTHON' >>"$folder/seen"
import numpy
import temporian as tp

print("NumPy", numpy.__version__)
log = tp.event_set(timestamps=[1, 2, 3, 5], features={"x": [1, 20, 300, 4000]})
probes = tp.event_set(timestamps=[2, 4, 9])
for name, answer in (
    ("x + x", log + log),
    ("cumsum", log.cumsum()),
    ("moving_sum(1.5)", log.moving_sum(1.5)),
    ("moving_count(1.5)", log.moving_count(1.5)),
    ("since_last(sampling=probes)", log.since_last(sampling=probes)),
):
    print(" ", name, answer.get_index_value(()).features[0].tolist())
PYTHON
done
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
NumPy 1.26.4
  x + x [2, 40, 600, 8000]
  cumsum [1, 21, 321, 4321]
  moving_sum(1.5) [1, 21, 320, 4000]
  moving_count(1.5) [1, 2, 2, 1]
  since_last(sampling=probes) [0.0, 1.0, 4.0]
NumPy 2.2.6
  x + x [2, 40, 600, 8000]
  cumsum [4321, 4321, 4321, 4321]
  moving_sum(1.5) [4000, 4000, 4000, 4000]
  moving_count(1.5) [1, 1, 1, 1]
  since_last(sampling=probes) [4.0, 4.0, 4.0]
SEEN
