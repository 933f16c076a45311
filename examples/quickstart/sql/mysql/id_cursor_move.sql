UPDATE id_cursor SET last = ?
