"""The queries that sase07 and icde08 print; 2 to 5 of sase07 as put together again from its text."""

QUERIES = {
    "sase07.q1": """PATTERN SEQ(NEWS a, STOCK+ b[])
WHERE a.type = 'bad' ∧ b[i].symbol = 'GOOG'
WITHIN 4 hours
RETURN sum(b[].volume)""",
    "sase07.q2": """PATTERN SEQ(STOCK+ a[])
WHERE skip_till_next_match(a[]!) {
    [symbol]
    and a[1].price = 10
    and a[i].price > a[i-1].price
    and a[a.LEN].price = 20 }
WITHIN 1 hour
HAVING avg(a[].volume) >= a[1].volume
RETURN a[1].symbol, a[].price""",
    "sase07.q3": """PATTERN SEQ(STOCK+ a[], STOCK b)
WHERE skip_till_next_match(a[]!, b) {
    [symbol]
    a[1].volume > 1000
    a[i].price > avg(a[..i-1].price)
    b.volume < 80% * a[a.LEN].volume }
WITHIN 1 hour
RETURN a[1].symbol, a[].(price, volume), b.(price, volume)""",
    "sase07.q4": """PATTERN SEQ(SCAN a, ~SCAN+ b[], SCAN c)
WHERE skip_till_next_match(a, b[], c) {
    [object_id] and a.location = 'New York' and c.location = 'Amherst'
    and b[1].origin = a.location and b[i].origin = b[i-1].location and count(b[]) <= 3 }
RETURN anomaly(a.object_id AS object_id, c.courier_id AS courier_id) IN STREAM anomalies""",
    "sase07.q5": """FROM anomalies
PATTERN SEQ(anomaly+ a[])
WHERE [courier_id] and count(a[]) >= 10
WITHIN 1 weeks
RETURN a[1].courier_id, a[].object_id""",
    "icde08.q1": """FROM InputStream
PATTERN SEQ(Start a, RFID+ b[], End c)
WHERE skip_till_next_match(a, b[] !, c) {
    [loading_dock] and a.session_id = c.session_id and b[i].packaging_level = 'pallet' }
RETURN a.session_id, count(b[]), b[].(tag_id, reader_id)""",
    "icde08.q2": """FROM InputStream
PATTERN SEQ(Alert a, Shipment+ b[])
WHERE skip_till_any_match(a, b[]) {
    a.type = 'contaminated' and b[1].from = a.site and b[i].from = b[i-1].to }
WITHIN 3 hours
RETURN a.type, a.site, b[].to""",
}

Q4_AND_Q5 = f"{QUERIES['sase07.q4']};\n{QUERIES['sase07.q5']}"
"""Query 5 reads what Query 4 makes, so that they are one program."""
