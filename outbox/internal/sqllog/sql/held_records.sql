SELECT seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{_held} WHERE relay_group = ? AND seq IN ({list}) ORDER BY seq LIMIT 9223372036854775807
