-- Parameters: ids, the empty list of errors.
SELECT consumer, id FROM @{_attempts} WHERE id IN ({list}) AND errors <> ? ORDER BY consumer, id
