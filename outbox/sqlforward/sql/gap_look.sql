-- Fails at once if a transaction has inserted one of the numbers and has not ended. It runs
-- alone, under READ COMMITTED: then it locks rows that are there, and no room between them.
-- If a row of a queue is acked already, the forwarder has sent it.
SELECT `offset` FROM @{messages} WHERE `offset` BETWEEN ? AND ? @{unacked} @{nowait}
