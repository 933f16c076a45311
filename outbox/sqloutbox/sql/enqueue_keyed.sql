-- The lock of the key, then the number, in one round trip. The SELECT locks its row before
-- it hands it on, so the number of the row is drawn under the lock.
INSERT INTO @{} (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
SELECT ?, ?, ?, ?, ?, ?, ?, ?, @{now} FROM @{_locks} WHERE bucket = ? @{for_update}
