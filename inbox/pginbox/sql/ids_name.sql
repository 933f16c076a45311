-- Records the source of ids, unless another process has recorded one since.
UPDATE @{_consumers} SET ids = $2::text WHERE id = $1::smallint AND ids = $3::text
