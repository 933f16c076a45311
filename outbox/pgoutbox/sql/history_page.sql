-- A page of history: rows between $1 and $2 that snapshot $3 sees and $4 does not (NULL: all),
-- by one walk of the primary key. The selection stands around the walk and not in it, so that
-- nothing is sorted: stored from $5 to before $6, topics like one of $7, keys among $8, ids
-- among $9; each may be NULL. Large payloads are left out, as in page.sql.
SELECT w.*
FROM (
    SELECT o.seq, o.created_at, o.occurred_at, o.id, o.shard, o.id_text, o.topic, o.key, o.type,
           CASE WHEN octet_length(o.payload) <= (SELECT 33554432 / $10::integer) THEN o.payload END AS payload, o.headers
    FROM @{} o
    WHERE o.seq > $1::bigint AND o.seq <= $2::bigint
      AND pg_visible_in_snapshot(o.xid, $3::pg_snapshot)
      AND ($4::text IS NULL OR NOT pg_visible_in_snapshot(o.xid, $4::text::pg_snapshot))
    ORDER BY o.seq
    OFFSET 0
) w
WHERE ($5::timestamptz IS NULL OR w.created_at >= $5::timestamptz)
  AND ($6::timestamptz IS NULL OR w.created_at < $6::timestamptz)
  AND ($7::text[] IS NULL OR w.topic LIKE ANY ($7::text[]))
  AND ($8::text[] IS NULL OR w.key = ANY ($8::text[]))
  AND ($9::uuid[] IS NULL OR w.id = ANY ($9::uuid[]))
LIMIT $10 OFFSET (@{primary})::int - 1
