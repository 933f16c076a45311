-- Whether this transaction is still the one that has claimed: an error of the database, such as a
-- deadlock, or a statement of the handler may have ended it, and later writes then committed by
-- themselves. Parameters: consumer, id, token.
SELECT 1 FROM @{} WHERE consumer = ? AND id = ? AND token = ?
