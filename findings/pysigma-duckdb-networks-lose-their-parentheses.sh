#!/usr/bin/env bash
# pySigma-backend-duckdb 0.1.4 (pySigma 1.5.1), converter of Sigma rules to DuckDB 2.0.1. A `cidr` that becomes several texts joined by OR has
# no parentheses: beside another condition it finds events that fail this condition, and after `not` it finds the second part of the network.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pysigma-backend-duckdb==0.1.4 pysigma==1.5.1 duckdb==2.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import duckdb
from sigma.collection import SigmaCollection
from sigma_backend_duckdb.backend import DuckDBBackend

RULE = """
title: t
logsource: {category: test}
detection:
  both: {kind: x, ip|cidr: 10.20.0.0/15}
  local: {ip|cidr: 10.20.0.0/15}
  condition: CONDITION
"""
duckdb.execute("CREATE TABLE logs AS FROM (VALUES ('x', '10.20.0.1'), ('y', '10.21.0.1'), ('y', '10.30.0.1')) v(kind, ip)")
for condition in "both", "not local":
    (query,) = DuckDBBackend().convert(SigmaCollection.from_yaml(RULE.replace("CONDITION", condition)))
    print(query.partition("WHERE ")[2], duckdb.execute(query).fetchall())
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
kind='x' AND ip ILIKE '10.20.%' OR ip ILIKE '10.21.%' [('x', '10.20.0.1'), ('y', '10.21.0.1')]
NOT ip ILIKE '10.20.%' OR ip ILIKE '10.21.%' [('y', '10.21.0.1'), ('y', '10.30.0.1')]
SEEN
