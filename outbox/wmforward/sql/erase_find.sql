-- Rows of the forwarder's table after ($1, $2), by primary key. Their keys and topics are in
-- their envelopes.
SELECT transaction_id, "offset", uuid::text, payload FROM {log}
WHERE (transaction_id, "offset") > ($1::xid8, $2::bigint) AND @{primary}
ORDER BY transaction_id, "offset"
LIMIT $3
