-- A commit of the inbox's own: when it is durable, so is everything visible before it.
UPDATE @{_consumers} SET fence = fence + 1 WHERE id = ?
