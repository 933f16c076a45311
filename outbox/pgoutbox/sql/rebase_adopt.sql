-- Rows that were restored from a cluster whose xids were further on: to every
-- snapshot they lie in the future. xid 3 is older than all that ran here, so they
-- become visible to every snapshot but '3:3:', which sees nothing. Rows that were
-- written here have lower xids and stay as they are. Found by the index on (xid, seq).
UPDATE @{} SET xid = '3' WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())
