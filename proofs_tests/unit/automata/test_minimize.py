"""The classes of states against Moore's algorithm, which splits them round by round."""

from random import Random

from cerify.automata.exploration import classes


def moore(steps: list[dict[str, int]], final: list[bool]) -> list[int]:
    of = [int(accepts) for accepts in final]
    while True:
        split = [(of[q], *(of[step[letter]] for letter in "ab")) for q, step in enumerate(steps)]
        numbers: dict[tuple[int, ...], int] = {}
        found = [numbers.setdefault(key, len(numbers)) for key in split]
        if len(set(found)) == len(set(of)):
            return found
        of = found


def test_states_are_merged_if_no_word_distinguishes_them() -> None:
    rng = Random(1)
    for _ in range(300):
        n = rng.randint(1, 9)
        steps = [{letter: rng.randrange(n) for letter in "ab"} for _ in range(n)]
        final = [rng.random() < 0.4 for _ in range(n)]
        assert classes(steps, final) == moore(steps, final)
