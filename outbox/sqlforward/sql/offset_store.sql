UPDATE @{offsets} SET offset_acked = ?, offset_consumed = ? WHERE consumer_group = ?
