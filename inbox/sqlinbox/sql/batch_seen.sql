SELECT id FROM @{} WHERE consumer = ? AND id IN ({list})
