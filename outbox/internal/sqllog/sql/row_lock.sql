-- Locks the row that names the life of the log, unless another transaction has it: then there is
-- nothing to do.
SELECT seq FROM @{} WHERE seq = -1 @{skip_locked}
