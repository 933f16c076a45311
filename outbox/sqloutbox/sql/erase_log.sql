-- The row stays as a closed number: every relay would look for a missing number. Parameters: six
-- empty values, seq, id.
UPDATE @{} SET shard = -1, id = ?, topic = ?, msg_key = ?, type = ?, payload = ?, headers = ?, occurred_at = NULL
WHERE seq = ? AND id = ? AND shard <> -1
