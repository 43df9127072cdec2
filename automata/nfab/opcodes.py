"""The numbers that kernels.py shares with its callers: operations, and the places of values in its arrays."""

EXACT = 2.0**53
"""Whole numbers below this bound are exact in binary64, and so are their sums, differences and products below it."""

# operations of conditions: the first five put a value on the stack, NOT and CHECK use the top, the others take two
COLUMN, REGISTER, CONSTANT, TRUE, FALSE, NOT, CHECK = range(7)
AND, OR, ADD, SUBTRACT, MULTIPLY, DIVIDE = range(7, 13)
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL = range(13, 19)

# registers: the number of events; the value of the first or last event; then aggregates of the values: their sum if no
# value is a number (0, and missing after a first value), their count, their sum, and the k smallest or largest, the
# best first, in k registers
NUMBER, FIRST, LAST, VOID, COUNT, SUM, SMALLEST, LARGEST = range(8)

# a state in the plan: flags; AFTER, the state after selecting; and CONCERNS, a mask for the bits that the event has for
# this state (1) and the next (2): an event with none of these bits is skipped. With the mask 0 no event is.
KIND, STRATEGY, COMPONENT, IS_LAST, CUT, AFTER_EACH, KEEPS_NEXT, HAS_END, ITSELF, TWICE, AFTER, CONCERNS = range(12)
# then ranges of the plan, from a first index up to a last, exclusive: updates of registers (how, register, column, and
# k, or for a sum whether its values are whole numbers); conditions on the event and the run (operation, argument); the
# ones that define the partition; conditions at the end; conditions that say that the window is over, if times do not
# ascend; and equivalence tests that the partition does not decide (register, column, whether it defines the partition)
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
"""Marks a node whose run waits for the next component."""
