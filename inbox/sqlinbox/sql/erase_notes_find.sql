SELECT consumer, id FROM @{_notes} WHERE id IN ({list}) ORDER BY consumer, id
