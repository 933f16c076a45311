-- The runs of rows that are acknowledged already: all others may still come.
SELECT MIN(number), MAX(number)
FROM (SELECT `offset` AS number, `offset` - ROW_NUMBER() OVER (ORDER BY `offset`) AS run FROM @{messages} WHERE acked = TRUE) AS acked_rows
GROUP BY run ORDER BY 1
