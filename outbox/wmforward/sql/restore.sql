INSERT INTO {offsets} (consumer_group, offset_acked, last_processed_transaction_id)
VALUES ($1, $2, $3)
ON CONFLICT (consumer_group) DO UPDATE
SET offset_acked = excluded.offset_acked, last_processed_transaction_id = excluded.last_processed_transaction_id
