-- The outages of a group, with the number of records that are being tried again (heldqueue.State
-- 0). The first thousand of the group are counted.
SELECT o.topic, o.since, o.cause, o.error,
    (SELECT COUNT(*) FROM (SELECT topic FROM @{_held} WHERE relay_group = ? AND state = 0 LIMIT 1000) AS h WHERE h.topic = o.topic)
FROM @{_out} AS o WHERE o.relay_group = ? AND o.epoch = ? ORDER BY o.topic
