"""The numbers that kernels.py and those who call it agree on: operations, and what stands where in its arrays."""

EXACT = 2.0**53
"""Numbers below it are exact in binary64, whole numbers and what is added, subtracted and multiplied of them."""

# conditions: the first five put a value on the stack; from AND on they take two
COLUMN, CELL, CONSTANT, TRUE, FALSE, NOT, CHECK = range(7)
AND, OR, ADD, SUBTRACT, MULTIPLY, DIVIDE = range(7, 13)
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL = range(13, 19)

# cells: the number of events, then values of events, then aggregates of values
NUMBER, FIRST, LAST, COUNT, SUM, SMALLEST, LARGEST = range(7)

# a state in the plan: the state after selecting; from and to where there stand what selecting does to cells (how, cell,
# column), conditions on the event and on the run, those of them that are underlined, those on the end (operation,
# argument), and the equivalence tests that the partition does not decide (cell, column, whether it is underlined)
KIND, STRATEGY, COMPONENT, IS_LAST, CUT, ALWAYS, CAREFUL, HAS_END, ITSELF, TWICE, AFTER = range(11)
UPDATE, TEST, MARK, END, TESTED = range(11, 21, 2)
WIDTH = 21

# what stands there
SINGLE, FIRST_OF_MORE, MORE = range(3)
STRICT, PARTITION, NEXT, ANY = range(4)

# what is carried from batch to batch: a run that is free, how many runs and nodes there are, and the part of the queue
FREE, ALIVE, NODES, QUEUE_FROM, QUEUE_TO = range(5)
# what has been found in a batch: matches, their events, and those not yet written; what went wrong, and what is missing
FOUND, EVENTS, PENDING, ERROR, NEEDED = range(5, 10)
RUNS_EXCEEDED, MATCHES_EXCEEDED, INEXACT = 1, 2, 3
ROOM_FOR_PENDING, ROOM_FOR_NODES, ROOM_FOR_RUNS, ROOM_IN_QUEUE, OUTPUT = range(1, 6)

WAITING = -2
"""Of a node: a run waits with it for the next component."""
