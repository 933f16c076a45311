-- Moves messages into the log, in the order of their times: nextval is called above the sort.
-- The locks of their keys are held by now, and the page is read again under them. Rows are
-- locked in their order, so that promoters wait for each other and do not deadlock. The xid is
-- drawn by these locks, before any number. The time of the event stays what it was. $1 and $2:
-- the row before the page; $3 and $4: its last row; $5: the keys whose messages may go, NULL
-- for all. See design 10.6.
WITH d AS (
    DELETE FROM @{_delayed} x
    USING (
        SELECT not_before, no
        FROM @{_delayed}
        WHERE (not_before, no) > ($1::timestamptz, $2::bigint) AND (not_before, no) <= ($3::timestamptz, $4::bigint)
          AND (key IS NULL OR $5::text[] IS NULL OR key = ANY ($5::text[]))
        ORDER BY not_before, no
        FOR UPDATE
    ) k
    WHERE x.not_before = k.not_before AND x.no = k.no
    RETURNING x.*
)
INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
SELECT shard, id, id_text, topic, key, type, payload, headers, coalesce(occurred_at, created_at)
FROM d
ORDER BY not_before, no
