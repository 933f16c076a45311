-- Messages of a stretch of the log, the oldest first: $1 before it, $2 its last number, $3
-- how many rows to look at; $4 topic (LIKE), $5 key, $6 type (LIKE), $7 stored at or after,
-- $8 stored before, each NULL for any; $9 whether to leave payloads and headers out, $10 limit,
-- $11 the beginning of the key (NULL for any). The payloads end with the one with which they
-- reach 32 MiB; the last column is how many messages there would be without that limit.
-- shows
SELECT x.seq, x.created_at, x.occurred_at, x.id, x.shard, x.id_text, x.topic, x.key, x.type, x.payload, x.headers, x.found
FROM (SELECT m.*, count(*) OVER () AS found,
             coalesce(sum(octet_length(m.payload)) OVER (ORDER BY m.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
      FROM (SELECT w.seq, w.created_at, w.occurred_at, w.id, w.shard, w.id_text, w.topic, w.key, w.type,
                   CASE WHEN NOT $9::boolean THEN w.payload END AS payload, CASE WHEN NOT $9::boolean THEN w.headers END AS headers
            FROM (SELECT o.* FROM @{} o WHERE o.seq > $1::bigint AND o.seq <= $2::bigint ORDER BY o.seq LIMIT $3) w
            WHERE ($4::text IS NULL OR w.topic LIKE $4) AND ($5::text IS NULL OR w.key = $5) AND ($11::text IS NULL OR starts_with(w.key, $11)) AND ($6::text IS NULL OR coalesce(w.type, '') LIKE $6)
              AND ($7::timestamptz IS NULL OR w.created_at >= $7) AND ($8::timestamptz IS NULL OR w.created_at < $8)
            ORDER BY w.seq
            LIMIT $10) m) x
WHERE x.before < 33554432
ORDER BY x.seq
