-- As many as there are: then the statement ends without a look at the row behind them,
-- which a transaction may hold that is open.
DELETE FROM @{} WHERE seq <= ? ORDER BY seq LIMIT ?
