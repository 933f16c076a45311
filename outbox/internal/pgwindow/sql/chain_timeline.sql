-- Notes the timeline that the server of group $1 writes, and returns that of before and of now if it
-- is another one. The timeline is that of the log's current file: pg_control_checkpoint() tells of
-- a new one too late.
UPDATE @{_groups} g SET timeline = n.now
FROM (SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS now) n, @{_groups} w
WHERE g.relay_group = $1 AND w.relay_group = g.relay_group AND g.timeline IS DISTINCT FROM n.now
RETURNING coalesce(w.timeline, 0), n.now
