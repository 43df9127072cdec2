#!/usr/bin/env bash
# cloudevents 2.2.0, Python 3. In HTTP's structured mode data comes back as it was sent. In its binary mode, with datacontenttype
# application/json, data that is no object is written as Python prints it, and then read as JSON: the list ["5"] comes back as the text
# "['5']", the text "5" as the number 5, the text "null" and the empty text as None, and true as the text "True". In both modes an event
# without a time gets the moment at which it is read, so that it has another time at each reading.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q cloudevents==2.2.0
"$folder/venv/bin/python" - <<'PYTHON' >"$folder/seen"
import time

from cloudevents.core.bindings.http import from_binary, from_structured, to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/door", "type": "opened", "datacontenttype": "application/json"}
for data in ({"x": "5"}, ["5"], "door", "5", "null", "", True, 5):
    event = CloudEvent(dict(ATTRIBUTES), data)
    message = to_binary(event, JSONFormat())
    answers = [
        from_structured(to_structured(event, JSONFormat()), JSONFormat(), CloudEvent).get_data(),
        from_binary(message, JSONFormat(), CloudEvent).get_data(),
    ]
    print(repr(data), "| structured", repr(answers[0]), "| binary", message.body, repr(answers[1]))

TEXT = b'{"specversion": "1.0", "id": "1", "source": "/door", "type": "opened"}'
first = JSONFormat().read(None, TEXT)
time.sleep(0.01)
second = JSONFormat().read(None, TEXT)
print("without a time: read twice, equal times:", first.get_time() == second.get_time(), "| has a time:", first.get_time() is not None)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
{'x': '5'} | structured {'x': '5'} | binary b'{"x": "5"}' {'x': '5'}
['5'] | structured ['5'] | binary b"['5']" "['5']"
'door' | structured 'door' | binary b'door' 'door'
'5' | structured '5' | binary b'5' 5
'null' | structured 'null' | binary b'null' None
'' | structured '' | binary b'' None
True | structured True | binary b'True' 'True'
5 | structured 5 | binary b'5' 5
without a time: read twice, equal times: False | has a time: True
SEEN
