-- In a transaction that sees what is not committed: who has the message in hand.
SELECT consumer FROM @{} WHERE id = ? AND consumer IN ({list}) LIMIT 9223372036854775807
