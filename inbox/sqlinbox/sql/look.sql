-- Why a claim inserted nothing, after its transaction. Parameters: consumer, id, bucket.
SELECT EXISTS (SELECT 1 FROM @{} WHERE consumer = ? AND id = ?),
  COALESCE((SELECT floor FROM @{_locks} WHERE bucket = ?), -1)
