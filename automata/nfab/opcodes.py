"""The numbers that kernels.py shares with its callers: operations, and the places of values in its arrays."""

EXACT = 2.0**53
"""Numbers below it are exact in binary64, whole numbers and what is added, subtracted and multiplied of them."""

# conditions: the first five put a value on the stack; from AND on they take two
COLUMN, REGISTER, CONSTANT, TRUE, FALSE, NOT, CHECK = range(7)
AND, OR, ADD, SUBTRACT, MULTIPLY, DIVIDE = range(7, 13)
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL = range(13, 19)

# registers: the number of events, then values of events, then aggregates of values
NUMBER, FIRST, LAST, COUNT, SUM, SMALLEST, LARGEST = range(7)

# a state in the plan: its flags, the state after selecting, and the first and last index, exclusive, of the rows that
# it refers to: updates of registers (how, register, column); conditions on the event and on the run, those of them that
# are underlined, those on the end (operation, argument); the equivalence tests that the partition does not decide
# (register, column, whether it defines the partition)
KIND, STRATEGY, COMPONENT, IS_LAST, CUT, AFTER_EACH, KEEPS_NEXT, HAS_END, ITSELF, TWICE, AFTER = range(11)
UPDATE, TEST, MARK, END, TESTED = range(11, 21, 2)
WIDTH = 21

# kinds and strategies
SINGLE, FIRST_OF_MORE, MORE = range(3)
STRICT, PARTITION, NEXT, ANY = range(4)

# counters that live from batch to batch: a free run, the number of runs and of nodes, and the part of the queue in use
FREE, ALIVE, NODES, QUEUE_FROM, QUEUE_TO = range(5)
# counters of a batch: matches, their events, matches not yet written; the error, and the array that is too short
FOUND, EVENTS, PENDING, ERROR, NEEDED = range(5, 10)
RUNS_EXCEEDED, MATCHES_EXCEEDED, INEXACT = 1, 2, 3
ROOM_FOR_PENDING, ROOM_FOR_NODES, ROOM_FOR_RUNS, ROOM_IN_QUEUE, OUTPUT = range(1, 6)

WAITING = -2
"""Of a node: a run waits with it for the next component."""
