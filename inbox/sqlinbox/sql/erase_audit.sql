-- Reduces an entry to who did what to which id. Parameters: the empty key, 'erased', no.
UPDATE @{_audit} SET msg_key = ?, details = NULL, reason = ? WHERE no = ?
