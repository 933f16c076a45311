-- Moves the forwarder's position past every transaction, so that a forwarder that is still
-- running, or is started by mistake, finds nothing to send. The number is the largest xid8.
INSERT INTO {offsets} AS o (consumer_group, offset_acked, last_processed_transaction_id)
VALUES ($1, 0, '18446744073709551615')
ON CONFLICT (consumer_group) DO UPDATE SET last_processed_transaction_id = excluded.last_processed_transaction_id
WHERE o.last_processed_transaction_id <> excluded.last_processed_transaction_id
