-- The next messages that are due. Nothing is locked here: a row that is locked before the lock
-- of its key is held could be skipped by another promoter, and a later one of the key could
-- overtake it. statement_timestamp, not clock_timestamp: a volatile bound would walk the index
-- past its end. $1 and $2: where the last page ended.
SELECT not_before, no, key
FROM @{_delayed}
WHERE (not_before, no) > ($1::timestamptz, $2::bigint) AND not_before <= statement_timestamp()
  AND @{primary}
ORDER BY not_before, no
LIMIT $3
