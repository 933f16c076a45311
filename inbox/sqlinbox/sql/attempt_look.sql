-- Under the bucket's lock, if it is free: whether the message was processed, and whether one
-- of its key is parked. Parameters: consumer, id, consumer, hash of the key, topic, key, bucket.
SELECT EXISTS (SELECT 1 FROM @{} WHERE consumer = ? AND id = ?),
  EXISTS (SELECT 1 FROM @{_parked} WHERE consumer = ? AND key_hash = ? AND topic = ? AND msg_key = ?)
FROM @{_locks} WHERE bucket = ? @{skip_locked}
