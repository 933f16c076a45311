-- One row for each channel. It needs REPLICATION CLIENT.
SHOW REPLICA STATUS
