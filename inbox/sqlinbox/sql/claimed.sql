-- Whether this transaction still is the one that has claimed: an error of the database,
-- such as a deadlock, or a statement of the handler may have ended it, and what followed
-- committed by itself. Parameters: consumer, id, token.
SELECT 1 FROM @{} WHERE consumer = ? AND id = ? AND token = ?
