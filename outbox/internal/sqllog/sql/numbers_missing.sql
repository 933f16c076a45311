SELECT seq FROM @{} WHERE {list} ORDER BY seq
