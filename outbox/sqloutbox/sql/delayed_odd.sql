SELECT no, not_before FROM (
    SELECT no, not_before FROM @{_delayed} WHERE not_before >= ''
    UNION ALL
    SELECT no, not_before FROM @{_delayed} WHERE not_before <= @{now} AND typeof(not_before) = 'real'
) AS odd LIMIT ?
