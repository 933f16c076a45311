-- As many as there are: then the statement ends without a look at the row behind them,
-- which a transaction may hold that is open. Below 1 is the row that names the life of the
-- log.
DELETE FROM @{} WHERE seq > 0 AND seq <= ? ORDER BY seq LIMIT ?
