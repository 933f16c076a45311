SET SESSION autocommit = 1
