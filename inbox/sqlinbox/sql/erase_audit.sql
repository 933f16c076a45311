-- Leaves who did what to which id. Parameters: nothing, erased, no.
UPDATE @{_audit} SET msg_key = ?, details = NULL, reason = ? WHERE no = ?
