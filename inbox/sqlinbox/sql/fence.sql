-- A commit of our own: when it is durable, so is what was seen before it.
UPDATE @{_consumers} SET fence = fence + 1 WHERE id = ?
