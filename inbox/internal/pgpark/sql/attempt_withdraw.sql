UPDATE @{_attempts} SET attempts = attempts - 1
WHERE consumer = $1::smallint AND id = $2::uuid AND attempts > 0
