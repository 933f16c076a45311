-- In a transaction that sees uncommitted rows: the consumers that are processing the message.
SELECT consumer FROM @{} WHERE id = ? AND consumer IN ({list}) LIMIT 9223372036854775807
