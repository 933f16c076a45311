SELECT seq FROM @{} WHERE {list} @{nowait}
