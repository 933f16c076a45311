SHOW GLOBAL STATUS LIKE 'Threads_connected'
