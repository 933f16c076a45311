-- One row per consumer. The list of locks shows whether a process is working on the message: to
-- try the lock would make a delivery Busy. $1 consumers, $2 their locks of the message, $3 its
-- stored id.
-- shows
WITH held AS MATERIALIZED (
  SELECT (l.classid::bigint << 32) | l.objid::bigint AS lock
  FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
SELECT k.n, i.id IS NOT NULL OR r.id IS NOT NULL, i.arrived::bigint,
  EXISTS (SELECT FROM held WHERE held.lock = k.lock),
  $3::uuid < (SELECT t.floor FROM @{_retention} t),
  n.at, n.fingerprint, n.reply, a.attempts, a.first_at, a.last_at, coalesce(a.errors, '[]')::text
FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS k(consumer, lock, n)
LEFT JOIN @{} i ON i.consumer = k.consumer AND i.id = $3::uuid
LEFT JOIN @{_ranges} r ON r.consumer = k.consumer AND r.id = $3::uuid
LEFT JOIN @{_notes} n ON n.consumer = k.consumer AND n.id = $3::uuid
LEFT JOIN @{_attempts} a ON a.consumer = k.consumer AND a.id = $3::uuid
ORDER BY k.n
