-- Records the source of ids, unless another process has recorded one since. Parameters: name, consumer, former name.
UPDATE @{_consumers} SET ids = ? WHERE id = ? AND (ids = ? OR LENGTH(ids) = 0)
