-- What a replay replays: the rows that this snapshot sees. Their numbers end at
-- the sequence's value, which is read after the snapshot was taken. $1 is the
-- sequence.
SELECT pg_current_snapshot()::text, coalesce(pg_sequence_last_value($1::oid), 0)
WHERE @{primary}
