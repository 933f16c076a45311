SET SESSION autocommit = 1, sql_select_limit = 9223372036854775807, sql_safe_updates = 0, sql_big_selects = 1, unique_checks = 1, foreign_key_checks = 1, wait_timeout = 28800
