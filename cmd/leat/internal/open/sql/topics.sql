-- The topics of messages that were enqueued lately or that wait: the size of the largest record
-- of each, and the greatest age of an event when it was to be sent. {log} is the log, {held} and
-- {delayed} the tables of waiting messages. Payloads are measured, and not fetched.
SELECT topic, max(bytes), max(greatest(late, interval '0'))
FROM ((SELECT topic, octet_length(payload) + coalesce(octet_length(headers::text), 0) + coalesce(octet_length(key), 0) AS bytes,
              created_at - coalesce(occurred_at, created_at) AS late
       FROM {log} ORDER BY seq DESC LIMIT 10000)
      UNION ALL
      (SELECT topic, octet_length(payload) + coalesce(octet_length(headers::text), 0) + coalesce(octet_length(key), 0),
              clock_timestamp() - coalesce(occurred_at, created_at)
       FROM {held} LIMIT 10000)
      UNION ALL
      (SELECT topic, octet_length(payload) + coalesce(octet_length(headers::text), 0) + coalesce(octet_length(key), 0),
              not_before - coalesce(occurred_at, created_at)
       FROM {delayed} ORDER BY not_before LIMIT 10000)) r
GROUP BY topic
ORDER BY topic
LIMIT 1000
