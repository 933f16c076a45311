DELETE FROM @{}
WHERE ctid = ANY (ARRAY(SELECT ctid FROM @{} WHERE expires_at <= least(clock_timestamp(), $2::timestamptz) ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
