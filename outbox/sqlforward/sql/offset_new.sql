@{insert_ignore} @{offsets} (consumer_group, offset_acked, offset_consumed) VALUES (?, 0, 0)
