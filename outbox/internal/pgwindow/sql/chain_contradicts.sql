-- Whether the log holds rows that contradict the newest windows of group $1: its numbers began
-- anew, or its sequence was set back. For the slots $2 (NULL: all of them); slots at the same
-- place are checked once. See design 2.7.
SELECT EXISTS (
    SELECT FROM (
        SELECT d.target::pg_snapshot AS target, d.next_floor, d.source_floor, d.opened_by
        FROM (SELECT DISTINCT n.target::text AS target, n.next_floor, n.source_floor, n.opened_by
              FROM (SELECT DISTINCT ON (slot) * FROM @{_positions}
                    WHERE relay_group = $1 AND slot = ANY (coalesce($2::smallint[], ARRAY(SELECT generate_series(0, 63)::smallint)))
                    ORDER BY slot, window_no DESC) n) d) own
    WHERE {back})
WHERE @{primary}
