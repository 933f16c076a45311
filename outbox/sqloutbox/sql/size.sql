SELECT COALESCE(table_rows, 0), COALESCE(data_length + index_length, 0) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = ?
