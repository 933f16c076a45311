-- The claim: a lock that is only tried, the floor, and the insertion, in one statement. Of
-- concurrent claims one gets the bucket's row and continues; the others find nothing to lock, and
-- insert nothing. They neither wait nor contend in the index of ids, where InnoDB would end two
-- of three in a deadlock when the first rolls back. The floor is in the row that is locked, and
-- so is never outdated, whatever the isolation level; raising it waits for the transactions that
-- hold the row. It is stored with the later time by the clocks of the database and of the
-- process: it takes both to forget it too early. The transaction may have to be on the server that the
-- group's marks were read on. (same_server would not do: its error is a warning where rows are ignored.)
-- Parameters: consumer, id, the process's clock, token, bucket, the id's time, and twice the server, or nothing.
@{insert_ignore} @{} (consumer, id, at, token)
SELECT ?, ?, @{later}(@{now}, ?), ? FROM @{_locks} WHERE bucket = ? AND floor <= ? AND (? = x'' OR @{server} = ?) @{skip_locked}
