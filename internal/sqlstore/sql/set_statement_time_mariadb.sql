SET SESSION max_statement_time = 0
