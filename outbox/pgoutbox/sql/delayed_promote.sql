-- Moves messages into the log, in the order of their times: nextval is called above
-- the sort. The locks of their keys are held and the xid is drawn by now. The time of
-- the event stays what it was.
WITH d AS (
    DELETE FROM @{_delayed} x
    USING unnest($1::timestamptz[], $2::bigint[]) AS k(not_before, no)
    WHERE x.not_before = k.not_before AND x.no = k.no
    RETURNING x.*
)
INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
SELECT shard, id, id_text, topic, key, type, payload, headers, coalesce(occurred_at, created_at)
FROM d
ORDER BY not_before, no
