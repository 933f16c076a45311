SELECT @@SESSION.sql_select_limit
