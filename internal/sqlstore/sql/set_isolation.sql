-- The variable has one name on MySQL and another on older MariaDBs.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE
