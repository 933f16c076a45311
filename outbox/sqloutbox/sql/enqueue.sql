-- One row; further rows are appended to VALUES. Keys are locked by now: numbers are drawn here.
INSERT INTO @{} (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, @{now})
