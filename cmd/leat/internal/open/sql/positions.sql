-- How many partitions of each topic consumers remember positions in. {positions} is the view.
SELECT topic, max(partition) + 1
FROM {positions}
WHERE retired_at IS NULL AND topic IS NOT NULL
GROUP BY topic
