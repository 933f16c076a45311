-- As page_missing, without what can be large.
SELECT seq, shard, id, topic, msg_key, type, NULL, NULL, occurred_at, created_at
FROM @{} WHERE {list} ORDER BY seq LIMIT ?
