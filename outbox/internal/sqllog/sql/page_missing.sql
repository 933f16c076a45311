-- Rows with numbers that were missing before, since their transactions were open then. Each
-- span costs one descent of the primary key.
SELECT seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{} WHERE @{same_server} AND ({list}) ORDER BY seq LIMIT ?
