SELECT table_name, COALESCE(engine, 'nothing') FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name IN ({list}) AND COALESCE(engine, '') <> 'InnoDB'
