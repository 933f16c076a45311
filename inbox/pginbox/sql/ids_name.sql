-- Unless another process has named one meanwhile.
UPDATE @{_consumers} SET ids = $2::text WHERE id = $1::smallint AND ids = $3::text
