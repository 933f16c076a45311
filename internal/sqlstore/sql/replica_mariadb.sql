-- How many connections to a primary have a thread that applies. It needs no privilege.
SHOW GLOBAL STATUS LIKE 'Slaves_running'
