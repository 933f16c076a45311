-- Parameters: number, tries.
SELECT EXISTS (SELECT 1 FROM @{_parked} WHERE no = ? AND tries = ? AND state = 'redrive')
