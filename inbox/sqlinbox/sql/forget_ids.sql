DELETE FROM @{} WHERE consumer = ? AND id IN ({list})
