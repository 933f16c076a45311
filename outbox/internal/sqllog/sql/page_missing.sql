-- Numbers that were not there before: of transactions that were open then. Each span is a
-- descent of the primary key.
SELECT seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{} WHERE @{same_server} AND ({list}) ORDER BY seq LIMIT ?
