-- Read-only look for something new. pg_sequence_last_value, not SELECT
-- last_value: the latter shows nextval's write-ahead value. In autocommit, and before the
-- statement that opens a window, so that the value it returns is older than that window's
-- transaction. See design 2.3.
SELECT coalesce(pg_sequence_last_value($1::oid::regclass), 0),
       EXISTS (SELECT FROM pg_current_snapshot() now, pg_snapshot_xip($2::pg_snapshot) x
               WHERE pg_visible_in_snapshot(x, now)),
       pg_is_in_recovery()
