-- As probe.sql, whether the slots of group $3 are being changed, and which log it
-- is that the sequence belongs to.
SELECT coalesce(pg_sequence_last_value($1::oid::regclass), 0),
       EXISTS (SELECT FROM pg_current_snapshot() now, pg_snapshot_xip($2::pg_snapshot) x
               WHERE pg_visible_in_snapshot(x, now)),
       pg_is_in_recovery(),
       EXISTS (SELECT FROM @{_groups} WHERE relay_group = $3 AND next_slots IS NOT NULL),
       coalesce(pg_relation_filenode($1::oid::regclass), 0)::bigint
