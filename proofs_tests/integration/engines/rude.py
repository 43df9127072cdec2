"""An engine that answers its first case and then misbehaves, in the way named on its command line."""

import json
import os
import subprocess
import sys
import time

HOARD: list[bytearray] = []
STARTED = {"protocol": 1, "engine": {"name": "rude", "version": "0"}, "languages": ["cel"]}


def say(obj: object) -> None:
    print(json.dumps(obj), flush=True)


def misbehave(how: str, id_: str) -> None:
    """What the engine does in place of answering."""
    match how:
        case "dies":
            print("out of luck", file=sys.stderr, flush=True)
            os._exit(7)
        case "hangs":
            time.sleep(600)
        case "hangs with a child":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            time.sleep(600)
        case "floods a line":
            while True:
                sys.stdout.write("x" * 2**20)
        case "floods lines":
            while True:
                say({"id": "flood", "matches": []})
        case "talks too much":
            say({"id": id_, "matches": [{"at": 0, "events": [0]}]})
            say({"id": id_, "matches": [{"at": 0, "events": [0]}]})
        case "goes on talking":
            say({"id": id_, "matches": [{"at": 0, "events": [0]}]})
            print("by the way", flush=True)
        case "nonsense":
            print("%$&!", flush=True)
        case "another schema":
            say({"id": id_, "matches": [{"at": "two", "events": [0]}]})
        case "another id":
            say({"id": "somebody else", "matches": []})
        case "a repetition":
            say({"id": id_, "matches": [{"at": 0, "events": [0]}, {"at": 0, "events": [0]}]})
        case "a position with a point":
            say({"id": id_, "matches": [{"at": 0.0, "events": [0]}]})
        case "at length":
            say({"id": id_, "matches": [{"at": 0, "events": [0]}] * 20_000})
        case "a long skip":
            say({"id": id_, "skipped": "a" * 12_345})
        case "a long id":
            say({"id": "i" * 12_345, "matches": []})
        case "a long key twice":
            print(f'{{"id": "{id_}", "{"k" * 12_345}": 1, "{"k" * 12_345}": 1}}', flush=True)
        case "a long translation":
            say({"id": id_, "matches": [], "translation": "t" * 12_345})
        case "wrong matches":
            say(
                {"id": id_, "matches": [{"at": 0, "events": [0]}, *({"at": i, "events": [i]} for i in range(1, 5_000))]}
            )
        case "a wrong match of many positions":
            say({"id": id_, "matches": [{"at": 0, "events": [*range(20_000)]}]})
        case "a position twice":
            say({"id": id_, "matches": [{"at": 0, "events": [0, 0]}]})
        case "a null beside":
            say({"id": id_, "matches": [{"at": 0, "events": [0]}], "error": None})
        case "no kind":
            say({"id": id_})
        case "a result left out":
            match = {"at": 0, "events": [0], "bindings": {}}
            say({"id": id_, "matches": [match, {**match, "result": {}}]})
        case "unsupported":
            say({"id": id_, "error": {"code": "unsupported", "message": "no such operator"}})
        case "dies but its child lives":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            time.sleep(0.2)
            os._exit(7)
        case "grows":
            HOARD.append(bytearray(b"x" * 2**26))
            say({"id": id_, "matches": [{"at": 0, "events": [0]}]})
        case "out of bounds":
            say({"id": id_, "matches": [{"at": 99, "events": [0]}]})
        case "not text":
            sys.stdout.buffer.write(b"\xff\xfe\n")
            sys.stdout.flush()
        case "eats memory":
            hoard = [bytearray(2**24)]
            while len(hoard) < 64:
                hoard.append(bytearray(b"x" * 2**24))
                time.sleep(0.01)
            time.sleep(600)
        case "skips":
            say({"id": id_, "skipped": "not today", "link": "https://example.org/why"})
        case "an unknown code":
            print("careful", file=sys.stderr, flush=True)
            say({"id": id_, "error": {"code": "wild", "message": "oops"}})
        case "fails":
            say({"id": id_, "error": {"code": "internal", "message": "oops", "span": None}})


def main() -> None:
    """Answer one case well, and misbehave on the second of each process."""
    how, answered = sys.argv[1], 0
    for log in sys.argv[2:]:  # a line for each process started
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
    if how == "never starts":
        time.sleep(600)
    if how == "starts with nonsense":
        print("hello", flush=True)
    if how == "dies at once":
        sys.exit("no licence")
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "start":
            say(STARTED)
        elif message["cmd"] == "stop":
            return
        elif answered == 0:
            answered += 1
            say({"id": message["id"], "matches": [{"at": 0, "events": [0]}]})
        else:
            misbehave(how, message["id"])


main()
