-- The next messages that are due, locked for this transaction; one that is being
-- cancelled is passed over. statement_timestamp, not clock_timestamp: a volatile
-- bound would walk the index past its end. $1 and $2: where the last page ended.
SELECT not_before, no, key
FROM @{_delayed}
WHERE (not_before, no) > ($1::timestamptz, $2::bigint) AND not_before <= statement_timestamp()
ORDER BY not_before, no
LIMIT $3
FOR UPDATE SKIP LOCKED
