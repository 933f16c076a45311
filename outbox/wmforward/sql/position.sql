-- The forwarder's position, which it locks while it sends a batch.
SELECT o.last_processed_transaction_id, coalesce(o.offset_acked, 0)
FROM {offsets} o
WHERE o.consumer_group = $1
FOR UPDATE
