-- One row at a time: with a list, the plan can become a scan, which waits for a producer's open
-- transaction.
UPDATE @{messages} SET acked = TRUE WHERE `offset` = ? AND acked = FALSE
