SELECT no, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at, not_before
FROM @{_delayed} WHERE {list}
