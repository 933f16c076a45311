SET SESSION max_execution_time = 0
