DELETE FROM @{}
WHERE ctid = ANY (ARRAY(SELECT ctid FROM @{} WHERE expires_at <= clock_timestamp() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
