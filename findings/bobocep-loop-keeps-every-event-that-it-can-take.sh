#!/usr/bin/env bash
# bobocep 1.2.2, Python 3. A block with loop=True "loops back onto itself (making it non-deterministic)", says the documentation. But an
# event that the loop can take is always taken by the loop: where the next block asks for such an event too, the pattern never completes,
# however long the stream. On A B B B the pattern A, B loop, B has no match; A, B, B has one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q bobocep==1.2.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
from bobocep.cep.action.handler import BoboActionHandlerBlocking
from bobocep.cep.phenom.pattern.builder import BoboPatternBuilder
from bobocep.cep.phenom.phenom import BoboPhenomenon
from bobocep.setup.simple import BoboSetupSimple


def is_(letter):
    return lambda event, history: isinstance(event.data, str) and event.data in letter


def matches(last, loop, letters):
    builder = BoboPatternBuilder("pattern").followed_by(is_("A"), group="a").followed_by(is_("B"), group="b", loop=loop)
    pattern = builder.followed_by(is_(last), group="c").generate()
    engine = BoboSetupSimple([BoboPhenomenon("phenomenon", [pattern])], BoboActionHandlerBlocking()).generate()
    found = []

    class Listener:
        def on_producer_update(self, event, local):
            found.append({name: "".join(one.data for one in group) for name, group in event.history.events.items()})

    engine.producer.subscribe(Listener())
    for letter in letters:
        engine.receiver.add_data(letter)
        while any(task.size() for task in (engine.receiver, engine.decider, engine.producer, engine.forwarder)):
            engine.update()
    return found


for last in ("B", "BC", "C"):
    for loop in (False, True):
        print(f"A, B{' loop' * loop}, {' or '.join(last)}, on ABBBC: {matches(last, loop, 'ABBBC')}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
A, B, B, on ABBBC: [{'a': 'A', 'b': 'B', 'c': 'B'}]
A, B loop, B, on ABBBC: []
A, B, B or C, on ABBBC: [{'a': 'A', 'b': 'B', 'c': 'B'}]
A, B loop, B or C, on ABBBC: [{'a': 'A', 'b': 'BBB', 'c': 'C'}]
A, B, C, on ABBBC: [{'a': 'A', 'b': 'B', 'c': 'C'}]
A, B loop, C, on ABBBC: [{'a': 'A', 'b': 'BBB', 'c': 'C'}]
SEEN
