-- The outages of all groups, with the number of records that are being tried again, up to a
-- thousand.
-- shows
SELECT DISTINCT ON (o.relay_group, o.topic) o.relay_group, o.topic, o.since, o.cause, o.error,
       (SELECT count(*) FROM (
            SELECT FROM @{_held} h
            WHERE h.relay_group = o.relay_group AND left(h.topic, 255) = o.topic AND h.state <> 'wait' AND h.next_at IS NOT NULL
            LIMIT 1000) h)
FROM @{_out} o JOIN @{_leases} l USING (relay_group, slot, epoch)
ORDER BY o.relay_group, o.topic, o.since
