-- The failures of dead records, of the newest hundred thousand of them. $2 topic (LIKE), $3
-- limit. The pattern is that of admin.Fingerprint.
-- shows
SELECT r.topic, r.kind, left(regexp_replace(r.text, '[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*', '#', 'g'), 200), max(r.text), count(*), min(r.at), max(r.at), 0
FROM (SELECT h.topic, coalesce(h.errors -> -1 ->> 'kind', '') AS kind,
             coalesce(h.errors -> -1 ->> 'error', h.reason, '') AS text, h.died_at AS at
      FROM @{_dead} h
      WHERE h.relay_group = $1 AND ($2::text IS NULL OR h.topic LIKE $2)
      ORDER BY h.seq DESC
      LIMIT 100000) r
GROUP BY 1, 2, 3
ORDER BY 5 DESC, 1, 2, 3
LIMIT $3
