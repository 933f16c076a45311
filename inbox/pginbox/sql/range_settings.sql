-- $1 width of new ranges in milliseconds.
UPDATE @{_retention} SET width = $1 WHERE width <> $1
