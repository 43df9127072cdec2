"""The numbers that kernels.py shares with its callers: operations, and the places of values in its arrays."""

EXACT = 2.0**53
"""Numbers below it are exact in binary64, whole numbers and what is added, subtracted and multiplied of them."""

# conditions: the first five put a value on the stack; from AND on they take two
COLUMN, REGISTER, CONSTANT, TRUE, FALSE, NOT, CHECK = range(7)
AND, OR, ADD, SUBTRACT, MULTIPLY, DIVIDE = range(7, 13)
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL = range(13, 19)

# registers: the number of events, then values of events, then what values make of them: 0 while there are none, their
# number, sum, and the k smallest or largest, the best first, in k registers
NUMBER, FIRST, LAST, VOID, COUNT, SUM, SMALLEST, LARGEST = range(8)

# a state in the plan: its flags, the state after selecting, which of its bit and that of the next state an event has
# that is not merely skipped (0: any event), and the first and last index, exclusive, of the rows that it refers to:
# updates of registers (how, register, column, and k, or for a sum whether it is one of whole numbers); conditions on
# the event and on the run, those of them that are underlined, those on the end, those with which the window is over
# where times do not ascend (operation, argument); the equivalence tests that the partition does not decide (register,
# column, whether it defines the partition)
KIND, STRATEGY, COMPONENT, IS_LAST, CUT, AFTER_EACH, KEEPS_NEXT, HAS_END, ITSELF, TWICE, AFTER, CONCERNS = range(12)
UPDATE, TEST, MARK, END, OVER, TESTED = range(12, 24, 2)
WIDTH = 24

# a negated component: its first state, whether it has to be complete (else its first event is enough), the components
# before and after it (-1: none), and where the window bounds its scope
STATE, COMPLETE, BEFORE, BEHIND, SIDE = range(5)
BETWEEN, IN_FRONT, AT_END = range(3)

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
