-- $1 the group, $2 the slot, $3 the epoch of the lease, $4 the outages. A session that has lost
-- the lease changes nothing.
WITH mine AS (
    SELECT FROM @{_leases} WHERE relay_group = $1 AND slot = $2 AND epoch = $3
), new AS (
    SELECT * FROM jsonb_to_recordset($4::jsonb) AS x(topic text, since timestamptz, cause text, error text)
), gone AS (
    DELETE FROM @{_out} o USING mine
    WHERE o.relay_group = $1 AND o.slot = $2 AND NOT EXISTS (SELECT FROM new WHERE new.topic = o.topic)
)
INSERT INTO @{_out} (relay_group, slot, topic, epoch, since, cause, error)
SELECT $1, $2, new.topic, $3, new.since, new.cause, new.error FROM new CROSS JOIN mine
ON CONFLICT (relay_group, slot, topic) DO UPDATE
SET epoch = EXCLUDED.epoch, since = EXCLUDED.since, cause = EXCLUDED.cause, error = EXCLUDED.error
