-- Dead records are renamed, too.
UPDATE @{_held} SET relay_group = ? WHERE relay_group = ?
