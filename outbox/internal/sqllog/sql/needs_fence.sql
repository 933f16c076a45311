-- With the binary log synced at each commit, what is visible is durable. And which server it is.
SELECT NOT (@@log_bin AND @@sync_binlog = 1), @{server}
