-- Completes the change of the slots of group $1, if there is one, every old slot has reached its
-- marker and none is leased: a row there shows that everything before was settled. New slots get
-- the same place, removed slots lose theirs, and earlier leases are no longer valid. The lock on
-- the group comes first; a session that waited for it finds nothing left to do.
WITH g AS (
    SELECT relay_group, slots, next_slots FROM @{_groups}
    WHERE relay_group = $1 AND next_slots IS NOT NULL
    FOR UPDATE
), come AS (
    SELECT p.*
    FROM g
    CROSS JOIN generate_series(0, g.slots - 1) AS s(no)
    CROSS JOIN LATERAL (
        SELECT * FROM @{_positions}
        WHERE relay_group = g.relay_group AND slot = s.no
        ORDER BY window_no DESC
        LIMIT 1
    ) p
    WHERE p.slots = g.next_slots
      AND NOT EXISTS (SELECT FROM @{_leases} l
                      WHERE l.relay_group = p.relay_group AND l.slot = p.slot
                        AND l.owner IS NOT NULL AND clock_timestamp() BETWEEN l.lease_from AND l.lease_until)
), done AS (
    UPDATE @{_groups} u
    SET slots = g.next_slots, next_slots = NULL
    FROM g
    WHERE u.relay_group = g.relay_group AND (SELECT count(*) FROM come) = g.slots
    RETURNING g.slots AS before, g.next_slots AS now
), added AS (
    INSERT INTO @{_positions}
        (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, opened_by,
         owner, epoch, system_identifier, slots)
    SELECT m.relay_group, s.no, m.window_no, m.target, m.target, m.next_floor, m.next_floor, m.source_floor, 0, m.opened_by,
           m.owner, m.epoch, m.system_identifier, m.slots
    FROM done
    CROSS JOIN LATERAL generate_series(done.before, done.now - 1) AS s(no)
    CROSS JOIN (SELECT * FROM come ORDER BY slot LIMIT 1) m
), removed AS (
    DELETE FROM @{_positions} p USING done WHERE p.relay_group = $1 AND p.slot >= done.now
), fenced AS (
    UPDATE @{_leases} l SET owner = NULL, epoch = epoch + 1, lease_until = '-infinity', topics = NULL
    FROM done WHERE l.relay_group = $1
)
SELECT count(*) FROM done
