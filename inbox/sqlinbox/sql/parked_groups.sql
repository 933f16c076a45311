SELECT c.name, p.topic, p.reason_group, MIN(p.reason), COUNT(*), MIN(p.parked_at), MAX(p.parked_at)
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
WHERE {list} GROUP BY c.name, p.topic, p.reason_group ORDER BY COUNT(*) DESC, MIN(p.no) LIMIT ?
