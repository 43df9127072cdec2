#!/usr/bin/env bash
# bobocep 1.2.2, Python 3. A negated block is a block that takes an event: the first one that its predicate is false of. So
# "A, not followed by B, followed by C" does not match A C, where no B comes, as C is taken for the negated block and no C is left; and it
# matches A X B C, where a B does come between A and C, since X has satisfied the block before. not_next does the same.
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
    return lambda event, history: isinstance(event.data, str) and event.data == letter


def matches(pattern, letters):
    engine = BoboSetupSimple([BoboPhenomenon("phenomenon", [pattern])], BoboActionHandlerBlocking()).generate()
    found = []

    class Listener:
        def on_producer_update(self, event, local):
            found.append("".join(one.data for group in event.history.events.values() for one in group))

    engine.producer.subscribe(Listener())
    for letter in letters:
        engine.receiver.add_data(letter)
        while any(task.size() for task in (engine.receiver, engine.decider, engine.producer, engine.forwarder)):
            engine.update()
    return found


for word in ("not_followed_by", "not_next"):
    for letters in ("AC", "AXC", "ABC", "AXBC"):
        builder = BoboPatternBuilder("pattern").followed_by(is_("A"), group="a")
        pattern = getattr(builder, word)(is_("B"), group="b").followed_by(is_("C"), group="c").generate()
        print(f"A {word} B followed_by C, on {letters}: {matches(pattern, letters)}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
A not_followed_by B followed_by C, on AC: []
A not_followed_by B followed_by C, on AXC: ['AXC']
A not_followed_by B followed_by C, on ABC: []
A not_followed_by B followed_by C, on AXBC: ['AXC']
A not_next B followed_by C, on AC: []
A not_next B followed_by C, on AXC: ['AXC']
A not_next B followed_by C, on ABC: []
A not_next B followed_by C, on AXBC: ['AXC']
SEEN
