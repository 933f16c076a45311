-- The topics of messages, in the order of their numbers.
SELECT seq, shard, topic FROM @{} WHERE {list} ORDER BY seq LIMIT ?
