-- What a rebase does with each message that this statement sees. What it does not see is sent in
-- any case, since the group starts over at the same snapshot. $1 the group; $2 whether its
-- position is kept; if not, $3 where it starts over: 0 at the oldest, 1 now, 2 at the time $4,
-- 3 at the first that is not settled. $5 to $10 are where its slots stood (rebase_standing.sql).
--
-- passed is what the position says of a row, by its transaction id. In another cluster, or
-- where numbers began anew, a row that was written since can have an id that was
-- settled there. It is younger than the position by its number, or by its time, and counts as
-- not settled: to send a row twice loses nothing. Where both contradict each other it is a
-- guess. A position that is kept goes by transaction ids alone; what it would leave out
-- is younger by both. A message ahead has the id of a transaction that has not ended on this
-- server: if the position is kept, no window finds it. One walk of the log, which leaves
-- large payloads alone. The last column counts what is delayed or set aside, and stays.
WITH g AS MATERIALIZED (
    SELECT slots, topics, pg_current_snapshot() AS now,
           CASE WHEN $3::int = 2 THEN (SELECT min(seq) FROM @{} WHERE created_at >= $4::timestamptz) END AS since
    FROM @{_groups} WHERE relay_group = $1
), s AS MATERIALIZED (
    SELECT *
    FROM unnest($5::smallint[], $6::text[]::pg_snapshot[], $7::text[]::pg_snapshot[], $8::bigint[], $9::bigint[], $10::timestamptz[])
         AS s(slot, prev, target, last, upto, opened_at)
), m AS MATERIALIZED (
    SELECT o.seq, NOT pg_visible_in_snapshot(o.xid, g.now) AS ahead,
           coalesce(pg_visible_in_snapshot(o.xid, s.prev)
                 OR pg_visible_in_snapshot(o.xid, s.target) AND o.seq <= s.last, false) AS passed,
           o.seq > s.upto AS above, o.created_at > s.opened_at AS later,
           o.seq >= g.since AS since
    FROM @{} o CROSS JOIN g LEFT JOIN s ON s.slot = o.shard % g.slots
    WHERE g.topics IS NULL OR EXISTS (
          SELECT FROM pg_catalog.unnest(g.topics) AS t(pattern)
          WHERE o.topic LIKE replace(replace(replace(replace(t.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'))
), j AS MATERIALIZED (
    SELECT m.*, CASE WHEN $2::boolean THEN passed AND NOT (above AND later) ELSE passed AND NOT (above OR later) END AS settled
    FROM m
), f AS MATERIALIZED (
    SELECT min(seq) AS seq FROM j WHERE NOT settled
), p AS (
    SELECT j.settled, passed AND above <> later AS guess,
           CASE WHEN $2::boolean THEN NOT passed AND NOT ahead
                ELSE CASE $3::int WHEN 0 THEN true WHEN 1 THEN false
                                  WHEN 2 THEN coalesce(since, false) ELSE coalesce(j.seq >= f.seq, false) END END AS sends
    FROM j CROSS JOIN f
)
SELECT EXISTS (SELECT FROM g),
       count(*) FILTER (WHERE sends), count(*) FILTER (WHERE sends AND settled),
       count(*) FILTER (WHERE NOT sends AND NOT settled), count(*) FILTER (WHERE guess),
       (SELECT count(*) FROM @{} o, g
        WHERE o.xid >= pg_snapshot_xmin(g.now) AND NOT pg_visible_in_snapshot(o.xid, g.now) AND NOT $2), (SELECT seq FROM f),
       (SELECT count(*) FROM @{_delayed} d, g WHERE g.topics IS NULL OR EXISTS (
            SELECT FROM pg_catalog.unnest(g.topics) AS t(pattern)
            WHERE d.topic LIKE replace(replace(replace(replace(t.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')))
       + (SELECT count(*) FROM @{_held} WHERE relay_group = $1)
FROM p
WHERE @{primary}
