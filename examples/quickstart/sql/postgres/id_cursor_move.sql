UPDATE id_cursor SET last = $1
