-- Whether commits need a fence, and which server it is. With the binary log synced at each commit, what is visible is
-- durable.
SELECT NOT (@@log_bin AND @@sync_binlog = 1), @{server}
