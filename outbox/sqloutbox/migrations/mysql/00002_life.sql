-- The row that names the life of the log, below all numbers: it goes with whatever empties
-- or replaces the table, and then no relay goes by a position of the log that was there
-- before. The instance of the meta table is the name that positions and the floor belong to.
@{insert_ignore} @{} (seq, shard, id, topic, msg_key, type, payload, headers, created_at)
SELECT -1, -1, instance, '', '', '', '', '', @{now} FROM @{_meta} WHERE only_row = 1;
