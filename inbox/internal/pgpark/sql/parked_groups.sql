-- The pattern is that of admin.Fingerprint. $1 consumer or NULL for all, $2 topic or NULL, $3 limit.
-- shows
SELECT c.name, p.topic, g.fingerprint, min(coalesce(p.reason, '')), count(*), min(p.parked_at), max(p.parked_at)
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
CROSS JOIN LATERAL (
  SELECT left(regexp_replace(coalesce(p.reason, ''), '[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*', '#', 'g'), 200) AS fingerprint) g
WHERE p.state = 'parked' AND ($1::smallint IS NULL OR p.consumer = $1::smallint) AND ($2::text IS NULL OR p.topic = $2::text)
GROUP BY c.name, p.topic, g.fingerprint
ORDER BY count(*) DESC, min(p.no) LIMIT $3::int
