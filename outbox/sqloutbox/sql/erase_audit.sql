-- Reduces entries to who did what to which id. Parameters: two empty values, 'erased', no.
UPDATE @{_audit} SET msg_key = ?, details = ?, reason = ? WHERE no = ?
