-- In the transaction of the change. $1 consumer's name, $2 action, $3 actor, $4 reason, $5 topic,
-- $6 details.
INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, topic, details)
SELECT $2::text, $3::text, $4::text, c.id, 0, $5::text, $6::jsonb FROM @{_consumers} c WHERE c.name = $1::text
