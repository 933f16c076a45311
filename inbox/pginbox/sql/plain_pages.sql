SELECT pg_relation_size(@{text:}::regclass) / current_setting('block_size')::bigint
WHERE @{primary}
