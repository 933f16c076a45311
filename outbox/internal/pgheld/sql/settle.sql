-- Restores the invariant of keys after changes to their records: the first record of a key is
-- tried again or parked, and none behind it is tried. So if the first one waits, since the record
-- before it has gone, it becomes due; and one that is to be tried although another comes before
-- it waits. Two probes per key, of the indexes by key: $2 and $3 are the keys. See design 5.1.
WITH k AS MATERIALIZED (
    SELECT DISTINCT topic, key FROM unnest($2::text[], $3::text[]) AS k(topic, key) WHERE key IS NOT NULL
), f AS MATERIALIZED (
    SELECT k.topic, k.key, h.seq, h.state
    FROM k CROSS JOIN LATERAL (
        SELECT h.seq, h.state FROM @{_held} h
        WHERE h.relay_group = $1 AND left(h.topic, 255) = left(k.topic, 255) AND h.topic = k.topic
          AND hashtextextended(h.key, 0) = hashtextextended(k.key, 0) AND h.key = k.key
        ORDER BY h.seq LIMIT 1) h
), late AS MATERIALIZED (
    SELECT h.seq
    FROM f CROSS JOIN LATERAL (
        SELECT h.seq FROM @{_held} h
        WHERE h.relay_group = $1 AND left(h.topic, 255) = left(f.topic, 255) AND h.topic = f.topic
          AND hashtextextended(h.key, 0) = hashtextextended(f.key, 0) AND h.key = f.key
          AND h.seq > f.seq AND h.state <> 'wait' AND h.state = 'retry'
        ORDER BY h.seq OFFSET 0) h
)
UPDATE @{_held} h
SET state = c.state, next_at = CASE WHEN c.state = 'retry' THEN clock_timestamp() END
FROM (SELECT seq, 'retry' AS state FROM f WHERE f.state = 'wait'
      UNION ALL
      SELECT seq, 'wait' FROM late) c
WHERE h.relay_group = $1 AND h.seq = c.seq
