-- $1 floor, $2 actor, $3 reason, $4 details.
WITH r AS (UPDATE @{_retention} SET floor = $1::uuid, lowered = lowered + 1)
INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, topic, details)
VALUES ('lower_floor', $2::text, $3::text, 0, 0, '', $4::jsonb)
