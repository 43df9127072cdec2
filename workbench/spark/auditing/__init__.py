"""Is what an engine has reported what the query means? Verdicts over a log of any size, and what is behind them."""
