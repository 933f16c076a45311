-- As probe.sql, and whether the slots of group $3 are being changed.
SELECT coalesce(pg_sequence_last_value($1::oid::regclass), 0),
       EXISTS (SELECT FROM pg_current_snapshot() now, pg_snapshot_xip($2::pg_snapshot) x
               WHERE pg_visible_in_snapshot(x, now)),
       pg_is_in_recovery(),
       EXISTS (SELECT FROM @{_groups} WHERE relay_group = $3 AND next_slots IS NOT NULL)
