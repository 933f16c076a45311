-- Unless another process has named one meanwhile. Parameters: name, consumer, former name.
UPDATE @{_consumers} SET ids = ? WHERE id = ? AND (ids = ? OR LENGTH(ids) = 0)
