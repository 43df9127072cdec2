#!/usr/bin/env bash
# pyarrow 26.0.1, Python 3. A cast of decimals to float64 multiplies the digits by a power of ten that is no float: 0.57 becomes
# 0.5700000000000001, and of the thousand prices from 0.00 to 9.99, 129 become another float than float(Decimal(...)) gives. A cast
# through text gives that one. So a filter price = 0.57 over a Parquet file misses rows that it finds in the same rows as CSV.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pyarrow==26.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
from decimal import Decimal

import pyarrow as pa

prices = [Decimal(cents).scaleb(-2) for cents in range(1000)]
column = pa.array(prices, pa.decimal128(10, 2))
for name, floats in (("cast", column.cast(pa.float64())), ("through text", column.cast(pa.string()).cast(pa.float64()))):
    wrong = sum(float(price) != found for price, found in zip(prices, floats.to_pylist(), strict=True))
    print(name, floats[57], wrong, "of", len(prices))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
cast 0.5700000000000001 129 of 1000
through text 0.57 0 of 1000
SEEN
