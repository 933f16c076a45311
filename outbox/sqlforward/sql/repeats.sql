SELECT COUNT(*) FROM @{messages} WHERE `offset` > ? AND `offset` <= ?
