SELECT seq, id, topic, msg_key, headers FROM @{} WHERE seq >= ? AND seq <= ? AND shard <> -1 AND ({list}) ORDER BY seq
