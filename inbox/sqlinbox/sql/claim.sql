-- The claim: a lock that is only tried, the floor, and the insertion, in one statement. Of
-- racers one has the bucket's row and goes on; the others find nothing to lock, and insert
-- nothing. They neither wait nor meet in the index of ids, where InnoDB would end two of
-- three in a deadlock when the first rolls back.
-- The floor is in the row that is locked, and so is never an old one, whatever the
-- isolation level; who raises it waits for those that hold the row.
-- It is stored with the later time by the clocks of the database and of the process: it takes both to forget it too early.
-- Parameters: consumer, id, the process's clock, token, bucket, the id's time.
@{insert_ignore} @{} (consumer, id, at, token)
SELECT ?, ?, @{later}(@{now}, ?), ? FROM @{_locks} WHERE bucket = ? AND floor <= ? @{skip_locked}
