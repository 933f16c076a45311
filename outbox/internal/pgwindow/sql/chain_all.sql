-- The newest window of every slot of group $1.
SELECT p.window_no, p.prev::text, p.target::text, p.floor, p.next_floor, p.source_floor, p.last, p.opened_by::text,
       p.system_identifier, p.slots, p.leads
FROM generate_series(0, coalesce((SELECT slots FROM @{_groups} WHERE relay_group = $1), 1) - 1) AS s(no)
CROSS JOIN LATERAL (
    SELECT * FROM @{_positions}
    WHERE relay_group = $1 AND slot = s.no
    ORDER BY window_no DESC
    LIMIT 1
) p
WHERE @{primary}
ORDER BY s.no
