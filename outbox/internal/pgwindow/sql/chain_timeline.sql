-- Notes the timeline that the server of group $1 writes, and returns the last change: the timeline
-- before, the one now, and how long ago it was noticed, in microseconds. The timeline is that of the
-- log's current file: pg_control_checkpoint() tells of a new one too late.
WITH noted AS (
    UPDATE @{_groups} g SET timeline = n.now, timeline_before = g.timeline, timeline_changed = clock_timestamp()
    FROM (SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS now) n
    WHERE g.relay_group = $1 AND g.timeline IS DISTINCT FROM n.now
    RETURNING g.timeline_before, g.timeline, g.timeline_changed
)
SELECT l.timeline_before, l.timeline, (extract(epoch FROM clock_timestamp() - l.timeline_changed) * 1000000.0)::bigint
FROM (
    SELECT timeline_before, timeline, timeline_changed FROM noted
    UNION ALL
    SELECT timeline_before, timeline, timeline_changed FROM @{_groups} WHERE relay_group = $1 AND NOT EXISTS (SELECT FROM noted)
) l
WHERE l.timeline_before IS NOT NULL
