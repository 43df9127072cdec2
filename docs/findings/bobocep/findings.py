"""Prints what bobocep 1.2.2 answers to the patterns of README.md, without cerify."""

from bobocep.cep.action.handler import BoboActionHandlerBlocking
from bobocep.cep.phenom.pattern.builder import BoboPatternBuilder
from bobocep.cep.phenom.phenom import BoboPhenomenon
from bobocep.setup.simple import BoboSetupSimple


def is_(letter):
    return lambda event, history: isinstance(event.data, tuple) and event.data[1] == letter


def show(text, builder, letters):
    phenomenon = BoboPhenomenon("phenomenon", [builder.generate()])
    engine = BoboSetupSimple([phenomenon], BoboActionHandlerBlocking()).generate()
    found = []

    class Listener:
        def on_producer_update(self, event, local):
            found.append([one.data[0] for group in event.history.events.values() for one in group])

    engine.producer.subscribe(Listener())
    for data in enumerate(letters):
        engine.receiver.add_data(data)
        while any(task.size() for task in (engine.receiver, engine.decider, engine.producer, engine.forwarder)):
            engine.update()
    print(f"{text}, on {letters}: {found}")


def begin():
    return BoboPatternBuilder("pattern").followed_by(is_("A"), group="a")


show("A followed_by A", begin().followed_by(is_("A"), group="b"), "AAA")
show("A next A (loop) next A", begin().next(is_("A"), group="b", loop=True).next(is_("A"), group="c"), "AAAA")
show("A next A", begin().next(is_("A"), group="b"), "AAA")
show("A not_followed_by B followed_by C", begin().not_followed_by(is_("B")).followed_by(is_("C"), group="c"), "AC")
show("A not_followed_by B followed_by C", begin().not_followed_by(is_("B")).followed_by(is_("C"), group="c"), "AXBC")
