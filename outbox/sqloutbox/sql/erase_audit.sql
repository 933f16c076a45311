-- Reduces entries to who did what to which id. Parameters: nothing, nothing, erased, no.
UPDATE @{_audit} SET msg_key = ?, details = ?, reason = ? WHERE no = ?
