-- One row; the others are added. Keys are locked by now: numbers are drawn here.
INSERT INTO @{} (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, @{now})
