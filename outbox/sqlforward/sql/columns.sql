SELECT COUNT(*), COUNT(CASE WHEN LOWER(column_name) = 'acked' THEN 1 END)
FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?
