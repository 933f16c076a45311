-- Locks the row that names the life of the log, unless another transaction has: it has nothing else to do.
SELECT seq FROM @{} WHERE seq = -1 @{skip_locked}
