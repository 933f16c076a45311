-- The records to try now: for each topic that is not excepted, the records whose time has come,
-- longest due first, each with a share of those that wait behind it, up to the next parked one.
-- The topics are found by one probe each, by as much of them as the indexes hold, so that a
-- hundred thousand records of a destination that is out are not read. NOT IN is hashed by every
-- version, <> ALL from 15 on only, and thousands of topics may be out. The page ends at the
-- record with which its bytes reach $6: octet_length and pg_column_size read a value's header, so
-- that what is left out is not fetched. $2 limit, $3 topics to leave out, $4 slots, $5 slot, $6
-- bytes. See design 5.2.
WITH RECURSIVE t AS (
    (SELECT left(topic, 255) AS prefix FROM @{_held} WHERE relay_group = $1 AND state <> 'wait' ORDER BY left(topic, 255) LIMIT 1)
    UNION ALL
    SELECT (SELECT left(h.topic, 255) FROM @{_held} h
            WHERE h.relay_group = $1 AND h.state <> 'wait' AND left(h.topic, 255) > t.prefix ORDER BY left(h.topic, 255) LIMIT 1)
    FROM t WHERE t.prefix IS NOT NULL
), firsts AS MATERIALIZED (
    SELECT d.*
    FROM t CROSS JOIN LATERAL (
        SELECT h.seq, h.topic, h.key, h.next_at FROM @{_held} h
        WHERE h.relay_group = $1 AND left(h.topic, 255) = t.prefix AND h.next_at <= now() AND h.state <> 'wait'
          AND h.shard % $4::smallint = $5::smallint AND h.topic NOT IN (SELECT pg_catalog.unnest($3::text[]))
        ORDER BY h.next_at LIMIT $2) d
    WHERE length(t.prefix) = 255 OR t.prefix NOT IN (SELECT pg_catalog.unnest($3::text[]))
    ORDER BY d.next_at LIMIT $2
), line AS MATERIALIZED (
    SELECT seq FROM firsts
    UNION ALL
    SELECT b.seq
    FROM firsts f CROSS JOIN LATERAL (
        SELECT h.seq FROM @{_held} h
        WHERE h.relay_group = $1 AND left(h.topic, 255) = left(f.topic, 255) AND h.topic = f.topic
          AND hashtextextended(h.key, 0) = hashtextextended(f.key, 0) AND h.key = f.key
          AND h.seq > f.seq AND h.state = 'wait'
          AND h.seq < coalesce((SELECT p.seq FROM @{_held} p
              WHERE p.relay_group = $1 AND left(p.topic, 255) = left(f.topic, 255) AND p.topic = f.topic
                AND hashtextextended(p.key, 0) = hashtextextended(f.key, 0) AND p.key = f.key
                AND p.seq > f.seq AND p.state <> 'wait'
              ORDER BY p.seq LIMIT 1), 9223372036854775807)
        ORDER BY h.seq LIMIT (SELECT $2::bigint / greatest(count(*), 1) FROM firsts)) b
), page AS MATERIALIZED (
    SELECT m.seq, sum(m.bytes) OVER (ORDER BY m.seq ROWS UNBOUNDED PRECEDING) - m.bytes AS before
    FROM (SELECT s.seq, octet_length(i.payload) + coalesce(octet_length(i.key), 0) + coalesce(pg_column_size(i.headers), 0) AS bytes
          FROM (SELECT seq FROM line ORDER BY seq LIMIT $2) s
          CROSS JOIN LATERAL (SELECT * FROM @{_held} i WHERE i.relay_group = $1 AND i.seq = s.seq) i) m
)
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type, h.payload, h.headers, h.attempts
FROM (SELECT seq FROM page WHERE before < $6::bigint) s
CROSS JOIN LATERAL (SELECT * FROM @{_held} i WHERE i.relay_group = $1 AND i.seq = s.seq) h
WHERE @{primary}
ORDER BY h.seq
