-- The next chunk of a table from $1 on, of $2 rows: its first and last number, its rows, and how
-- many of them may go: older than $3 microseconds, at most the number $5 and settled by every
-- group except those of $4. Without a group nothing may go.
, c AS MATERIALIZED (
    SELECT o.seq, o.xid, o.shard, o.created_at FROM {range} o WHERE o.seq > $1 ORDER BY o.seq LIMIT $2
)
SELECT coalesce(min(seq), 0), coalesce(max(seq), 0), count(*), count(*) FILTER (WHERE {may go}),
       pg_current_snapshot()::text
FROM c
WHERE @{primary}
