-- Rows that this statement sees, although it does not see the transactions whose ids they have.
-- They were restored from a cluster in which these had ended. To snapshots they lie in the future,
-- or belong to a transaction that is open here. xid 3 is older than all that ran here, so they
-- become visible to every snapshot but '3:3:', which sees nothing.
--
-- All other restored rows have ids below the transaction of this rebase, whose snapshot sees them,
-- and so does every later one: no row contradicts the position that begins there (back.sql), and
-- none waits for the end of a transaction that it does not belong to. That holds only if this
-- statement has the snapshot at which the group starts over.
--
-- A row of an open transaction stays as it is if a group other than $1 has begun to read here, in
-- cluster $2: that group looks it up when the transaction ends. Found by the index on (xid, seq).
UPDATE @{} o SET xid = '3'
WHERE o.xid >= pg_snapshot_xmin(pg_current_snapshot()) AND NOT pg_visible_in_snapshot(o.xid, pg_current_snapshot())
  AND (o.xid >= pg_snapshot_xmax(pg_current_snapshot()) OR NOT EXISTS (
       SELECT FROM @{_positions} p
       WHERE p.relay_group <> $1 AND p.system_identifier = $2 AND p.target::text <> '3:3:'))
