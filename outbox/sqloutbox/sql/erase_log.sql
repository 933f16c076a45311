-- The row stays as one of a number that nobody uses: a number that is missing would be asked about by
-- every relay. Parameters: six times nothing, seq, id.
UPDATE @{} SET shard = -1, id = ?, topic = ?, msg_key = ?, type = ?, payload = ?, headers = ?, occurred_at = NULL
WHERE seq = ? AND id = ? AND shard <> -1
