SELECT state = 'd' FROM @{} WHERE consumer = $1 AND id = $2 AND @{primary}
