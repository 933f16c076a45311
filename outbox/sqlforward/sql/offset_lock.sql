-- A forwarder holds this row while it sends a batch.
SELECT COALESCE(offset_acked, 0) FROM @{offsets} WHERE consumer_group = ? @{for_update}
