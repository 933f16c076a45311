-- Deletes rows of the forwarder's table: transactions $1 and numbers $2. The audit notes their ids $3 and
-- topics $4, with actor $5, reason $6, and the group $7 from whose source they were deleted.
WITH w AS (
    SELECT * FROM unnest($1::xid8[], $2::bigint[], $3::text[], $4::text[]) w(xid, no, id, topic)
), r AS (
    DELETE FROM {log} i USING w WHERE i.transaction_id = w.xid AND i."offset" = w.no
    RETURNING w.no, w.id, w.topic
)
INSERT INTO @{_audit} (action, actor, reason, relay_group, seq, id, topic, details)
SELECT 'erase', $5, $6, $7, no, id, topic, '{"from": "log"}' FROM r ORDER BY no
