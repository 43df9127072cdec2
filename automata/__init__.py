"""How a query runs: automata, their compilers and their evaluators."""
