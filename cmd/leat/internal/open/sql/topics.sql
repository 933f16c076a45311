-- The topics of what was enqueued lately, and of what waits: the largest record of each, and how
-- long ago its event was when it was to be sent. {log} is the log, {held} and {delayed} what
-- waits beside it. Payloads are measured, and not fetched.
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
