SELECT consumer_group FROM @{offsets} WHERE consumer_group <> ? ORDER BY consumer_group LIMIT 10
