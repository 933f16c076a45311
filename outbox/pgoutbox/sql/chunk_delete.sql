-- Takes at most $2 of the rows above $1 and up to $7, and deletes those that may go: see
-- chunk_look.sql. $6: a snapshot that the archive has seen, or NULL.
, c AS MATERIALIZED (
    SELECT o.seq, o.xid, o.shard, o.created_at FROM {range} o WHERE o.seq > $1 AND o.seq <= $7 ORDER BY o.seq LIMIT $2
)
DELETE FROM {range} o
USING c
WHERE o.seq = c.seq AND ($6::pg_snapshot IS NULL OR pg_visible_in_snapshot(c.xid, $6::pg_snapshot)) AND {may go}
