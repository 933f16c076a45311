SELECT no, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{_delayed} WHERE no IN ({list}) ORDER BY not_before, no LIMIT 9223372036854775807
